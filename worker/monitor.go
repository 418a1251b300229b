package worker

import (
	"maps"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// A Monitor lets other goroutines observe a running worker. The zero value is ready for one [Run].
type Monitor struct {
	mu sync.Mutex
	o  Overview
}

// An Overview holds the present state of a worker and its counts since it started. The keys of its maps are few and
// fixed.
type Overview struct {
	HeartbeatAt time.Time        // time of the last heartbeat; zero: none yet
	Heartbeat   fleet.Worker     // the last heartbeat
	Jobs        map[string]int64 // numbers of jobs by end: done, dropped, or returned because of fault, cannot or drain
	Trials      map[string]int64 // trials of the jobs that are done, by status: ok, failed, lost
	Refused     int64            // number of jobs whose sample size the algorithm refused
	Starts      int64            // number of plugin processes that were started
	Starting    time.Duration    // time of slots to start them
	Running     time.Duration    // time of slots on jobs, including the starts
}

// Overview returns a copy of the present overview.
func (m *Monitor) Overview() Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.o
	o.Jobs, o.Trials = maps.Clone(o.Jobs), maps.Clone(o.Trials)
	return o
}

func (m *Monitor) update(change func(o *Overview)) {
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

// countJob counts a job by its end, and its trials if it is done.
func (m *Monitor) countJob(end string, out *outcomes) {
	m.update(func(o *Overview) {
		o.Jobs[end]++
		switch {
		case end != "done":
		case out.Refusal != nil:
			o.Refused++
		default:
			var trials [ledger.Lost + 1]int64
			for _, s := range out.Status {
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
