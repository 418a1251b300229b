package coordinator

import (
	"cmp"
	"slices"

	"github.com/shatterlab/shatter/coordinator/forecast"
)

// costs returns the costs of the trials that this run has timed, by sample size.
func (c *cell) costs() (costs []forecast.Cost) {
	for _, s := range c.sizes {
		if s.trials > 0 {
			costs = append(costs, forecast.Cost{N: s.n, Trials: s.trials, Seconds: s.seconds})
		}
	}
	return costs
}

// workDone returns the work of a cell. It counts trials of earlier runs and from the cache like
// those that this run has timed, and is zero if there are none.
func (c *cell) workDone() forecast.Work {
	trials, seconds := 0.0, 0.0
	for _, x := range c.costs() {
		trials, seconds = trials+float64(x.Trials), seconds+x.Seconds
	}
	if trials == 0 {
		return forecast.Work{}
	}
	return forecast.Work{Trials: float64(c.trials), Seconds: seconds / trials * float64(c.trials)}
}

// workLeft predicts the remaining work of the cell. Without a measurement, a trial is assumed to
// take average seconds.
func (c *cell) workLeft(average float64) forecast.Work {
	costs := c.costs()
	line := forecast.Fit(costs)
	if len(costs) == 0 {
		line.Base = average
	}
	return line.Work(c.Left())
}

// minDecided is the number of decided cells of an algorithm whose mean work predicts that of its
// cells without trials.
const minDecided = 5

// workLeft predicts the remaining work of each cell; zero for decided ones.
func (g *grid) workLeft(t *tally) []forecast.Work {
	sums, decided := map[string]forecast.Work{}, map[string]float64{} // keys: names of algorithms
	for _, c := range g.cells {
		if !c.done {
			continue
		}
		if work := c.workDone(); work.Trials > 0 {
			sums[c.As] = sums[c.As].Plus(work)
			decided[c.As]++
		}
	}
	left := make([]forecast.Work, len(g.cells))
	for i, c := range g.cells {
		switch sum, cells := sums[c.As], decided[c.As]; {
		case c.done:
		case c.trials == 0 && cells >= minDecided:
			left[i] = forecast.Work{Trials: sum.Trials / cells, Seconds: sum.Seconds / cells}
		default:
			left[i] = c.workLeft(t.average())
		}
	}
	return left
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
	work := g.workLeft(t)
	for i, c := range g.cells {
		if w := work[i]; !c.done {
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
