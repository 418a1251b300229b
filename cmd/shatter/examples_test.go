package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// Every example is a sweep that the checker accepts.
func TestExamplesAreValid(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	texts, err := filepath.Glob("examples/texts/*.yaml")
	if err != nil || len(texts) == 0 {
		t.Fatal(texts, err)
	}
	for _, file := range append(files, texts...) {
		if _, errs, code := shatter(t, "check", file); code != 0 {
			t.Errorf("%s: exit %d: %s", file, code, errs)
		}
	}
}

// Every template of init is a sweep that the checker accepts, as a file of any name, and which names
// its own file and folder in the commands at its top.
func TestTemplatesAreValid(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	for _, name := range templateNames() {
		file := filepath.Join(t.TempDir(), "mine.yaml")
		if _, errs, code := shatter(t, "init", name, file); code != 0 {
			t.Errorf("init %s: exit %d: %s", name, code, errs)
			continue
		}
		out, errs, code := shatter(t, "check", file)
		if code != 0 || !strings.HasPrefix(out, "mine: task ") {
			t.Errorf("check %s: exit %d: %s%s", name, code, out, errs)
		}
		text := testkit.ReadFile(t, file)
		for _, want := range []string{
			"#   shatter run " + file, "#   shatter table shatter-out/mine", "#   shatter plot shatter-out/mine",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}

// measured is n* of the parities example as an independent program estimated it: the success rate
// .95 on a logistic curve through 200 runs a sample size, about 5 % wide. By epsilon and d.
var measured = map[string]map[string]float64{
	"expmech/em":         {"0.1 4": 286, "0.1 7": 388, "0.1 10": 489, "1 4": 35, "1 7": 46, "1 10": 61},
	"expmech/pf":         {"0.1 4": 252, "0.1 7": 362, "0.1 10": 468, "1 4": 31, "1 7": 43, "1 10": 59},
	"gauss-cube":         {"0.1 4": 752, "0.1 7": 1020, "0.1 10": 1286, "1 4": 97, "1 7": 120, "1 10": 160},
	"gauss-cube-printed": {"0.1 4": 19657, "0.1 7": 24095, "0.1 10": 28269, "1 4": 2008, "1 7": 2281, "1 10": 2905},
	"gauss-basis":        {"0.1 4": 1670, "0.1 7": 3574, "0.1 10": 5703, "1 4": 180, "1 7": 430, "1 10": 663},
	"rspm-basis":         {"0.1 4": 1190, "0.1 7": 2766, "0.1 10": 5008, "1 4": 115, "1 7": 304, "1 10": 527},
}

// The parities example gives the known table: every bracket agrees with the independent estimate,
// every row has a proved n, and the rows with the printed constant say that they are not certified.
func TestParitiesTable(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	_, errs, code := shatter(t, "run", "examples/parities.yaml", "--out", dir, "--workers", "2")
	if code > 1 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	compared := 0
	for _, r := range table(t, dir) {
		name := r["algorithm"].(string)
		if measured[name] == nil {
			continue
		}
		want := measured[name][fmt.Sprintf("%v %v", r["epsilon"], r["d"])]
		low, high := r["n_low"].(float64), r["n_high"].(float64)
		if r["status"] != "decided" || low > 1.1*want || high < 0.9*want {
			t.Errorf(
				"%s, epsilon %v, d %v: bracket (%v, %v], %v; estimated elsewhere: %v",
				name,
				r["epsilon"],
				r["d"],
				low,
				high,
				r["status"],
				want,
			)
		}
		certified := r["privacy_standing"] == "proved"
		if r["theory_n"] == nil || certified == (name == "gauss-cube-printed") {
			t.Errorf("%s: privacy %v, theory_n %v", name, r["privacy_standing"], r["theory_n"])
		}
		compared++
	}
	if compared != 36 {
		t.Errorf("%d rows compared", compared)
	}
}

// settings is the number of problems of the acceptance suite that a built-in algorithm accepts,
// where it is not one: those of finite classes accept all nine, some of the online ones infinite
// classes too, those that answer queries each class with and without a list revealed beforehand.
var settings = map[string]int{
	"baseline/erm": 9, "expmech/em": 9, "expmech/pf": 9, "expmech/em-divergence": 4,
	"perturbed/gaussian": 9, "perturbed/rspm": 9, "perturbed/real": 9,
	"perturbed/public-data":  9,
	"prediction/composition": 16, "prediction/nandi-bassily": 16, "prediction/sparse-vector": 16,
	"prediction/shrinkage-oblivious": 14,
	"online/soa":                     9, "online/halving": 8, "online/agnostic-experts": 8, "online/hedge": 8,
	"online/follow-the-leader": 10, "online/ftpl-iid": 8,
	"online/ftpl-gaussian": 9, "online/ftpl-uniform": 9, "online/ftpl-laplace": 9, "online/ftpl-approximable": 9,
	"online/ftpl-real": 9,
	"baseline/prior":   30, "baseline/queries": 12, "boosting/boost": 10,
	"boosting/private-stumps":     9,
	"prediction/everlasting-lite": 14, "prediction/offline": 7, "prediction/shrinkage-halfspace": 2,
}

// Every built-in algorithm passes the acceptance suite on every class that it accepts.
func TestBuiltinsPassTheSuite(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	out, errs, code := shatter(t, "plugin", "test", "-o", "json")
	if code != 0 {
		t.Errorf("exit %d: %s", code, errs)
	}
	var report struct{ Results []checkReport }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	tested := map[string]map[string]bool{}
	for _, r := range report.Results {
		if r.Result != "ok" && r.Result != "skipped" {
			t.Errorf("%+v", r)
		}
		if tested[r.Algorithm] == nil {
			tested[r.Algorithm] = map[string]bool{}
		}
		if r.Result == "ok" && r.Setting != "" {
			tested[r.Algorithm][r.Setting] = true
		}
	}
	for _, p := range builtins() {
		name := reflect.ValueOf(p).FieldByName("Name").String()
		if want := max(1, settings[name]); len(tested[name]) != want {
			t.Errorf("%s: tested on %d problems, want %d", name, len(tested[name]), want)
		}
	}
}
