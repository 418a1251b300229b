package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const statesSweep = `
name: states
task: predict
plugins: [%s]
goal: {alpha: 0.1, beta: 0.1, states: [all, every, final]}
problem: {class: thresholds, domain: 2^20, distribution: uniform, test: 1000}
algorithms: [third/erm, third/sleeper, baseline/queries]
n: [200]
trials: 60
queries: 50
adversary: [{kind: boundary, width: 1000}, {kind: repeat}, {kind: stochastic}]
`

// An algorithm that answers otherwise than its state fails if all states count, and so does one that learns from the
// queries alone. The table shows what the queries reveal.
func TestStates(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	file := write(t, filepath.Join(t.TempDir(), "s.yaml"), fmt.Sprintf(statesSweep, thirdparty(t)))
	_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2")
	if code != 0 && code != 1 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	told := map[string]float64{}
	for _, r := range frame(t, dir, "curve") {
		rate, states := r["rate"].(float64), r["states"].(string)
		id := fmt.Sprint(r["algorithm"], " ", r["adversary"], " ", states)
		wins := true
		switch r["algorithm"] {
		case "third/sleeper":
			if wins = states == "final"; r["adversary"] == "repeat" && !wins {
				if rate > 0.75 { // what it knows of the one point asked is -1 in half of the trials anyway
					t.Errorf("%s: success rate %v", id, rate)
				}
				continue
			}
		case "baseline/queries":
			told[fmt.Sprint(r["adversary"], " ", states)] = rate
			wins = states == "final" && r["adversary"] != "stochastic"
			if r["adversary"] == "stochastic" {
				continue // the median of the distribution is the target in the middle
			}
		}
		if rate < 0.95 && wins || rate > 0.4 && !wins {
			t.Errorf("%s: success rate %v", id, rate)
		}
		if want := map[string]float64{"all": 51, "every": 51, "final": 1}[states]; states != "all" && want != r["m_states_probed"] {
			t.Errorf("%s: %v states", id, r["m_states_probed"])
		}
		if d, probed := r["m_disagreement"].(float64); probed != (states != "final") ||
			(d > 0.1) != (probed && r["algorithm"] == "third/sleeper") {
			t.Errorf("%s: disagreement %v", id, r["m_disagreement"])
		}
	}
	for _, r := range frame(t, dir, "table") {
		if want := told[fmt.Sprint(r["adversary"], " ", r["states"])]; r["queries_success"] != want {
			t.Errorf("%v against %v, %v: queries_success is %v, want %v",
				r["algorithm"], r["adversary"], r["states"], r["queries_success"], want)
		}
		if trivial := r["states"] == "final" && r["adversary"] != "stochastic"; trivial != (r["status"] == "trivial") ||
			trivial && r["n_high"] != nil {
			t.Errorf("%v against %v, %v: status %v, n_high %v",
				r["algorithm"], r["adversary"], r["states"], r["status"], r["n_high"])
		}
	}
}
