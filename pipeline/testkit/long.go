package testkit

import (
	"os"
	"testing"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// LongRun reports whether SHATTER_TEST_LONG is set, for tests that do less in the ordinary run. It
// is true in plugins too, because a test that was not skipped has started them.
func LongRun() bool {
	return os.Getenv("SHATTER_TEST_LONG") != "" || os.Getenv(pluginv1.CookieKey) != ""
}

// Long skips a test in the ordinary run because it takes seconds of a quiet core or tests a
// probability over many repetitions. The same code is covered there, and under the race detector,
// by other tests.
func Long(t testing.TB) {
	t.Helper()
	if !LongRun() {
		t.Skip("left to the long run: SHATTER_TEST_LONG=1 go test")
	}
}
