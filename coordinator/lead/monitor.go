package lead

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/coordinator/meter"
)

// Monitor shows what a running Serve does to other goroutines of its process. The zero value is
// ready, for one Serve.
type Monitor struct {
	meter.Meter // counts what was done for all sweeps that were led

	mu     sync.Mutex
	heard  time.Time
	states map[string]int
	terms  []*term
}

// Overview is what a coordinator does at a moment.
type Overview struct {
	Heard   time.Time      // when Serve was last known to go round; zero: it has not begun
	Sweeps  map[string]int // number of submitted sweeps by state, see sweepState.state
	Leading []Leading      // sweeps that are led here, by id
}

// Leading is a sweep that is led here.
type Leading struct {
	ID, Name string
	Cells    int
	State
}

// look records the states of the sweeps. Only the goroutine of Serve calls it.
func (m *Monitor) look(sweeps map[string]*sweepState) {
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
	m.heard, m.states, m.terms = time.Now(), states, terms
}

// state returns a word for the state of the sweep in the registry.
func (x *sweepState) state() string {
	switch r := x.record; {
	case x.term != nil:
		return "led here"
	case r.Wish.Do == Forget:
		return Forgotten
	case r.End != nil:
		return "ended"
	case r.Wish.Do == Pause:
		return Paused
	case r.Wish.Do == Cancel:
		return Cancelled
	case r.Leader != nil && time.Since(x.since) <= r.Leader.Duration:
		return "led elsewhere"
	}
	return Waiting
}

// Overview returns what the coordinator does now.
func (m *Monitor) Overview() Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := Overview{Heard: m.heard, Sweeps: m.states}
	for _, t := range m.terms {
		o.Leading = append(o.Leading, Leading{ID: t.ID, Name: t.Submission.Name, Cells: t.Submission.Cells, State: t.state()})
	}
	return o
}
