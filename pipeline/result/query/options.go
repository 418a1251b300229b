package query

import (
	"fmt"
	"time"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/schemas"
)

// Options limits what a question may take.
type Options struct {
	Memory  int64         // bytes for DuckDB; 0: 1 GB. The process that answers may take twice that and 256 MB
	Threads int           // 0: one per core
	Timeout time.Duration // of a question, its answer included; 0: none

	Sandbox sandbox.Policy `json:"-"` // of the process that answers

	Metrics []schemas.Metric // what their columns mean, as far as that is known
}

const defaultMemory = 1 << 30

func (o Options) memory() int64 {
	if o.Memory <= 0 {
		return defaultMemory
	}
	return o.Memory
}

// ceiling returns the number of bytes that the process which answers a question may take.
func (o Options) ceiling() int64 { return 2*o.memory() + 256<<20 }

// size returns a number of bytes in words for people.
func size(bytes int64) string {
	if bytes%1e9 == 0 {
		return fmt.Sprintf("%d GB", bytes/1e9)
	}
	return fmt.Sprintf("%.4g MB", float64(bytes)/1e6)
}
