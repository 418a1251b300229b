package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const trivialSweep = `
name: trivial
task: learn
goal: {alpha: [0.05, 0.3], beta: 0.1}
problem: {class: conjunctions, d: 4, distribution: uniform, literals: 2}
grids:
  - algorithms: [baseline/erm]
    n: {find: true, from: 1, to: 1e4}
  - algorithms: [{use: baseline/erm, replica: 1}]
    n: [4, 200]
    trials: 60
seed: 1
`

// A search in a cell that a learner without data passes runs nothing and names no n*; a list of
// sample sizes keeps its rates. Calibrations are no such cells.
func TestTrivialCells(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	tmp := t.TempDir()
	file, dir := write(t, filepath.Join(tmp, "s.yaml"), trivialSweep), filepath.Join(tmp, "out")
	out, errs, code := shatter(t, "check", file)
	if code != 0 || strings.Count(out, "1 cell is trivial, with no n*: a learner without data succeeds in 100 % of "+
		"trials at alpha 0.3") != 2 {
		t.Errorf("check: exit %d: %s%s", code, out, errs)
	}
	if _, errs, code = shatter(t, "run", file, "--out", dir, "--workers", "2", "--recheck", "0"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	trivial := 0
	for _, r := range table(t, dir) {
		list := r["trials"] == 120.0
		switch r["alpha"] {
		case 0.05:
			if !list && (r["status"] != "decided" || r["n_star"] == nil) {
				t.Errorf("not decided: %v", r)
			}
		case 0.3:
			trivial++
			if r["status"] != "trivial" || r["n_star"] != nil || r["n_high"] != nil || r["n_model"] != nil ||
				!list && (r["trials"] != 0.0 || r["reason"] != "a learner without data succeeds in 100 % of trials at alpha 0.3") {
				t.Errorf("not trivial: %v", r)
			}
		}
	}
	if trivial != 2 {
		t.Errorf("%d trivial cells", trivial)
	}
	rates := 0
	for _, r := range frame(t, dir, "curve") {
		if r["alpha"] == 0.3 && r["rate"] != nil {
			rates++
		}
	}
	if rates != 2 {
		t.Errorf("the list has %d rates, want 2", rates)
	}
	if out, errs, code := shatter(t, "verify", dir, "--sample", "0"); code != 0 {
		t.Errorf("verify: exit %d: %s%s", code, out, errs)
	}
}
