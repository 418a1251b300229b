package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

const roundsSweep = `
name: rounds
task: online
rounds: [1, 60]
trials: 5
seed: 3
grids:
  - problem: {class: parities, d: 4, distribution: uniform}
    algorithms: [online/soa, online/halving, online/hedge, online/ftpl-gaussian, {use: online/ftpl-iid, law: exponential}, online/ftpl-uniform]
    adversary: [{kind: planted, rate: [0, 0.1]}, {kind: [tree, greedy], sees: [answers, past]}, {kind: [random, leader-killer, shared-noise, smoothed]}]
  - problem: {class: [thresholds, intervals, points], domain: 9, distribution: uniform}
    algorithms: [online/follow-the-leader, online/agnostic-experts, online/ftpl-laplace, online/ftpl-approximable]
    adversary: [{kind: [tree, random, planted]}]
  - problem: {class: thresholds, domain: 2^40, distribution: uniform}
    algorithms: [online/soa, online/hedge]
    adversary: {kind: bisecting}
  - problem: {class: matrix, file: %s, distribution: uniform}
    algorithms: [online/soa, online/hedge]
    adversary: {kind: tree}
`

// Online games give the same bytes whatever the workers and the borders of jobs.
func TestOnlineSameBytes(t *testing.T) {
	long(t)
	t.Parallel()
	tmp := t.TempDir()
	file := write(t, filepath.Join(tmp, "rounds.yaml"), fmt.Sprintf(roundsSweep, matrixFile(t, tmp)))
	sameBytes(t, file, 0, [][]string{{"--workers", "1"}, {"--workers", "3", "--test-job-sizes", "2", "--test-reverse"}})
}

const regretSweep = `
name: regret
task: online
rounds: [10000]
trials: 10
grids:
  - problem: {class: parities, d: 4, distribution: uniform}
    adversary: {kind: planted, rate: 0.05}
    algorithms:
      - {use: online/ftpl-gaussian, separator: cube, schedule: paper, lstar: 500, as: printed}
      - {use: online/ftpl-gaussian, separator: cube, lstar: 500, as: proved}
      - {use: online/hedge, tuning: small-loss, lstar: 500, as: hedge}
  - problem: {class: points, domain: [16, 128], distribution: uniform}
    adversary: {kind: round-robin}
    algorithms: [online/follow-the-leader]
  - problem: {class: thresholds, domain: [7, 1023, 1099511627775], distribution: uniform}
    adversary: {kind: tree}
    rounds: [100]
    algorithms: [online/soa, {use: online/halving}]
  - problem: {class: parities, d: [3, 8], distribution: uniform}
    adversary: {kind: tree}
    rounds: [100]
    algorithms: [online/soa, online/follow-the-leader]
  - problem: {class: points, domain: 64, distribution: uniform}
    adversary: {kind: shared-noise}
    rounds: [2000]
    algorithms:
      - {use: online/ftpl-iid, schedule: fixed, eta: 5, noise: once, as: once}
      - {use: online/ftpl-iid, schedule: fixed, eta: 5, as: fresh}
`

// The known numbers, through the whole path: regret of the published table within noise and below its proved bound, the leader's exact losses in
// round-robin, Littlestone dimensions exactly, and an adversary that has learned noise which is drawn once.
func TestRegretTable(t *testing.T) {
	long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	_, errs, code := shatter(t, "run", write(t, filepath.Join(t.TempDir(), "r.yaml"), regretSweep), "--out", dir, "--workers", "2")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	published := map[string]float64{"printed": 404, "proved": 59.5, "hedge": 28.8}
	exact := map[string]float64{ // mistakes, by algorithm and domain or dimension
		"online/follow-the-leader 16": 10000, "online/follow-the-leader 128": 10000,
		"online/soa 7": 3, "online/soa 1023": 10, "online/soa 1.099511627775e+12": 40,
		"online/halving 7": 3, "online/halving 1023": 10, "online/halving 1.099511627775e+12": 40,
		"online/soa d3": 3, "online/soa d8": 8,
	}
	seen := 0
	for _, r := range table(t, dir) {
		name := r["algorithm"].(string)
		id := fmt.Sprintf("%s %v", name, r["domain"])
		if r["domain"] == nil {
			id = fmt.Sprintf("%s d%v", name, r["d"])
		}
		mistakes, most := r["mistakes_mean"].(float64), r["mistakes_max"].(float64)
		regret, low, high := r["regret_mean"].(float64), r["regret_low"].(float64), r["regret_high"].(float64)
		switch want, known := published[name]; {
		case known:
			if slack := 0.1 * want; low > want+slack || high < want-slack || regret > r["theory_regret"].(float64) {
				t.Errorf("%s: regret %v in [%v, %v], published %v, proved %v", name, regret, low, high, want, r["theory_regret"])
			}
		case name == "once" && mistakes < 1800, name == "fresh" && (mistakes < 800 || mistakes > 1200):
			t.Errorf("%s: %v mistakes of 2000 against the adversary of shared noise", name, mistakes)
		case exact[id] > 0 && (mistakes != exact[id] || most != mistakes):
			t.Errorf("%s: %v mistakes, at most %v, want %v", id, mistakes, most, exact[id])
		case name == "online/follow-the-leader" && r["adversary"] == "tree sees answers" && mistakes < r["d"].(float64):
			t.Errorf("%s: %v mistakes against the tree", id, mistakes)
		}
		seen++
		if strings.HasSuffix(id, " 16") || strings.HasSuffix(id, " 128") {
			if want := 10000 - math.Floor(10000/r["domain"].(float64)); regret != want {
				t.Errorf("%s: regret %v, want %v", id, regret, want)
			}
		}
	}
	if seen != 17 {
		t.Errorf("%d rows", seen)
	}
}

func TestBadOnline(t *testing.T) {
	const good = `name: bad
task: online
problem: {class: parities, d: 3, distribution: uniform}
algorithms: [online/hedge]
rounds: [10]
adversary: {kind: planted}
`
	for _, c := range []struct{ name, old, new, want string }{
		{"no rounds", "rounds: [10]\n", "", `"rounds" is needed: in task online it takes the place of n`},
		{"rounds of 0", "[10]", "[0]", "rounds[0]: 0 is outside [1, "},
		{"n", "rounds: [10]", "rounds: [10]\nn: [5]", "n: rounds takes the place of n in task online"},
		{"goal", "rounds: [10]", "rounds: [10]\ngoal: {alpha: 0.1, beta: 0.1}", "goal: does not apply to task online"},
		{"adversary of queries", "planted", "boundary", "boundary"},
		{"rate", "planted", "planted, rate: 0.7", "rate"},
		{"class of the adversary", "planted", "round-robin", "round-robin"},
		{"halfspaces", "class: parities, d: 3, distribution: uniform", "class: halfspace, d: 3, margin: 0.1, distribution: iso", "regret needs the least loss of the class in hindsight"},
		{"noise", "distribution: uniform", "distribution: uniform, noise: {kind: random, rate: 0.1}", "problem.noise: does not apply to task online"},
		{"learner of another task", "online/hedge", "expmech/em", `"expmech/em" does not play the task online`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatalf("%q is not in the file", c.old)
			}
			_, errs, code := shatter(t, "check", write(t, filepath.Join(t.TempDir(), "bad.yaml"), text))
			if code != exitUsage || !strings.Contains(errs, "bad.yaml:") || !strings.Contains(errs, c.want) {
				t.Errorf("exit %d: %s, want %q", code, errs, c.want)
			}
			t.Log(errs)
		})
	}
}
