// Package meter counts the events of runs for monitoring.
//
// Start at [Meter]. The package imports no other package of the coordinator.
package meter

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A Meter holds the counters of runs. Any number of runs may share one. The zero value is ready for
// use. Concurrent use is safe.
type Meter struct {
	mu sync.Mutex
	c  Counts
}

// Counts holds the counters of a [Meter]. Its maps have few, fixed keys.
type Counts struct {
	Trials       map[string]int64 // new outcomes and lost trials, by status: ok, failed, lost
	TrialSeconds float64          // run time of trials, as workers report it
	Refused      int64            // sample sizes that algorithms refused
	Sent         int64            // published jobs
	Back         map[string]int64 // jobs that were published again, by cause: lost, useless
	Dropped      map[string]int64 // results that were not recorded, by cause
	Bytes        int64            // size of all results
	Fsyncs       Times            // durations of fsyncs of ledgers
}

// FsyncBounds holds the upper bounds of the classes of Counts.Fsyncs, in seconds.
var FsyncBounds = []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5}

// Times is a histogram of durations.
type Times struct {
	Count   uint64
	Seconds float64  // sum
	Within  []uint64 // number of durations within each bound, in the order of the bounds
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

// Counts returns a copy of the counters.
func (m *Meter) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.c
	c.Trials, c.Back, c.Dropped = maps.Clone(c.Trials), maps.Clone(c.Back), maps.Clone(c.Dropped)
	c.Fsyncs.Within = slices.Clone(c.Fsyncs.Within)
	return c
}

// Count calls change with the counters. On a nil Meter it does nothing.
func (m *Meter) Count(change func(c *Counts)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.c)
}

// Increase adds by to the value of a key. It creates the map if it is nil.
func Increase(m *map[string]int64, key string, by int) {
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[key] += int64(by)
}
