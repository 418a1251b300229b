package query

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"time"
)

// guard ends a context with cause when this process holds more than limit bytes. DuckDB accounts
// for its tables and its sorting, but not for a single value of a gigabyte.
func guard(ctx context.Context, limit int64, end context.CancelCauseFunc, cause error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if resident() > limit {
				end(cause)
				return
			}
		}
	}
}

// resident returns the memory of this process in bytes, or 0 where the system does not tell.
func resident() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
