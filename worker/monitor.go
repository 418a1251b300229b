package worker

import (
	"maps"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// Monitor shows what a running worker does to other goroutines of its process. The zero value is
// ready, for one Run.
type Monitor struct {
	mu sync.Mutex
	o  Overview
}

// Overview is what a worker does at a moment, and has done since it began. The keys of its maps are
// few and fixed.
type Overview struct {
	Heard   time.Time        // when the worker last published its heartbeat; zero: it has not begun
	Last    fleet.Worker     // what it said
	Jobs    map[string]int64 // by how they ended: done, dropped, or returned because of fault, cannot or drain
	Trials  map[string]int64 // of jobs that were done, by status: ok, failed, lost
	Refused int64            // sample sizes that algorithms refused
}

// Overview returns what the worker does now.
func (m *Monitor) Overview() Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.o
	o.Jobs, o.Trials = maps.Clone(o.Jobs), maps.Clone(o.Trials)
	return o
}

// note has change change the overview.
func (m *Monitor) note(change func(o *Overview)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.o.Jobs == nil {
		m.o.Jobs, m.o.Trials = map[string]int64{}, map[string]int64{}
	}
	change(&m.o)
}

// ended counts a job that ended in a way, with the trials of its outcomes.
func (m *Monitor) ended(way string, out *outcomes) {
	m.note(func(o *Overview) {
		o.Jobs[way]++
		switch {
		case way != "done":
		case out.refusal != nil:
			o.Refused++
		default:
			var trials [ledger.Lost + 1]int64
			for _, s := range out.status {
				trials[s]++
			}
			for s, count := range trials {
				if count > 0 {
					o.Trials[ledger.StatusName(uint8(s))] += count
				}
			}
		}
	})
}
