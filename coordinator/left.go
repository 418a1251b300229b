package coordinator

import (
	"cmp"
	"slices"
)

// workLeft predicts the trials that cells still read and the seconds of one slot that these take, within
// about a factor of two.
type workLeft struct{ trials, seconds float64 }

// workLeft predicts the rest of the cell. Trials of a cell without a measurement take average seconds.
func (c *cell) workLeft(average float64) (w workLeft) {
	cost := c.cost()
	if cost == (costLine{}) {
		cost.base = average
	}
	for _, b := range c.Left() {
		w.trials += float64(b.Count)
		w.seconds += float64(b.Count) * cost.at(b.N)
	}
	return w
}

// workLeft predicts the rest of all cells.
func (g *grid) workLeft(t *tally) (sum workLeft) {
	for _, c := range g.cells {
		if !c.done {
			w := c.workLeft(t.average())
			sum.trials, sum.seconds = sum.trials+w.trials, sum.seconds+w.seconds
		}
	}
	return sum
}

// average returns the mean seconds of a trial in this run; 0 before the first one.
func (t *tally) average() float64 { return t.seconds / float64(max(1, t.trials)) }

// Undecided is a cell that a budget left over, with the predicted work of deciding it.
type Undecided struct {
	Cell    string  `json:"cell"` // first digits of its key
	What    string  `json:"what"` // algorithm and problem, in words
	Trials  int64   `json:"trials"`
	Seconds float64 `json:"seconds"` // of one slot
}

// undecided lists the cells that are not done, the most expensive first.
func (g *grid) undecided(t *tally) (left []Undecided) {
	for _, c := range g.cells {
		if !c.done {
			w := c.workLeft(t.average())
			left = append(left, Undecided{
				Cell: c.Key.Short(), What: c.Words(), Trials: int64(w.trials), Seconds: w.seconds,
			})
		}
	}
	slices.SortStableFunc(left, func(a, b Undecided) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.Trials, a.Trials))
	})
	return left
}
