//go:build !race

package result

import (
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// The memory of rows that were written is used again for others. The race detector lets pools forget
// some of it.
func TestWriteAllocates(t *testing.T) {
	r, rows := manyTrials(t, sheet.RowGroup/5, 0)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would take what is kept for later
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))  // of each core something is kept
	var before, after runtime.MemStats
	for range 2 {
		runtime.ReadMemStats(&before)
		if err := r.writeTrials(io.Discard); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
	}
	if got := int64(after.TotalAlloc - before.TotalAlloc); got > 16*rows {
		t.Errorf("%d bytes allocated for %d rows", got, rows)
	}
}
