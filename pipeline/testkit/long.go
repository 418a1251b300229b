package testkit

import "testing"

// Long leaves a test to the long run, go test -tags long, because it takes seconds of a quiet core
// or tests a probability over many repetitions. The ordinary run, and the one under the race
// detector, take its way through the code in other tests.
func Long(t testing.TB) {
	t.Helper()
	if !LongRun {
		t.Skip("left to the long run: go test -tags long")
	}
}
