//go:build cgo

package query

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// guard calls end with a cause when the process holds more memory than the options allow. DuckDB
// accounts for its tables and its sorting, but not for a single value of a gigabyte. The limit that
// the process sets itself holds without this one where the system knows it.
func (p *process) guard(ctx context.Context, o Options, end context.CancelCauseFunc) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if resident(p.cmd.Process.Pid) > o.ceiling() {
				end(&blame{fmt.Sprintf("the query took more than %s: it builds values that are too large, or needs more "+
					"with --memory", size(o.ceiling())), ErrLimit})
				return
			}
		}
	}
}

// resident returns the memory of a process in bytes, or 0 where the system does not tell.
func resident(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
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
