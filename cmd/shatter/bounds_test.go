package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const boastSweep = `
name: boast
task: %s
plugins: [%s]
grids:
  - problem: {class: thresholds, domain: 50, distribution: uniform}
    algorithms: [third/boasts, %s]
%s
`

// A false bound of a plugin is an alarm, in lists of sample sizes and in games: on
// stderr, in the table, in JSON and in the report, and the exit code says so.
func TestFalseBound(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const goal = "    goal: {alpha: 0.1, beta: 0.1}\n"
	for _, c := range []struct{ name, task, honest, rest, want string }{
		{"list", "learn", "baseline/erm", goal + "    n: [10, 40]\n    trials: 60",
			"40 examples are insufficient, and by boast (declared) 20 suffice"},
		{"games", "online", "online/soa", "    adversary: {kind: tree}\n    rounds: [30]\n    trials: 10",
			"is more than the 0 of boast: nobody (declared)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			dir := filepath.Join(tmp, "out")
			file := write(t, filepath.Join(tmp, "s.yaml"), fmt.Sprintf(boastSweep, c.task, thirdparty(t), c.honest, c.rest))
			out, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "1", "--recheck", "0")
			if code != exitContradicted || strings.Count(errs, "shatter: contradicted bound: third/boasts (cell ") != 1 ||
				!strings.Contains(errs, c.want) || !strings.Contains(errs, "refutes a bound that a plugin declares: ") {
				t.Fatalf("exit code %d\n%s", code, errs)
			}
			if c.name != "list" && !strings.Contains(out, "CONTRADICTED BOUND in cell ") {
				t.Errorf("the table says nothing:\n%s", out)
			}
			for _, row := range table(t, dir) {
				said, _ := row["contradicts"].(string)
				if strings.Contains(said, c.want) != (row["algorithm"] == "third/boasts") {
					t.Errorf("%v", row)
				}
			}
			page, err := os.ReadFile(filepath.Join(dir, "report.html"))
			if err != nil || strings.Count(string(page), "Contradicted bound.") != 1 {
				t.Errorf("the report does not say it once: %v", err)
			}
			for _, want := range []string{"is allowed by a bound that a plugin declares.", "declared bound"} {
				if !strings.Contains(string(page), want) {
					t.Errorf("the report does not say %s", want)
				}
			}
			if strings.Contains(errs+string(page), "called proved") {
				t.Errorf("a bound that nobody here has proved is called so:\n%s", errs)
			}
		})
	}
}
