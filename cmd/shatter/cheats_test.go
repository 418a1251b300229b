package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// attack is an attacker in a sweep, and how the sweep must end.
type attack struct {
	algorithm string
	sweep     string // without name, plugins and algorithms; %s is the folder of the data files
	code      int    // exit code of run
	status    string // status of all rows of the table; "": the sweep is refused without a table
	says      string // on stderr
}

const (
	search  = "n: {from: 4, to: 64, within: 2}\ntrials: {max: 2000}\n"
	few     = "n: [16]\ntrials: 40\n"
	private = "privacy: {epsilon: 1, delta: 1e-6}\n"
	tenth   = "goal: {alpha: 0.1, beta: 0.1}\n"
	queries = "task: predict\nqueries: 100\n" + search + private + tenth
)

// finalState turns a sweep of the task predict into one that looks at final states alone.
var finalState = strings.NewReplacer("beta: 0.1", "beta: 0.1, states: final", "from: 4", "from: 24")

// Each of these succeeded with a few examples when all that it uses was still to be had.
var attacks = []attack{
	{"cheat/blind", search + tenth + `
grids:
  - problem: {class: [thresholds, intervals], domain: 1024, distribution: uniform}
  - problem: {class: [stumps, rectangles], domain: 32, d: 2, distribution: uniform}
  - problem: {class: [conjunctions, monotone-conjunctions], d: 8, distribution: uniform}
`, 0, "above_range", ""},
	{"cheat/blind", search + tenth + `
problem: {class: points, domain: 1024, distribution: uniform}
`, 0, "trivial", ""},
	{"cheat/order", search + `
goal: {alpha: 0.05, beta: 0.05}
problem: {class: thresholds, domain: 1024, distribution: needle, mass: 0.1}
`, exitIntegrity, "failed", "answers depend on other points"},
	{"cheat/pca", search + private + tenth + `
problem: {class: halfspace, d: 10, margin: 0.1, distribution: iso, test: 2000}
`, exitIntegrity, "failed", "answers depend on other points"},
	{"cheat/mixed", search + private + tenth + `
problem: {class: halfspace, d: 10, margin: 0.1, distribution: iso, test: 2000}
`, exitIntegrity, "failed", "answers depend on other points"},
	{"cheat/locks", search + private + tenth + `
problem: {class: halfspace, d: 10, margin: 0.5, distribution: skew, test: 2000}
`, exitIntegrity, "failed", "answers depend on other points"},
	{"cheat/lost", few + private + tenth + `
problem: {class: halfspace, d: 10, margin: 0.5, distribution: iso, test: 2000}
limits: {memory: 48 MiB}
`, exitIntegrity, "failed", "twice the limits of the first run are not enough for it"},
	{"cheat/probes", strings.Replace(queries, search, few, 1) + `
problem: {class: halfspace, d: 10, margin: 0.5, distribution: skew}
adversary: {kind: stochastic}
`, exitIntegrity, "failed", "answers depend on other points"},
	{"cheat/two-faced", search + private + tenth + `
problem: {class: halfspace, d: 10, margin: 0.1, distribution: iso}
`, exitIntegrity, "failed", "answers differ from the declared hypothesis"},
	{"cheat/sleeper", queries + `
problem: {class: thresholds, domain: 1024, distribution: uniform}
adversary: {kind: [boundary, repeat, stochastic]}
`, 0, "above_range", ""},
	{"cheat/edge", queries + `
problem: {class: thresholds, domain: 1024, distribution: uniform}
adversary: {kind: [boundary, repeat, stochastic]}
`, 0, "above_range", ""},
	{"cheat/edge", queries + `
problem: {class: halfspace, d: 10, margin: 0.1, distribution: iso, test: 500}
adversary: {kind: [boundary, stochastic]}
`, 0, "above_range", ""},
	{"cheat/memory", search + tenth + `
problem: {class: [thresholds, intervals], domain: 1024, distribution: uniform, target: middle}
`, exitIntegrity, "failed", "on earlier trials"},
	{"cheat/memory", search + `
goal: {alpha: 0.1, beta: 0.1, reference: 0}
problem: {class: halfspace, data: {file: %s/sorted.csv, label: label, positive: yes, scale: 1}, disguise: false}
`, exitIntegrity, "failed", "on earlier trials"},
	{"cheat/mean", search + private + tenth + `
problem: {class: thresholds, domain: 1024, distribution: uniform}
`, exitUnfinished, "failed", "label"},
	{"cheat/solve", tenth + `
n: {from: 4, to: 16, within: 2}
problem: {class: halfspace, d: 10, margin: 0.1, distribution: [iso, skew], test: 2000}
`, 0, "above_range", ""},
	{"cheat/blocks", private + tenth + `
n: {from: 4, to: 1024, within: 2}
problem: {class: halfspace, d: 10, margin: 0.1, distribution: [iso, skew], test: 2000}
`, 0, "above_range", ""},
	{"cheat/undo", search + `
goal: {alpha: 0.08, beta: 0.1}
problem: {class: thresholds, domain: 1024, distribution: uniform, noise: {kind: adversarial, rate: 0.1}}
`, exitUsage, "", "rate"},
	{"cheat/undo", search + `
goal: {alpha: 0.12, beta: 0.1}
problem: {class: thresholds, domain: 1024, distribution: uniform, noise: {kind: adversarial, rate: 0.1}}
`, 0, "above_range", ""},
	{"cheat/row-order", search + `
goal: {alpha: 0.1, beta: 0.1, reference: 0}
problem: {class: halfspace, data: {file: %s/noise.csv, label: label, positive: yes, scale: 1}, disguise: false}
`, exitIntegrity, "failed", "answers depend on other points"},
	{"cheat/pretrained", search + `
goal: {alpha: 0.1, beta: 0.1, reference: 0}
problem: {class: halfspace, data: {file: %s/sorted.csv, label: label, positive: yes, scale: 1}}
`, 0, "above_range", ""},
	{"cheat/oracle", "seed: secret\n" + search + tenth + `
problem: {class: thresholds, domain: 1024, distribution: uniform}
`, 0, "above_range", ""},
}

// Each of these reaches its goal, because what the attacker uses is there to be had.
var openDoors = []attack{
	{"cheat/blind", search + tenth + `
problem: {class: thresholds, domain: 1024, distribution: uniform, target: middle}
`, 0, "below_range", ""},
	{"cheat/sleeper", finalState.Replace(queries) + `
problem: {class: thresholds, domain: 1024, distribution: uniform}
adversary: {kind: boundary}
`, 0, "below_range", ""},
	{"cheat/edge", finalState.Replace(queries) + `
problem: {class: thresholds, domain: 1024, distribution: uniform}
adversary: {kind: repeat}
`, 0, "below_range", ""},
	{"cheat/solve", tenth + `
n: {from: 4, to: 16, within: 2}
problem: {class: halfspace, d: 10, margin: 0.1, distribution: [iso-fixed, skew-fixed], test: 2000}
`, 0, "decided", ""},
	{"cheat/blocks", private + tenth + `
n: {from: 4, to: 1024, within: 2}
problem: {class: halfspace, d: 10, margin: 0.1, distribution: [iso-fixed, skew-fixed], test: 2000}
`, 0, "decided", ""},
	{"cheat/pretrained", search + `
goal: {alpha: 0.1, beta: 0.1, reference: 0}
problem: {class: halfspace, data: {file: %s/sorted.csv, label: label, positive: yes, scale: 1}, disguise: false}
`, 0, "below_range", ""},
	{"cheat/oracle", "seed: 3\n" + search + tenth + `
problem: {class: thresholds, domain: 1024, distribution: uniform}
`, 0, "below_range", ""},
}

// No attacker reaches a goal by anything else than the sample without an alarm, unless the sweep
// leaves it open.
func TestOnlyTheSampleTeaches(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	data := t.TempDir()
	sortedFile(t, filepath.Join(data, "sorted.csv"), 1)
	sortedFile(t, filepath.Join(data, "noise.csv"), 0)
	for name, list := range map[string][]attack{"closed": attacks, "open": openDoors} {
		for i, a := range list {
			t.Run(fmt.Sprintf("%s/%s-%d", name, strings.TrimPrefix(a.algorithm, "cheat/"), i), func(t *testing.T) {
				t.Parallel()
				a.check(t, data)
			})
		}
	}
}

// check runs the sweep on the files in the folder data, and compares how it ends.
func (a attack) check(t *testing.T, data string) {
	tmp := t.TempDir()
	text := fmt.Sprintf("name: attack\nplugins: [%s]\nalgorithms: [%s]\n", cheats(t), a.algorithm) +
		strings.ReplaceAll(a.sweep, "%s", data)
	file, dir := write(t, filepath.Join(tmp, "attack.yaml"), text), filepath.Join(tmp, "out")
	_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "1")
	if code != a.code || !strings.Contains(errs, a.says) {
		t.Fatalf("exit %d, want %d and %q: %s", code, a.code, a.says, errs)
	}
	if a.status == "" {
		return
	}
	for _, r := range table(t, dir) {
		if r["status"] != a.status {
			t.Errorf("%v %v %v: status %v (n_high %v), want %s",
				r["class"], r["distribution"], r["adversary"], r["status"], r["n_high"], a.status)
		}
	}
}

// A list counts the trials that an algorithm leaves as misses.
func TestLeavingHelpsNot(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	text := fmt.Sprintf("name: exit\nplugins: [%s]\nalgorithms: [cheat/exit]\nn: [8]\ntrials: 20\n", cheats(t)) + tenth +
		"problem: {class: thresholds, domain: 1024, distribution: uniform}\n"
	file, dir := write(t, filepath.Join(tmp, "exit.yaml"), text), filepath.Join(tmp, "out")
	if _, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2"); code != exitUnfinished {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if curve := frame(t, dir, "curve"); len(curve) != 1 || curve[0]["rate"].(float64) > 0.8 {
		t.Errorf("the curve says %v", curve)
	}
}

// sortedFile writes a file of rows in the unit ball, those labelled no before those labelled yes.
// The first number is of the label's sign, by the factor apart; with the factor 0 no number has
// anything to do with the label.
func sortedFile(t *testing.T, path string, apart float64) {
	t.Helper()
	const rows, negative = 300, 140
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("a,b,c,label\n")
	for i := range rows {
		label, side := "no", -1.0
		if i >= negative {
			label, side = "yes", 1
		}
		a := (r.Float64() - 0.5) * (1 - apart)
		a += apart * side * (0.02 + 0.48*r.Float64())
		fmt.Fprintf(&b, "%.4f,%.4f,%.4f,%s\n", a, r.Float64()-0.5, r.Float64()-0.5, label)
	}
	write(t, path, b.String())
}
