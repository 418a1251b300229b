package main

import (
	"testing"
)

const smallSweep = `
name: small
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [expmech/em]
privacy: {epsilon: [1, 2]}
goal: {alpha: 0.05, beta: 0.05}
n: [100, 200]
trials: 1000
`

// mustRun runs a sweep that has to end well.
func mustRun(t *testing.T, file, dir string, flags ...string) (stderr string) {
	t.Helper()
	_, stderr, code := shatter(t, append([]string{"run", file, "--out", dir, "--workers", "2"}, flags...)...)
	if code != 0 {
		t.Fatalf("%v: exit %d: %s", flags, code, stderr)
	}
	return stderr
}
