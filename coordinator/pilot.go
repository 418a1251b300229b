package coordinator

import (
	"context"
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A Prediction estimates the trials and time of a sweep, within about a factor of two.
type Prediction struct {
	Cells   []CellPrediction // in the order of the plan
	Trials  float64          // in the table
	Seconds float64          // of one slot
	Time    float64          // seconds on the slots that were asked for

	Pilot       int64     // number of trials that were run for this
	Failures    []Failure // of the pilot: the first of each kind
	Interrupted bool
}

// A CellPrediction is a cell's part of a Prediction.
type CellPrediction struct {
	Cell    string  // first digits of its key
	What    string  // algorithm and problem, in words
	Trivial bool    // nothing is run, because a learner without data succeeds
	Trials  float64 // in the table; 0: trivial, or the algorithm refuses its sample sizes
	Seconds float64 // of one slot
}

// busyShare is the usual share of a slot's time that goes into trials.
const busyShare = 0.85

// Predict runs a pilot for each algorithm and problem of the folder's plan through queue, workers and plugins:
// 16 trials at two sample sizes. It predicts each cell's seconds per trial by a line through these, and its
// trials by its decider. The folder is of no use afterwards.
func Predict(ctx context.Context, c Config, slots int) (*Prediction, error) {
	c.Cache = nil // the cost of a trial is to be measured
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	var cells []*trial.Cell
	var left [][]estimate.Block // that each cell is expected to read
	for _, c := range r.grid.cells {
		cells, left = append(cells, c.Cell.Cell), append(left, c.Left())
	}
	pilots := r.grid.startPilots()
	if err = r.recover(); err == nil {
		err = r.coordinate(ctx, r.work)
	}
	if err != nil && !ended(ctx, err) {
		return nil, err
	}
	out := &Prediction{Pilot: r.tally.trials, Failures: r.tally.listFailures(), Interrupted: ctx.Err() != nil}
	for i, own := range cells {
		p := CellPrediction{Cell: own.Key.Short(), What: r.grid.cells[i].Words(), Trivial: pilots[i] == nil}
		if !p.Trivial {
			p.Trials, p.Seconds = pilots[i].predict(own, left[i])
		}
		out.Cells = append(out.Cells, p)
		out.Trials, out.Seconds = out.Trials+p.Trials, out.Seconds+p.Seconds
	}
	out.Time = out.Seconds / (busyShare * float64(max(1, slots)))
	return out, nil
}

// A pilotRun is the decider of a cell that measures the cost of trials at two sample sizes.
type pilotRun struct {
	cell   *cell
	sizes  []int64 // that may be tried next, ascending
	search bool    // the second size lies after a third of the sizes, near a typical n*; else it is the last one
	trials int     // at each size
	least  int64   // first sample size that is not refused
	costs  []sizeCost

	n     int64   // size that is tried now; 0: done
	known int     // trials of it that have ended
	first float64 // seconds of the first of them
}

// slowTrial is the time in seconds from which one trial at a size is enough. Faster trials are measured without
// the first one, which may pay for the start of a process.
const slowTrial = 1

// pilotKey identifies cells that share a pilot.
type pilotKey struct {
	algorithm, params string
	problem           trial.Key
	adversary         trial.Key
	queries           int
}

// startPilots replaces the deciders of the cells. It returns the pilot of each cell; nil where nothing is run.
func (g *grid) startPilots() (pilots []*pilotRun) {
	shared := map[pilotKey]*pilotRun{}
	for _, c := range g.cells {
		var p *pilotRun
		if _, nothing := c.Decider.(estimate.Trivial); !nothing {
			key := pilotKey{c.As, fmt.Sprint(c.Params), c.DataKey, c.AdversaryKey, c.Queries}
			if p = shared[key]; p == nil {
				p = newPilot(c)
				shared[key] = p
			} else {
				c.Cell = decision.Of(c.Cell.Cell, estimate.Trivial(""))
			}
		}
		pilots = append(pilots, p)
	}
	return pilots
}

// newPilot turns a cell into one that only runs a pilot.
func newPilot(c *cell) *pilotRun {
	p := &pilotRun{cell: c, trials: pilot, sizes: slices.Sorted(slices.Values(c.N))}
	if c.Find != nil {
		p.search = true
		for n := c.Find.From; n <= c.Find.To; n *= 2 {
			p.sizes = append(p.sizes, n)
		}
	} else if c.Rung == nil {
		p.trials = min(pilot, c.Trials)
	}
	tried := *c.Cell.Cell
	tried.Find, tried.Rung, tried.N, tried.Trials = nil, nil, slices.Clone(p.sizes), p.trials
	c.Cell = decision.Of(&tried, p)
	p.next()
	return p
}

// next goes on to the next size, or ends the pilot.
func (p *pilotRun) next() {
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

func (p *pilotRun) Needs() []int64 {
	if p.n == 0 || p.known > 0 {
		return nil
	}
	return []int64{p.n}
}

func (p *pilotRun) Want() []estimate.Block {
	switch {
	case p.n == 0:
		return nil
	case p.known == 0:
		return []estimate.Block{{N: p.n, Count: 1}}
	}
	return []estimate.Block{{N: p.n, Count: p.trials}}
}

// Left returns the trials of the present size.
func (p *pilotRun) Left() []estimate.Block {
	if p.n == 0 {
		return nil
	}
	return []estimate.Block{{N: p.n, Count: p.trials - p.known}}
}

func (p *pilotRun) Add(n int64, _ int, _ estimate.Outcome) { p.count(n) }
func (p *pilotRun) Lost(n int64, _ int, _ string)          { p.count(n) }

func (p *pilotRun) Infeasible(n int64, _ string) {
	if n == p.n {
		p.least = n + 1
		p.sizes = slices.DeleteFunc(p.sizes, func(m int64) bool { return m < n })
		p.next()
	}
}

func (p *pilotRun) Done() bool            { return p.n == 0 }
func (*pilotRun) Result() estimate.Result { return estimate.Result{Status: estimate.StatusUndecided} }

// count counts a trial, and goes on to the next size after the last one.
func (p *pilotRun) count(n int64) {
	if n != p.n {
		return
	}
	seconds := p.cell.size(n).seconds
	if p.known++; p.known == 1 {
		p.first = seconds
	}
	switch {
	case p.known == 1 && (p.trials == 1 || seconds >= slowTrial):
		p.costs = append(p.costs, sizeCost{n, 1, seconds})
	case p.known == p.trials:
		p.costs = append(p.costs, sizeCost{n, int64(p.trials - 1), seconds - p.first})
	default:
		return
	}
	p.next()
}

// predict predicts the trials of a cell that is expected to read these blocks, and the seconds of one slot
// that they take. Both are 0 if the algorithm refused all sizes of the pilot.
func (p *pilotRun) predict(c *trial.Cell, blocks []estimate.Block) (trials, seconds float64) {
	if len(p.costs) == 0 || p.cell.Refused != "" {
		return 0, 0
	}
	line := fitCosts(p.costs)
	for _, b := range blocks {
		if c.Find == nil && b.N < p.least {
			continue
		}
		trials += float64(b.Count)
		seconds += float64(b.Count) * line.at(max(b.N, p.least))
	}
	return trials, seconds
}
