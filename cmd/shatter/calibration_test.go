package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// needle returns the exact n* of the needle distribution: the least n at which the exponential mechanism finds
// the one good threshold.
func needle(t *testing.T, domain uint64, mass, epsilon, beta float64) int64 {
	t.Helper()
	left := float64(domain / 2)
	n, err := finitetest.Needle{Mass: mass, Left: left, Right: float64(domain) - 1 - left}.SampleSize(epsilon, beta)
	if err != nil {
		t.Fatal(err)
	}
	return int64(n)
}

const needleSweep = `
name: needle
task: learn
grids:
  - problem: {class: thresholds, domain: [2^8, 2^16, 2^32], distribution: needle, mass: 0.1}
    algorithms: [expmech/em]
    privacy: {epsilon: [0.5, 1, 2]}
    goal: {alpha: 0.05, beta: 0.05}
    n: {from: 16, to: 1e5, within: 1.5}
  - problem: {class: thresholds, domain: [5, 1000, 2^40], distribution: needle, mass: [0.05, 0.2]}
    algorithms: [expmech/em]
    privacy: {epsilon: [0.3, 4]}
    goal: {alpha: 0.02, beta: [0.1, 0.3]}
    n: {from: 16, to: 1e5, within: 1.5}
seed: %d
`

// The bracket contains the exact n*, for the published cells and for others, through the whole
// path.
func TestNeedleTable(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	file := write(t, filepath.Join(t.TempDir(), "needle.yaml"), fmt.Sprintf(needleSweep, 11))
	_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2")
	if code > 1 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	decided := 0
	for _, r := range table(t, dir) {
		exact := needle(t, uint64(r["domain"].(float64)), r["mass"].(float64), r["epsilon"].(float64), r["beta"].(float64))
		if low, ok := r["n_low"].(float64); ok && int64(low) >= exact {
			t.Errorf("%v: n_low %v, n* is %d", r, low, exact)
		}
		if high, ok := r["n_high"].(float64); ok && int64(high) < exact {
			t.Errorf("%v: n_high %v, n* is %d", r, high, exact)
		}
		if r["status"] == "decided" {
			decided++
		}
		if theory, ok := r["theory_n"].(float64); !ok || int64(theory) < exact {
			t.Errorf("%v: the proved bound %v is below n* = %d", r, theory, exact)
		}
	}
	if decided < 30 {
		t.Errorf("%d of 33 cells are decided", decided)
	}
}
