// Package meter counts the events of runs for monitoring.
//
// Start at [Meter]. It needs nothing of the other packages of the coordinator.
package meter

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A Meter holds the counters of runs, which any number of runs may share. The zero value has counted nothing.
// Concurrent use is safe.
type Meter struct {
	mu sync.Mutex
	c  Counts
}

// Counts are the counters of a Meter. Its maps have few, fixed keys.
type Counts struct {
	Trials       map[string]int64 // new outcomes and lost trials, by status: ok, failed, lost
	TrialSeconds float64          // run time of trials, as workers report it
	Refused      int64            // sample sizes that algorithms refused
	Sent         int64            // jobs
	Back         map[string]int64 // jobs that were published again, by cause: lost, useless
	Dropped      map[string]int64 // results that were not recorded, by cause
	Bytes        int64            // of results
	Fsyncs       Times            // of ledgers
}

// FsyncBounds are the upper bounds of the classes of Counts.Fsyncs, in seconds.
var FsyncBounds = []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5}

// Times is a histogram of durations.
type Times struct {
	Count   uint64
	Seconds float64  // sum
	Within  []uint64 // number of those of at most each bound, in the order of the bounds
}

// Add counts a duration. bounds are the upper bounds of the classes, in seconds.
func (t *Times) Add(d time.Duration, bounds []float64) {
	t.Count++
	t.Seconds += d.Seconds()
	if t.Within == nil {
		t.Within = make([]uint64, len(bounds))
	}
	for i, bound := range bounds {
		if d.Seconds() <= bound {
			t.Within[i]++
		}
	}
}

// Counts returns what was counted so far.
func (m *Meter) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.c
	c.Trials, c.Back, c.Dropped = maps.Clone(c.Trials), maps.Clone(c.Back), maps.Clone(c.Dropped)
	c.Fsyncs.Within = slices.Clone(c.Fsyncs.Within)
	return c
}

// Count calls change with the counts. On a nil Meter it does nothing.
func (m *Meter) Count(change func(c *Counts)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.c)
}

// Increase adds by to the value of a key, and makes the map if it is nil.
func Increase(m *map[string]int64, key string, by int) {
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[key] += int64(by)
}
