package coordinator

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

// A Meter counts what runs do, for those who watch a process. Any number of runs may share one. Its
// methods may be called concurrently. The zero value has counted nothing.
type Meter struct {
	mu sync.Mutex
	c  Counts
}

// Counts is what a Meter has counted. The keys of its maps are few and fixed.
type Counts struct {
	Trials       map[string]int64 // new outcomes that workers brought, and lost trials, by status: ok, failed, lost
	TrialSeconds float64          // that workers report for their trials
	Refused      int64            // sample sizes that algorithms refused
	Sent         int64            // jobs
	Back         map[string]int64 // jobs that came back without a result, by fleet.Kind, or gone with their worker
	Dropped      map[string]int64 // results that were not recorded, by what was wrong with them
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

func (t *Times) add(d time.Duration, bounds []float64) {
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

// count has change change what was counted. Without a Meter it does nothing.
func (m *Meter) count(change func(c *Counts)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.c)
}

// increase adds to what a map has for a key.
func increase(m *map[string]int64, key string, by int) {
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[key] += int64(by)
}

// took counts what was recorded of a result of so many bytes.
func (m *Meter) took(v ledger.Verdict, bytes int) {
	failed := 0
	for _, i := range v.New {
		if v.Batch.Status[i] == ledger.Failed {
			failed++
		}
	}
	m.count(func(c *Counts) {
		increase(&c.Trials, ledger.StatusName(ledger.OK), len(v.New)-failed)
		increase(&c.Trials, ledger.StatusName(ledger.Failed), failed)
		increase(&c.Trials, ledger.StatusName(ledger.Lost), len(v.Lost))
		c.TrialSeconds += v.Batch.Seconds
		c.Bytes += int64(bytes)
		if v.Refused {
			c.Refused++
		}
	})
}
