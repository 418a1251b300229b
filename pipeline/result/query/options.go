package query

import "time"

// Options limits what a question may take.
type Options struct {
	Memory  int64         // bytes for DuckDB; 0: 1 GB. A process that grows by twice that and 256 MB ends its question
	Threads int           // 0: one per core
	Timeout time.Duration // of a question, its answer included; 0: none
}

const defaultMemory = 1 << 30

func (o Options) memory() int64 {
	if o.Memory <= 0 {
		return defaultMemory
	}
	return o.Memory
}

// ceiling returns the number of bytes by which the process may grow while it answers a question.
func (o Options) ceiling() int64 { return 2*o.memory() + 256<<20 }
