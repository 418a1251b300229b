package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

const dependentSweep = `
name: dependent
task: learn
plugins: [%s]
problem: {class: halfspace, d: 3, margin: 0.05, distribution: iso, test: 200}
algorithms: [%s]
goal: {alpha: 0.1, beta: 0.1}
n: [8]
trials: 60
`

// Everything that a trial may depend on by mistake is found, with its cause, and the one algorithm
// without a mistake is not accused. The result says so afterwards, too.
func TestDependence(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	causes := map[string]schemas.Cause{
		"rank": schemas.CausePoints, "mean": schemas.CausePoints, "first": schemas.CausePoints,
		"calls": schemas.CausePoints, "memory": schemas.CauseEarlier, "global": schemas.CauseEarlier,
		"map": schemas.CauseChance, "race": schemas.CauseChance, "time": schemas.CauseChance, "process": schemas.CauseChance,
	}
	algorithms := []string{"dependent/none"}
	for name := range causes {
		algorithms = append(algorithms, "dependent/"+name)
	}
	tmp := t.TempDir()
	dir, plugin := filepath.Join(tmp, "out"), dependent(t)
	file := write(t, filepath.Join(tmp, "s.yaml"), fmt.Sprintf(dependentSweep, plugin, strings.Join(algorithms, ", ")))
	out, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2")
	if code != exitIntegrity {
		t.Errorf("exit %d: %s", code, errs)
	}
	looks := folder.ReadManifest(dir).Looks
	if len(looks.Contradictions) != len(causes) {
		t.Errorf("%d of %d are found", len(looks.Contradictions), len(causes))
	}
	for _, x := range looks.Contradictions {
		name, _, _ := strings.Cut(strings.TrimPrefix(x.What, "dependent/"), " ")
		if x.Cause != causes[name] {
			t.Errorf("%s: cause %q, want %q: %+v", name, x.Cause, causes[name], x)
		}
		delete(causes, name)
		if !strings.Contains(errs, "shatter: integrity alarm: "+x.What+": a second look at trial "+x.Trial) {
			t.Errorf("trial %s is not named: %s", x.Trial, errs)
		}
	}
	if len(causes) > 0 {
		t.Errorf("not found: %v", causes)
	}
	if !strings.Contains(out, "integrity alarm: n* of dependent/") || !strings.Contains(errs, "--redo") {
		t.Errorf("the table and stderr do not tell: %s%s", out, errs)
	}
	for _, row := range table(t, dir) {
		if good := row["algorithm"] == "dependent/none"; good == (row["status"] == "failed") ||
			!good && (row["n_low"] != nil || row["n_high"] != nil || row["n_star"] != nil) {
			t.Errorf("%v", row)
		}
	}
	if again, _, code := shatter(t, "run", file, "--out", dir, "--workers", "2"); code != exitIntegrity ||
		again != out {
		t.Errorf("again: exit %d: %s", code, again)
	}
	if text, _, code := shatter(t, "verify", dir, "--sample", "0"); code != exitIntegrity ||
		strings.Count(text, "WITHHELD: a second look") != 10 || !strings.Contains(text, "as the manifest says") {
		t.Errorf("verify: exit %d: %s", code, text)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || strings.Count(string(page), "Integrity alarm.") != 10 {
		t.Errorf("the report does not tell: %v", err)
	}
}

// honestSweeps run every built-in algorithm.
var honestSweeps = map[string]string{
	"learn": `
privacy: {epsilon: 1, delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1}
grids:
  - problem: {class: parities, d: 4, distribution: uniform, noise: {kind: random, rate: 0.1}}
    algorithms: [baseline/prior, baseline/erm, expmech/em, expmech/pf, expmech/em-divergence, perturbed/gaussian,
      perturbed/rspm, perturbed/real, perturbed/public-data, {use: boosting/private-stumps, rounds: 20}]
    n: [30, 3000]
  - problem: {class: thresholds, domain: 2^20, distribution: uniform, test: 200}
    algorithms: [baseline/erm, expmech/em, expmech/pf]
    n: [50, 200]
  - problem: {class: halfspace, d: [2, 10], margin: 0.1, distribution: [iso, skew], test: 300}
    algorithms: [baseline/perceptron, boosting/hs-stl, boosting/centering, boosting/lazy-bregman, boosting/bregman,
      boosting/smooth, boosting/drv, halfspace/noisy-gradient, boosting/m-eta,
      {use: boosting/boost, weak: [unit, stump], rounds: 20}]
    n: [100]
  - problem: {class: halfspace, d: 2, margin: 0.1, distribution: iso, test: 300}
    algorithms: [halfspace/exponential]
    n: [100]
`,
	"predict": `
privacy: {epsilon: 1, delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1}
n: [3000]
queries: 50
grids:
  - problem: {class: thresholds, domain: 2^20, distribution: uniform, test: 300}
    algorithms: [prediction/shrinkage-oblivious, prediction/composition, prediction/sparse-vector,
      prediction/nandi-bassily, prediction/everlasting-lite, baseline/queries]
    adversary: [{kind: [stochastic, boundary]}, {kind: adaptive, sees: [labels, marks]}]
  - problem: {class: thresholds, domain: 2^16, distribution: uniform, test: 300}
    algorithms: [prediction/shrinkage-oblivious, prediction/sparse-vector, prediction/everlasting-lite]
    adversary: {kind: boundary}
    n: [30000]
  - problem: {class: thresholds, domain: 2^8, distribution: uniform}
    algorithms: [prediction/offline]
    adversary: {kind: boundary, offline: true}
  - problem: {class: halfspace, d: 2, margin: 0.05, distribution: ball-margin, test: 300}
    algorithms: [{use: prediction/shrinkage-halfspace, affine: false}, {use: prediction/composition, affine: false}]
    adversary: {kind: boundary}
`,
	"online": `
rounds: [60]
grids:
  - problem: {class: parities, d: 4, distribution: uniform}
    adversary: [{kind: planted, rate: 0.05}, {kind: random}]
    algorithms: [{use: online/ftpl-gaussian, separator: cube, lstar: 500}, online/follow-the-leader, online/hedge,
      online/ftpl-uniform, online/ftpl-laplace, online/ftpl-approximable, {use: online/ftpl-iid, lstar: 30},
      online/ftpl-real]
  - problem: {class: thresholds, domain: 7, distribution: uniform}
    adversary: {kind: tree}
    algorithms: [online/soa, online/halving, online/agnostic-experts]
`,
}

// The first trials of each built-in algorithm come out as recorded for its version. In the long run there are 25,000
// trials, and no second look accuses one of them.
func TestHonest(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	trials, looks, least := recordedTrials, "0", int64(0)
	if testkit.LongRun {
		trials, looks, least = 150, "all", 12_500
	}
	looked, seen, recorded := int64(0), map[any]bool{}, recording{}
	for task, sweep := range honestSweeps {
		tmp := t.TempDir()
		dir := filepath.Join(tmp, "out")
		head := fmt.Sprintf("name: %s\ntask: %s\ntrials: %d\n", task, task, trials)
		file := write(t, filepath.Join(tmp, "s.yaml"), head+sweep)
		if _, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2", "--looks", looks); code > exitUnfinished {
			t.Errorf("%s: exit %d: %s", task, code, errs)
		}
		for _, c := range folder.ReadManifest(dir).Looks.Cells {
			if looked += c.Equal; looks == "all" && c.Equal != c.Trials {
				t.Errorf("%s: %+v", task, c)
			}
		}
		for _, row := range table(t, dir) {
			seen[row["algorithm"]] = true
		}
		recorded.add(t, dir)
	}
	recorded.check(t, honestSweeps)
	if looked < least {
		t.Errorf("%d trials were looked at, less than %d", looked, least)
	}
	list, _, _ := shatter(t, "plugin", "list")
	for _, line := range strings.Split(list, "\n")[1:] {
		if name, _, _ := strings.Cut(line, " "); name != "" && !seen[name] {
			t.Errorf("no trial of %s was looked at", name)
		}
	}
}
