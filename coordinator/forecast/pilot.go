package forecast

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A Pilot is the decider of a cell that measures the run time of trials at two sample sizes.
type Pilot struct {
	seconds func(n int64) float64 // run time of all trials at a size so far
	sizes   []int64               // sizes that may be tried next, ascending
	search  bool                  // second size: a third of the way up, near a typical n*; false: the last
	trials  int                   // number of trials at each size
	least   int64                 // smallest size that is not refused
	costs   []Cost                // measured costs, at most two

	n     int64   // present size; 0: done
	known int     // number of trials of the present size that have ended
	first float64 // seconds of the first of these trials
}

// PilotTrials is the largest number of trials at a size.
const PilotTrials = 16

// slowTrial is the time in seconds from which one trial at a size suffices. If trials are faster,
// the first trial is excluded, because it may include the start of a process.
const slowTrial = 1

// NewPilot returns a pilot of a cell. seconds returns the run time of all trials at a sample size so far. The second
// result is the cell that runs only the pilot's trials.
func NewPilot(c *trial.Cell, seconds func(n int64) float64) (*Pilot, *trial.Cell) {
	p := &Pilot{seconds: seconds, trials: PilotTrials, sizes: slices.Sorted(slices.Values(c.N))}
	if c.Find != nil {
		p.search = true
		for n := c.Find.From; n <= c.Find.To; n *= 2 {
			p.sizes = append(p.sizes, n)
		}
	} else if c.Rung == nil {
		p.trials = min(PilotTrials, c.Trials)
	}
	tried := *c
	tried.Find, tried.Rung, tried.N, tried.Trials = nil, nil, slices.Clone(p.sizes), p.trials
	p.next()
	return p, &tried
}

// next advances to the next size, or ends the pilot.
func (p *Pilot) next() {
	p.n, p.known = 0, 0
	if len(p.costs) == 2 || len(p.sizes) == 0 {
		return
	}
	i := 0
	if len(p.costs) == 1 {
		i = len(p.sizes) - 1
		if p.search {
			i /= 3
		}
	}
	p.n = p.sizes[i]
	p.sizes = slices.Delete(p.sizes, i, i+1)
}

// Needs implements the decider: it needs the present size.
func (p *Pilot) Needs() []int64 {
	if p.n == 0 || p.known > 0 {
		return nil
	}
	return []int64{p.n}
}

// Want implements the decider: one trial first, because it may include the start of a process.
func (p *Pilot) Want() []estimate.Block {
	switch {
	case p.n == 0:
		return nil
	case p.known == 0:
		return []estimate.Block{{N: p.n, Count: 1}}
	}
	return []estimate.Block{{N: p.n, Count: p.trials}}
}

// Left implements the decider: it returns the trials of the present size.
func (p *Pilot) Left() []estimate.Block {
	if p.n == 0 {
		return nil
	}
	return []estimate.Block{{N: p.n, Count: p.trials - p.known}}
}

// Add implements the decider.
func (p *Pilot) Add(n int64, _ int, _ estimate.Outcome) { p.count(n) }

// Lost implements the decider.
func (p *Pilot) Lost(n int64, _ int, _ string) { p.count(n) }

// Infeasible implements the decider: smaller sizes are not tried.
func (p *Pilot) Infeasible(n int64, _ string) {
	if n == p.n {
		p.least = n + 1
		p.sizes = slices.DeleteFunc(p.sizes, func(m int64) bool { return m < n })
		p.next()
	}
}

// Done implements the decider.
func (p *Pilot) Done() bool { return p.n == 0 }

// Result implements the decider.
func (*Pilot) Result() estimate.Result { return estimate.Result{Status: estimate.StatusUndecided} }

// count counts a trial, and advances to the next size after the last one.
func (p *Pilot) count(n int64) {
	if n != p.n {
		return
	}
	seconds := p.seconds(n)
	if p.known++; p.known == 1 {
		p.first = seconds
	}
	switch {
	case p.known == 1 && (p.trials == 1 || seconds >= slowTrial):
		p.costs = append(p.costs, Cost{n, 1, seconds})
	case p.known == p.trials:
		p.costs = append(p.costs, Cost{n, int64(p.trials - 1), seconds - p.first})
	default:
		return
	}
	p.next()
}

// Work predicts the work of a cell that is expected to read these blocks. It is 0 if the algorithm
// refused all sizes of the pilot.
func (p *Pilot) Work(c *trial.Cell, blocks []estimate.Block) Work {
	if len(p.costs) == 0 {
		return Work{}
	}
	var feasible []estimate.Block
	for _, b := range blocks {
		if c.Find == nil && b.N < p.least {
			continue
		}
		b.N = max(b.N, p.least)
		feasible = append(feasible, b)
	}
	return Fit(p.costs).Work(feasible)
}
