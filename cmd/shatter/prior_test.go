package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

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
