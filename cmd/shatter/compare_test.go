package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

const givenSweep = `name: list
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [{use: expmech/em, replica: [0, 1]}, baseline/erm]
privacy: {epsilon: 1}
goal: {alpha: 0.09, beta: 0.05}
n: [50, 100]
trials: 100
seed: 7
`

const gamesSweep = `name: games
task: online
problem: {class: parities, d: 4, distribution: uniform}
adversary: {kind: planted, rate: 0.05}
algorithms: [{use: online/ftpl-gaussian, replica: [0, 1]}, online/soa]
rounds: [100]
trials: 40
seed: 1
`

// sweepIn runs a sweep into a folder of its own.
func sweepIn(t *testing.T, dir, name, text string) string {
	t.Helper()
	out := filepath.Join(dir, name)
	mustRun(t, write(t, filepath.Join(dir, name+".yaml"), text), out)
	return out
}

// comparing runs compare, holds its exit code against the wanted one and gives the pairs as JSON
// has them, and the summary.
func comparing(t *testing.T, code int, args ...string) (pairs []row, summary string) {
	t.Helper()
	out, errs, got := shatter(t, append([]string{"compare", "-o", "json"}, args...)...)
	if got != code {
		t.Fatalf("compare %v: exit %d, want %d: %s%s", args, got, code, out, errs)
	}
	if err := json.Unmarshal([]byte(out), &pairs); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return pairs, errs
}

// Given sample sizes are compared with exact tests; other data give two samples.
func TestCompareLists(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	list := finished(t, givenSweep)
	other := sweepIn(
		t,
		dir,
		"other",
		strings.Replace(strings.Replace(givenSweep, "seed: 7", "seed: 8", 1), "trials: 100", "trials: 150", 1),
	)
	pairs, _ := comparing(t, 0, list, other)
	if len(pairs) != 3 || pairs[0]["compared"] != "unpaired over 200 and 300 trials at n = 50, 100: other data" ||
		pairs[0]["only_a"] != nil {
		t.Errorf("%v", pairs)
	}
	pairs, _ = comparing(t, 0, list, "--by", "replica")
	if p := pairs[0]; len(pairs) != 1 || p["compared"] != "paired over 200 trials at n = 50, 100: same data" ||
		p["p_successes"] != estimate.SignTest(int(p["only_a"].(float64)), int(p["only_b"].(float64))) {
		t.Errorf("%v", pairs)
	}
	for _, folders := range [][]string{{list}, {list, other}} {
		args := append(folders, "--by", "algorithm=expmech/em,baseline/erm", "--by", "epsilon", "--by", "replica")
		if pairs, _ := comparing(t, 1, args...); pairs[0]["p_successes"].(float64) > 1e-9 {
			t.Errorf("%v", pairs)
		}
	}
}

// Games are compared by their regret, sequence by sequence.
func TestCompareGames(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	games := sweepIn(t, dir, "games", gamesSweep)
	pairs, summary := comparing(t, 0, games, "--by", "replica")
	if len(pairs) != 1 || pairs[0]["compared"] != "paired over 40 trials at 100 rounds: same data" ||
		!strings.Contains(summary, "confidence 0.95 for all of them together: 0.95 of the tests (1)") {
		t.Errorf("%s%v", summary, pairs)
	}
	pairs, _ = comparing(t, 1, games, "--by", "algorithm=online/ftpl-gaussian,online/soa", "--by", "replica")
	for _, p := range pairs {
		a, b := p["regret_mean_a"].(float64), p["regret_mean_b"].(float64)
		if d := p["difference"].(float64); p["verdict"] != "differ" || d-(a-b) > 1e-9 || d-(a-b) < -1e-9 {
			t.Errorf("%v", p)
		}
	}
	list := finished(t, givenSweep)
	expect(t, exitUsage, []string{"the one is of task online, the other is not"}, "compare", games, list)
}
