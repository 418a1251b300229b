package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

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

// The first trials of each built-in algorithm come out as recorded for its version. In the long run there are 5,000
// trials, and no recheck accuses one of them.
func TestHonest(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	trials, share, least := recordedTrials, "0", int64(0)
	if testkit.LongRun() {
		trials, share, least = 30, "all", 2500
	}
	rechecked, seen, recorded := int64(0), map[any]bool{}, recording{}
	for task, sweep := range honestSweeps {
		tmp := t.TempDir()
		dir := filepath.Join(tmp, "out")
		head := fmt.Sprintf("name: %s\ntask: %s\ntrials: %d\n", task, task, trials)
		file := write(t, filepath.Join(tmp, "s.yaml"), head+sweep)
		if _, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2",
			"--recheck", share); code > exitUnfinished {
			t.Errorf("%s: exit %d: %s", task, code, errs)
		}
		for _, c := range folder.ReadManifest(dir).Rechecks.Cells {
			if rechecked += c.Equal; share == "all" && c.Equal != c.Trials {
				t.Errorf("%s: %+v", task, c)
			}
		}
		for _, row := range table(t, dir) {
			seen[row["algorithm"]] = true
		}
		recorded.add(t, dir)
	}
	recorded.check(t, honestSweeps)
	if rechecked < least {
		t.Errorf("%d trials were rechecked, less than %d", rechecked, least)
	}
	list, _, _ := shatter(t, "plugin", "list")
	for _, line := range strings.Split(list, "\n")[1:] {
		if name, _, _ := strings.Cut(line, " "); name != "" && !seen[name] {
			t.Errorf("no trial of %s was rechecked", name)
		}
	}
}
