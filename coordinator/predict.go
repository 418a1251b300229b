package coordinator

import (
	"context"
	"fmt"

	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A Prediction estimates the trials and time of a sweep, within about a factor of three.
type Prediction struct {
	Cells   []CellPrediction // predictions in the plan's order
	Trials  float64          // trials in the table
	Seconds float64          // time of one slot
	Time    float64          // time on the requested number of slots

	Pilot       int64     // number of trials of the pilot run
	Failures    []Failure // failures of the pilot run: the first of each kind
	Interrupted bool
}

// A CellPrediction is the part of a [Prediction] for one cell.
type CellPrediction struct {
	Cell    string  // first digits of its key
	What    string  // algorithm and problem, in words
	Trivial bool    // nothing is run, because a learner without data succeeds
	Trials  float64 // trials in the table; 0: trivial, or the algorithm refuses its sample sizes
	Seconds float64 // time of one slot
}

// busyShare is the usual share of a slot's time that is spent on trials.
const busyShare = 0.85

// Predict runs a pilot for each algorithm and problem of the folder's plan through queue, workers
// and plugins: 16 trials at two sample sizes. It fits a line through these to predict each cell's
// seconds per trial, and asks the cell's decider for the number of trials. The folder cannot be
// used afterwards.
func Predict(ctx context.Context, c Config, slots int) (*Prediction, error) {
	c.Cache = nil // the cost of a trial must be measured
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	var cells []*trial.Cell
	var left [][]estimate.Block // blocks that each cell is expected to read
	for _, c := range r.grid.cells {
		cells, left = append(cells, c.Cell), append(left, c.Left())
	}
	pilots := r.grid.startPilots()
	if err = r.loadLedger(); err == nil {
		err = r.coordinate(ctx, r.work)
	}
	if err != nil && !isCancellation(ctx, err) {
		return nil, err
	}
	out := &Prediction{Pilot: r.tally.trials, Failures: sortedValues(r.tally.failures), Interrupted: ctx.Err() != nil}
	for i, own := range cells {
		p := CellPrediction{Cell: own.Key.Short(), What: own.Description(), Trivial: pilots[i] == nil}
		if !p.Trivial && pilots[i].cell.Refused == "" {
			w := pilots[i].Work(own, left[i])
			p.Trials, p.Seconds = w.Trials, w.Seconds
		}
		out.Cells = append(out.Cells, p)
		out.Trials, out.Seconds = out.Trials+p.Trials, out.Seconds+p.Seconds
	}
	out.Time = out.Seconds / (busyShare * float64(max(1, slots)))
	return out, nil
}

// pilotKey identifies cells that share a pilot.
type pilotKey struct {
	algorithm, params string
	problem           trial.Key
	adversary         trial.Key
	queries           int
}

// A pilot is a [forecast.Pilot] and the cell whose trials it runs.
type pilot struct {
	*forecast.Pilot
	cell *cell
}

// startPilots replaces the deciders of the cells. It returns the pilot of each cell; nil if nothing
// is run.
func (g *grid) startPilots() (pilots []*pilot) {
	shared := map[pilotKey]*pilot{}
	for _, c := range g.cells {
		var p *pilot
		if _, nothing := c.Decider.(estimate.Trivial); !nothing {
			key := pilotKey{c.As, fmt.Sprint(c.Params), c.DataKey, c.AdversaryKey, c.Queries}
			if p = shared[key]; p == nil {
				p = &pilot{cell: c}
				measure, tried := forecast.NewPilot(c.Cell, func(n int64) float64 { return c.size(n).seconds })
				p.Pilot, c.CellState, shared[key] = measure, decision.Of(tried, measure), p
			} else {
				c.CellState = decision.Of(c.Cell, estimate.Trivial(""))
			}
		}
		pilots = append(pilots, p)
	}
	return pilots
}
