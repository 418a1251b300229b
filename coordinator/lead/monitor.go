package lead

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/coordinator/meter"
)

// A Monitor lets other goroutines observe a running [Serve]. The zero value is ready for one Serve.
type Monitor struct {
	meter.Meter // counters over all sweeps that were led

	mu     sync.Mutex
	active time.Time
	states map[string]int
	terms  []*term
}

// An Overview describes a coordinator at one moment.
type Overview struct {
	Active  time.Time      // time of the last activity of Serve; zero: it has not begun
	Sweeps  map[string]int // number of submitted sweeps by state, see sweepState.state
	Leading []Leading      // sweeps that this coordinator leads, by id
}

// A Leading describes a sweep that this coordinator leads.
type Leading struct {
	ID, Name string
	Cells    int
	State
}

// record records the states of the sweeps. Only the goroutine of Serve calls it.
func (m *Monitor) record(sweeps map[string]*sweepState) {
	states := map[string]int{}
	var terms []*term
	for _, x := range sweeps {
		states[x.state()]++
		if x.term != nil {
			terms = append(terms, x.term)
		}
	}
	slices.SortFunc(terms, func(a, b *term) int { return strings.Compare(a.ID, b.ID) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active, m.states, m.terms = time.Now(), states, terms
}

// state returns a word for the state of the sweep in the registry.
func (x *sweepState) state() string {
	switch r := x.record; {
	case x.term != nil:
		return "led here"
	case r.Desired.Do == Delete:
		return Deleted
	case r.End != nil:
		return "ended"
	case r.Desired.Do == Pause:
		return Paused
	case r.Desired.Do == Cancel:
		return Cancelled
	case r.Leader != nil && time.Since(x.since) <= r.Leader.Duration:
		return "led elsewhere"
	}
	return Waiting
}

// Overview returns the present overview.
func (m *Monitor) Overview() Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := Overview{Active: m.active, Sweeps: m.states}
	for _, t := range m.terms {
		o.Leading = append(o.Leading, Leading{ID: t.ID, Name: t.Submission.Name, Cells: t.Submission.Cells, State: t.state()})
	}
	return o
}
