package main

import (
	"encoding/json"
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
