package result

import (
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
			lines = append(lines, fmt.Sprintf("n: %s (cell %s): %s", c.As, c.Key.Short(), row.Reason))
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
	f := Found{Ladder: c.Group()[0].Key.Short(), Insufficient: math.NaN(), Sufficient: math.NaN()}
	if status != estimate.StatusFailed && status != estimate.StatusTrivial {
		f.Insufficient, f.Sufficient = c.Found()
	}
	return f
}

// proved returns the first value of a ladder, in the order of its rungs, at which a proved bound is
// at most n; NaN if there is none. rows are the rows of its rungs.
func proved(l *trial.Ladder, rows []*TableRow) float64 {
	first := len(l.Values)
	for _, row := range rows {
		if b := row.Theory.Value; b > 0 && b <= float64(row.Cell.N[0]) {
			first = min(first, int(row.Cell.Rung.Position)-1)
		}
	}
	if first == len(l.Values) {
		return math.NaN()
	}
	return l.Values[first]
}

// addProved sets Found.Proved in the rows of ladders.
func (r *Result) addProved() {
	rows := map[*trial.Ladder][]*TableRow{}
	for i := range r.Table {
		if row := &r.Table[i]; row.Cell.Rung != nil {
			rows[row.Cell.Rung.Ladder] = append(rows[row.Cell.Rung.Ladder], row)
		}
	}
	for l, of := range rows {
		value := proved(l, of)
		for _, row := range of {
			row.Found.Proved = value
		}
	}
}
