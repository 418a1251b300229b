package coordinator

import (
	"cmp"
	"slices"

	"github.com/shatterlab/shatter/coordinator/forecast"
)

// measured returns the trials of a cell that this run has timed, and their costs by sample size.
func (c *cell) measured() (sum forecast.Work, costs []forecast.Cost) {
	for _, s := range c.sizes {
		if s.trials > 0 {
			costs = append(costs, forecast.Cost{N: s.n, Trials: s.trials, Seconds: s.seconds})
			sum = sum.Plus(forecast.Work{Trials: float64(s.trials), Seconds: s.seconds})
		}
	}
	return sum, costs
}

// workLeft predicts the remaining work of the cell. Without a measurement, a trial is assumed to
// take average seconds.
func (c *cell) workLeft(average float64) forecast.Work {
	_, costs := c.measured()
	line := forecast.Fit(costs)
	if len(costs) == 0 {
		line.Base = average
	}
	return line.Work(c.Left())
}

// minDecided is the number of decided cells of an algorithm whose mean work predicts that of its
// cells without trials.
const minDecided = 5

// workLeft predicts the remaining work of all cells.
func (g *grid) workLeft(t *tally) (sum forecast.Work) {
	type done struct {
		cells float64
		forecast.Work
	}
	decided := map[string]*done{} // key: name of the algorithm
	for _, c := range g.cells {
		if work, _ := c.measured(); c.done && work.Trials > 0 {
			d := cmp.Or(decided[c.As], &done{})
			all := float64(c.trials) // some may come from an earlier run or the cache
			work = forecast.Work{Trials: all, Seconds: work.Seconds / work.Trials * all}
			d.cells, d.Work, decided[c.As] = d.cells+1, d.Plus(work), d
		}
	}
	for _, c := range g.cells {
		switch d := decided[c.As]; {
		case c.done:
		case c.trials == 0 && d != nil && d.cells >= minDecided:
			sum = sum.Plus(forecast.Work{Trials: d.Trials / d.cells, Seconds: d.Seconds / d.cells})
		default:
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
