package testkit

import (
	"os"
	"testing"
)

// LongRun reports whether SHATTER_TEST_LONG is set, for tests that do less in the ordinary run.
func LongRun() bool { return os.Getenv("SHATTER_TEST_LONG") != "" }

// Long skips a test in the ordinary run because it takes seconds of a quiet core or tests a
// probability over many repetitions. The same code is covered there, and under the race detector,
// by other tests.
func Long(t testing.TB) {
	t.Helper()
	if !LongRun() {
		t.Skip("left to the long run: SHATTER_TEST_LONG=1 go test")
	}
}
