package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const slopeSweep = `
name: slope
task: learn
problem: {class: thresholds, domain: [2^8, 2^16, 2^24, 2^32], distribution: needle, mass: 0.1}
algorithms: [expmech/em]
privacy: {epsilon: [1, 2]}
goal: {alpha: 0.099, beta: 0.05}
n: {find: true, from: 16, to: 1e5, within: 1.25}
seed: 3
fits:
%s
`

const slopeFits = `
  - {x: domain, scale: log, exponent: 22.8, source: the exact law}
  - {x: epsilon, scale: log-log}`

// The slope of n* against ln X on the needle law is known: the measured one agrees, whatever the
// workers, and so does n_model with n* itself. Other fits need no trial and no --extend.
func TestFits(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	file, dir := write(t, filepath.Join(tmp, "slope.yaml"), fmt.Sprintf(slopeSweep, slopeFits)), filepath.Join(tmp, "a")
	out, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2", "--quiet")
	_, again, _ := shatter(
		t,
		"run",
		file,
		"--out",
		filepath.Join(tmp, "b"),
		"--workers",
		"1",
		"--quiet",
		"--test-job-sizes",
		"5",
		"--test-reverse",
	)
	if code != 0 || digest(t, errs) != digest(t, again) {
		t.Fatalf("exit %d: %s%s", code, errs, again)
	}
	if !strings.Contains(out, "n_model") || !strings.Contains(out, "\n\nfit  ") ||
		!strings.Contains(out, "\nclaimed: the exact law\n") {
		t.Errorf("the fits do not follow the table:\n%s", out)
	}
	for _, r := range table(t, dir) {
		exact := float64(needle(t, uint64(r["domain"].(float64)), 0.1, r["epsilon"].(float64), 0.05))
		if n, ok := r["n_model"].(float64); ok &&
			(math.Abs(math.Log(n/exact)) > 0.1 || r["n_model_low"].(float64) > n || r["n_model_high"].(float64) < n) {
			t.Errorf("n* is %v: %v", exact, r)
		}
	}
	want := map[string]float64{"epsilon 1": 22.8, "epsilon 2": 12.1}
	fits := frame(t, dir, "fits")
	for _, r := range fits[:2] {
		slope, se, theory := r["slope"].(float64), r["slope_se"].(float64), r["theory_slope"].(float64)
		exact := want[r["group"].(string)]
		if math.Abs(slope-exact) > 4*se || se > exact/10 || r["slope_low"].(float64) >= slope ||
			r["slope_high"].(float64) <= slope || r["cells"] != 4.0 ||
			theory < exact || theory > 1.4*exact || r["claimed"] != 22.8 || r["claimed_source"] != "the exact law" ||
			!strings.Contains(r["y"].(string), "n_model") {
			t.Errorf("the slope is %v: %v", exact, r)
		}
	}
	if len(fits) != 6 || fits[5]["group"] != "domain 4294967296" || fits[5]["slope_se"] != nil ||
		!strings.Contains(fits[5]["reason"].(string), "two places") {
		t.Errorf("%d slopes, the last is %v", len(fits), fits[len(fits)-1])
	}

	write(t, file, fmt.Sprintf(slopeSweep, "  - {x: domain, scale: log-log}"))
	_, errs, code = shatter(t, "run", file, "--out", dir, "--workers", "1", "--quiet")
	if code != 0 {
		t.Fatalf("with other fits: exit %d: %s", code, errs)
	}
	if runs := readManifest(t, dir).Runs; len(runs) != 2 || runs[1].Trials != 0 {
		t.Errorf("other fits ran trials: %+v", runs)
	}
	if fits := frame(t, dir, "fits"); len(fits) != 2 || fits[0]["scale"] != "log-log" {
		t.Errorf("%v", fits)
	}
	write(t, file, strings.Replace(fmt.Sprintf(slopeSweep, slopeFits), "x: epsilon", "x: epsilom", 1))
	expect(
		t,
		exitUsage,
		[]string{`slope.yaml:13:9: fits[1].x: unknown quantity "epsilom", did you mean "epsilon"?`},
		"check",
		file,
	)
}

const regretFits = `
name: regret-slope
task: online
problem: {class: points, domain: 16, distribution: uniform}
adversary: {kind: random}
algorithms: [online/hedge]
rounds: [50, 200, 800]
trials: 40
fits: [{x: rounds, scale: log-log, exponent: 0.5}]
`

// Against random truths the regret grows like the square root of the rounds. Without fits the file
// is there all the same.
func TestFitsOfRegret(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	tmp := t.TempDir()
	file, dir := write(t, filepath.Join(tmp, "regret.yaml"), regretFits), filepath.Join(tmp, "out")
	if _, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "1", "--quiet"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	fits := frame(t, dir, "fits")
	if len(fits) != 1 || fits[0]["y"] != "regret_mean" || fits[0]["slope_low"].(float64) > 0.5 ||
		fits[0]["slope_high"].(float64) < 0.5 ||
		fits[0]["slope_se"].(float64) > 0.2 ||
		math.Abs(fits[0]["theory_slope"].(float64)-0.5) > 0.05 {
		t.Errorf("%v", fits)
	}
	write(t, file, regretFits[:strings.Index(regretFits, "fits:")])
	if out, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "1", "--quiet"); code != 0 ||
		strings.Contains(out, "slope") {
		t.Fatalf("exit %d: %s%s", code, errs, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "fits.parquet")); err != nil || len(frame(t, dir, "fits")) != 0 {
		t.Errorf("without fits: %v", err)
	}
}
