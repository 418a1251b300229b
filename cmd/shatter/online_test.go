package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const roundsSweep = `
name: rounds
task: online
rounds: [1, 60]
trials: 5
seed: 3
grids:
  - problem: {class: parities, d: 4, distribution: uniform}
    algorithms: [online/soa, online/halving, online/hedge, online/ftpl-gaussian, {use: online/ftpl-iid,
        law: exponential}, online/ftpl-uniform]
    adversary: [{kind: planted, rate: [0, 0.1]}, {kind: [tree, greedy], sees: [answers, past]}, {kind: [random,
        leader-killer, shared-noise, smoothed]}]
  - problem: {class: [thresholds, intervals, points], domain: 9, distribution: uniform}
    algorithms: [online/follow-the-leader, online/agnostic-experts, online/ftpl-laplace, online/ftpl-approximable]
    adversary: [{kind: [tree, random, planted]}]
  - problem: {class: thresholds, domain: 2^40, distribution: uniform}
    algorithms: [online/soa, online/hedge]
    adversary: {kind: bisecting}
  - problem: {class: thresholds-naturals}
    algorithms: [online/soa, online/follow-the-leader]
    adversary: {kind: bisecting, from: 1000}
  - problem: {class: matrix, file: %s, distribution: uniform}
    algorithms: [online/soa, online/hedge]
    adversary: {kind: tree}
`

// Online games give the same bytes whatever the workers and the borders of jobs.
func TestOnlineSameBytes(t *testing.T) {
	testkit.Long(t)
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

// The known numbers, through the whole path: regret of the published table within noise and below
// its proved bound, the leader's exact losses in round-robin, Littlestone dimensions exactly, and
// an adversary that has learned noise which is drawn once.
func TestRegretTable(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	_, errs, code := shatter(
		t,
		"run",
		write(t, filepath.Join(t.TempDir(), "r.yaml"), regretSweep),
		"--out",
		dir,
		"--workers",
		"2",
	)
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

const degenerateSweep = `
name: degenerate
task: online
rounds: [1, 40]
trials: 8
grids:
  - problem: {class: matrix, file: one.csv, distribution: uniform}
    adversary: {kind: [tree, planted, random, leader-killer, greedy, shared-noise]}
    algorithms: [online/soa, online/halving, online/agnostic-experts, online/hedge, online/follow-the-leader,
        online/ftpl-gaussian, online/ftpl-iid]
  - problem: {class: thresholds, domain: 4, distribution: uniform}
    adversary: [{kind: planted, rate: 0.5}, {kind: planted}]
    algorithms: [online/soa, online/halving]
`

// A class of one function has no regret, whatever the truths. Truths that no function agrees with
// leave the version space as it was, and the bound on mistakes is not stated; without noise L* = 0,
// and it holds.
func TestDegenerateOnline(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	write(t, filepath.Join(tmp, "one.csv"), "a,b,c\n0,1,1\n")
	dir := filepath.Join(tmp, "out")
	mustRun(t, write(t, filepath.Join(tmp, "degenerate.yaml"), degenerateSweep), dir)
	contradictions := map[string]any{}
	for _, r := range frame(t, dir, "curve") {
		contradictions[fmt.Sprint(r["cell"], r["n"])] = r["m_contradictions"]
	}
	alone, contradicted := 0, 0
	for _, r := range table(t, dir) {
		id := fmt.Sprintf("%v, %v, %v rounds", r["algorithm"], r["adversary"], r["rounds"])
		against := contradictions[fmt.Sprint(r["cell"], r["rounds"])]
		switch {
		case r["failed"] != 0.0:
			t.Errorf("%s: %v games failed", id, r["failed"])
		case r["class"] == "matrix":
			alone++
			if r["regret_low"] != 0.0 || r["regret_high"] != 0.0 || r["mistakes_mean"] != r["best_loss"] ||
				r["adversary"] == "planted" && r["best_loss"] != 0.0 {
				t.Errorf("%s: %v", id, r)
			}
		case r["adversary"] == "planted 0.5" && r["rounds"] == 40.0:
			contradicted++
			if against.(float64) < 5 || r["theory_regret"] != nil || r["best_loss"].(float64) < 1 {
				t.Errorf("%s: %v contradictions, %v", id, against, r)
			}
		case r["adversary"] == "planted":
			if against != 0.0 || r["best_loss"] != 0.0 || r["mistakes_max"].(float64) > r["theory_regret"].(float64) {
				t.Errorf("%s: %v contradictions, %v", id, against, r)
			}
		}
	}
	if alone != 84 || contradicted != 2 {
		t.Errorf("%d games of one function, %d with noise", alone, contradicted)
	}
}

func TestBadOnline(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
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
		{"n", "rounds: [10]", "rounds: [10]\nn: [5]", "n: not allowed in task online"},
		{"goal", "rounds: [10]", "rounds: [10]\ngoal: {alpha: 0.1, beta: 0.1}", "goal: in task online it says what a success is for a search: add \"find: rounds\""},
		{"adversary of queries", "planted", "boundary", "boundary"},
		{"rate", "planted", "planted, rate: 0.7", "rate"},
		{"class of the adversary", "planted", "round-robin", "round-robin"},
		{
			"halfspaces", "class: parities, d: 3, distribution: uniform",
			"class: halfspace, d: 3, margin: 0.1, distribution: iso", "regret needs the least loss of the class in hindsight",
		},
		{
			"noise", "distribution: uniform", "distribution: uniform, noise: {kind: random, rate: 0.1}",
			"problem.noise: does not apply to task online",
		},
		{
			"evaluation sample", "distribution: uniform", "distribution: uniform, test: 100",
			":3:63: problem.test: does not apply to task online, where every round is scored; leave it out",
		},
		{
			"function twice", "class: parities, d: 3", "class: matrix, file: twice.csv",
			"hypotheses 1 and 3, counted from 1, are the same function",
		},
		{
			"point outside", "class: parities, d: 3, distribution: uniform",
			"class: thresholds, domain: 8, data: {file: outside.csv, label: y, positive: p}",
			`row 3, column "a": 8 is not an integer in 0..7`,
		},
		{
			"point that is no number", "class: parities, d: 3, distribution: uniform",
			"class: thresholds, domain: 8, data: {file: nan.csv, label: y, positive: p}", `row 3, column "a": NaN is not`,
		},
		{"learner of another task", "online/hedge", "expmech/em", `"expmech/em" does not play the task online`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatalf("%q is not in the file", c.old)
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "twice.csv"), "a,b\n0,1\n1,1\n0,1\n")
			write(t, filepath.Join(dir, "outside.csv"), "a,y\n7,p\n8,q\n")
			write(t, filepath.Join(dir, "nan.csv"), "a,y\n7,p\nNaN,q\n")
			_, errs, code := shatter(t, "check", write(t, filepath.Join(dir, "bad.yaml"), text))
			if code != exitUsage || !strings.Contains(errs, "bad.yaml:") || !strings.Contains(errs, c.want) {
				t.Errorf("exit %d: %s, want %q", code, errs, c.want)
			}
			t.Log(errs)
		})
	}
}
