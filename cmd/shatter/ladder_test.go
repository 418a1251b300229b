package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// ladderSweep searches epsilon under the needle distribution, where the success of the exponential
// mechanism is known exactly, and the rate of wrong labels that it tolerates on a small class.
const ladderSweep = `
name: ladder
goal: {alpha: 0.05, beta: 0.1}
trials: {max: 8000}
grids:
  - problem: {class: thresholds, domain: [2^8, 2^20], distribution: needle, mass: [0.1, 0.2]}
    algorithms: [expmech/em]
    privacy: {epsilon: {from: 0.1, to: 10, steps: 21, scale: log}}
    n: [100, 400]
    search: epsilon
  - problem:
      class: parities
      d: 4
      distribution: uniform
      noise: {kind: random, rate: {from: 0.02, to: 0.46, steps: 12}}
    algorithms: [expmech/em, expmech/pf]
    privacy: {epsilon: 1}
    n: 500
    search: noise.rate
seed: 3
`

// A search over epsilon brackets the exact least epsilon among its values, and its result verifies.
func TestLadder(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	file := write(t, filepath.Join(t.TempDir(), "ladder.yaml"), ladderSweep)
	out, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "1", "--cache", "off")
	if code > 1 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if !strings.Contains(out, "noise_rate") || !strings.Contains(out, "search_insufficient  search_sufficient") ||
		!strings.Contains(out, "confidence 0.95 that every search_insufficient is insufficient at its n") ||
		strings.Count(out, "\n") > 40 {
		t.Errorf("the table for people is not one row a search:\n%s", out)
	}
	rows, decided := table(t, dir), map[any]bool{}
	for _, r := range rows {
		if r["search"] != "epsilon" {
			if r["status"] != "decided" {
				t.Errorf("%v over the rate of wrong labels: %v (%v)", r["search_id"], r["status"], r["reason"])
			}
			continue
		}
		n, domain, mass := r["search_n"].(float64), uint64(r["domain"].(float64)), r["mass"].(float64)
		suffices := func(epsilon float64) bool { return float64(needle(t, domain, mass, epsilon, 0.1)) <= n }
		if low, ok := r["search_insufficient"].(float64); ok && suffices(low) {
			t.Errorf("%v: epsilon %v suffices", r["search_id"], low)
		}
		if high, ok := r["search_sufficient"].(float64); ok && !suffices(high) {
			t.Errorf("%v: epsilon %v does not suffice", r["search_id"], high)
		}
		if theory, ok := r["search_theory"].(float64); ok && !suffices(theory) {
			t.Errorf("%v: by a proved bound epsilon %v suffices", r["search_id"], theory)
		}
		epsilon := r["epsilon"].(float64)
		if r["n_low"] != nil && suffices(epsilon) || r["n_high"] != nil && !suffices(epsilon) || r["n_star"] != nil {
			t.Errorf("%v at epsilon %v: n_low %v, n_high %v, n_star %v", r["search_id"], epsilon, r["n_low"], r["n_high"],
				r["n_star"])
		}
		if r["status"] == "decided" {
			decided[r["search_id"]] = true
		}
	}
	if len(decided) < 6 {
		t.Errorf("%d of 8 searches over epsilon are decided", len(decided))
	}
	if _, errs, code := shatter(t, "verify", dir); code != 0 {
		t.Errorf("verify: exit %d: %s", code, errs)
	}
}
