package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const priorSweep = `
name: prior
task: learn
goal: {alpha: 0.1, beta: 0.1}
n: [1]
trials: 250
seed: 3
algorithms: [baseline/prior]
grids:
  - problem: {class: [thresholds, intervals], domain: [10, 200], distribution: uniform}
  - problem: {class: points, domain: 5, distribution: uniform}
  - problem: {class: stumps, domain: [9, 60], d: [1, 2], distribution: uniform, target: [random, uniform]}
  - problem: {class: rectangles, domain: [12, 60], d: 2, distribution: uniform}
  - problem: {class: [conjunctions, monotone-conjunctions], d: 4, literals: [2, 3], distribution: uniform}
  - problem: {class: conjunctions, d: 3, target: uniform, distribution: uniform}
  - problem: {class: parities, d: 3, distribution: uniform}
  - problem: {class: matrix, file: %s, distribution: uniform}
  - problem: {class: halfspace, d: [2, 3, 5], margin: 0.01, distribution: [ball-margin, iso], test: 2000}
`

// baseline/prior succeeds with the probability that the table states.
func TestPriorReachesWhatTheTableStates(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	tmp := t.TempDir()
	dir := filepath.Join(tmp, "out")
	file := write(t, filepath.Join(tmp, "prior.yaml"), fmt.Sprintf(priorSweep, matrixFile(t, tmp)))
	if _, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, r := range frame(t, dir, "curve") {
		prior, trials := r["prior_success"].(float64), r["trials"].(float64)
		limit := 4*math.Sqrt(prior*(1-prior)/trials) + 1/trials
		if math.Abs(r["rate"].(float64)-prior) > limit {
			t.Errorf("%v %v d %v, domain %v, target %v: rate %v, want %v", r["class"], r["distribution"], r["d"],
				r["domain"], r["target"], r["rate"], prior)
		}
	}
	for _, r := range table(t, dir) {
		trivial := r["prior_success"].(float64) >= 0.9
		if (r["status"] == "trivial") != trivial || trivial && r["n_high"] != nil {
			t.Errorf("%v: status %v, n_high %v, prior_success %v", r["class"], r["status"], r["n_high"], r["prior_success"])
		}
	}
}

const trivialSweep = `
name: trivial
task: learn
goal: {alpha: [0.05, 0.3], beta: 0.1}
problem: {class: conjunctions, d: 4, distribution: uniform, literals: %s}
algorithms: [baseline/erm]
%s
seed: 1
`

// A search in a cell that a learner without data passes runs nothing and names no n*; a list of
// sample sizes keeps its rates. Calibrations are no such cells.
func TestTrivialCells(t *testing.T) {
	testkit.Serial(t)
	tmp := t.TempDir()
	find := write(t, filepath.Join(tmp, "find.yaml"), fmt.Sprintf(trivialSweep, "2", "n: {find: true, from: 1, to: 1e4}"))
	out, errs, code := shatter(t, "check", find)
	if code != 0 || !strings.Contains(out, "1 cell is trivial, with no n*: a learner without data succeeds in 100 % of "+
		"trials at alpha 0.3") {
		t.Errorf("check: exit %d: %s%s", code, out, errs)
	}
	if out, _, _ = shatter(t, "plan", find, "--progress", "none"); !strings.Contains(out, "1 of them are trivial") {
		t.Errorf("plan: %s", out)
	}
	dir := filepath.Join(tmp, "find")
	if _, errs, code = shatter(t, "run", find, "--out", dir, "--workers", "2"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	trivial := 0
	for _, r := range table(t, dir) {
		if r["alpha"] == 0.05 {
			if r["status"] != "decided" || r["n_star"] == nil {
				t.Errorf("not decided: %v", r)
			}
			continue
		}
		trivial++
		if r["status"] != "trivial" || r["n_star"] != nil || r["n_model"] != nil || r["trials"] != 0.0 ||
			r["reason"] != "a learner without data succeeds in 100 % of trials at alpha 0.3" {
			t.Errorf("not trivial: %v", r)
		}
	}
	if trivial != 1 {
		t.Errorf("%d trivial cells", trivial)
	}
	for _, args := range [][]string{
		{"run", find, "--out", dir}, {"verify", dir}, {"report", dir}, {"plot", dir},
		{"compare", dir, dir}, {"table", dir},
	} {
		if _, errs, code := shatter(t, args...); code != 0 {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}

	list := write(t, filepath.Join(tmp, "list.yaml"), fmt.Sprintf(trivialSweep, "2", "n: [4, 200]\ntrials: 60"))
	dir = filepath.Join(tmp, "list")
	if _, errs, code := shatter(t, "run", list, "--out", dir, "--workers", "2"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, r := range table(t, dir) {
		if (r["status"] == "trivial") != (r["alpha"] == 0.3) || r["trials"] != 120.0 ||
			r["status"] == "trivial" && (r["n_high"] != nil || r["n_model"] != nil) {
			t.Errorf("%v", r)
		}
	}
	if rows := frame(t, dir, "curve"); len(rows) != 4 || rows[0]["rate"] == nil {
		t.Errorf("%v", rows)
	}
}
