package result

import (
	"cmp"
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// WrongDirections describes the ladders and lists along which success runs against its expected
// direction, one line each. For a search for n*, the status shows it instead.
func (r *Result) WrongDirections() (lines []string) {
	told := map[*trial.Ladder]bool{}
	for _, row := range r.Table {
		c := row.Cell
		switch {
		case !row.Falls || c.Find != nil || c.Rung != nil && told[c.Rung.Ladder]:
		case c.Rung == nil:
			lines = append(lines, fmt.Sprintf("n: %s (cell %s): %s", c.Description(), c.Key.Short(), row.Reason))
		default:
			told[c.Rung.Ladder] = true
			at := fmt.Sprintf(" at n = %d", c.N[0])
			if c.Rung.OverRounds() {
				at = ""
			}
			lines = append(lines, fmt.Sprintf("search: %s%s: %s", c.As, at, row.Reason))
		}
	}
	return lines
}

// found returns the result of the search over a rung's ladder, for its row. If an alarm has changed
// the row's status to failed, the result is empty.
func found(c *decision.CellState, status string) Found {
	f := Found{Ladder: c.Group()[0].Key.Short(), Insufficient: math.NaN(), Sufficient: math.NaN(),
		Proved: math.NaN()}
	if status != estimate.StatusFailed && status != estimate.StatusTrivial {
		f.Insufficient, f.Sufficient = c.Found()
	}
	return f
}

// addProved sets Found.Proved in the rows of ladders: the first value, in the order of the rungs, at
// which a proved bound is at most n; NaN if there is none.
func (r *Result) addProved() {
	first := map[*trial.Ladder]int64{} // positions, from 1
	for _, row := range r.Table {
		x, bound := row.Cell.Rung, row.Theory.Value
		if x != nil && bound > 0 && bound <= float64(row.Cell.N[0]) {
			first[x.Ladder] = min(cmp.Or(first[x.Ladder], x.Position), x.Position)
		}
	}
	for i := range r.Table {
		row := &r.Table[i]
		if x := row.Cell.Rung; x != nil && first[x.Ladder] > 0 {
			row.Found.Proved = x.Values[first[x.Ladder]-1]
		}
	}
}
