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
	papers, err := filepath.Glob("examples/papers/*.yaml")
	if err != nil || len(papers) == 0 {
		t.Fatal(papers, err)
	}
	for _, file := range append(files, papers...) {
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
		for _, want := range []string{"#   shatter run " + file, "#   shatter table shatter-out/mine"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}

// suites lists the built-in algorithms, as a pattern, by a problem of the acceptance suite.
var suites = map[string]string{
	"class=thresholds,domain=64": "baseline/(erm|prior)|expmech/.*|perturbed/.*",
	"class=halfspace,dim=5,margin=0.1": "baseline/perceptron|boosting/(hs-stl|centering|.*bregman|smooth|drv|boost|m-eta)|" +
		"halfspace/noisy-gradient",
	"class=halfspace,dim=2,margin=0.1":       "halfspace/exponential",
	"class=stumps,domain=8,dim=2":            "boosting/private-stumps",
	"class=thresholds,domain=64,task=online": "online/.*",
	"class=thresholds,domain=64,task=predict": "baseline/queries|" +
		"prediction/(shrinkage-oblivious|sparse-vector|composition|nandi-bassily|everlasting-lite)",
	"class=thresholds,domain=64,task=predict,offline=true": "prediction/offline",
	"class=halfspace,dim=2,margin=0.1,task=predict":        "prediction/shrinkage-halfspace",
}

// Every built-in algorithm passes the acceptance suite.
func TestBuiltinsPassTheSuite(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	passed := map[string]bool{}
	for problem, algorithms := range suites {
		out, errs, code := shatter(t, "plugin", "test", "--setting", problem, "--run", "^("+algorithms+")/", "-o", "json")
		var report struct{ Results []checkReport }
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%s: exit %d, %v: %s", problem, code, err, errs)
		}
		for _, r := range report.Results {
			if r.Result != "ok" && r.Result != "skipped" {
				t.Errorf("%+v", r)
			}
			passed[r.Algorithm] = passed[r.Algorithm] || r.Result == "ok" && r.Setting != ""
		}
	}
	for _, p := range builtins() {
		if name := reflect.ValueOf(p).FieldByName("Name").String(); !passed[name] {
			t.Errorf("%s was not tested", name)
		}
	}
}
