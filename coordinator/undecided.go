package coordinator

import (
	"cmp"
	"slices"

	"github.com/shatterlab/shatter/coordinator/forecast"
)

// workLeft predicts the remaining work of the cell. Without a measurement, a trial is assumed to
// take average seconds.
func (c *cell) workLeft(average float64) forecast.Work {
	var costs []forecast.Cost
	for _, s := range c.sizes {
		if s.trials > 0 {
			costs = append(costs, forecast.Cost{N: s.n, Trials: s.trials, Seconds: s.seconds})
		}
	}
	line := forecast.Fit(costs)
	if len(costs) == 0 {
		line.Base = average
	}
	return line.Work(c.Left())
}

// workLeft predicts the remaining work of all cells.
func (g *grid) workLeft(t *tally) (sum forecast.Work) {
	for _, c := range g.cells {
		if !c.done {
			sum = sum.Plus(c.workLeft(t.average()))
		}
	}
	return sum
}

// average returns the mean seconds per trial in this run; 0 before the first trial.
func (t *tally) average() float64 { return t.seconds / float64(max(1, t.trials)) }

// An Undecided is a cell that a spent budget leaves undecided, with the predicted work of deciding
// it.
type Undecided struct {
	Cell    string  `json:"cell"` // first digits of its key
	What    string  `json:"what"` // algorithm and problem, in words
	Trials  int64   `json:"trials"`
	Seconds float64 `json:"seconds"` // time of one slot
}

// undecided lists the unfinished cells, the most expensive first.
func (g *grid) undecided(t *tally) (left []Undecided) {
	for _, c := range g.cells {
		if !c.done {
			w := c.workLeft(t.average())
			left = append(left, Undecided{
				Cell: c.Key.Short(), What: c.Description(), Trials: int64(w.Trials), Seconds: w.Seconds,
			})
		}
	}
	slices.SortStableFunc(left, func(a, b Undecided) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.Trials, a.Trials))
	})
	return left
}
