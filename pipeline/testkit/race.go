package testkit

import "testing"

// Serial leaves a test out under the race detector, because it does one thing after another, whose
// parts other tests put to the detector, or computes for long on one goroutine: everything takes ten
// times as long there.
func Serial(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("it does one thing after another, ten times as slowly under the race detector; it is run without it")
	}
}
