package coordinator

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// ladder is the search over another number than n. It is one search for n* in which the positions of
// the number's values take the place of sample sizes: the first one is that at which success is
// least likely. The trials at a position are those of a cell of their own, its rung.
//
// The search's confidence rests on trials that are independent of each other. Those of different
// rungs are, though they have one n: see [trial.Cell.Sampled].
type ladder struct {
	*trial.Ladder
	search  *estimate.Search
	rungs   []*cell // by position, from 0 on
	refused string  // why the algorithm refuses a rung, after it was accepted without an n; "": it does not
}

// rung is the decider of a cell on a ladder.
type rung struct {
	ladder   *ladder
	position int64
	n        int64
}

// countTests returns the number of cells without rungs, and of ladders.
func countTests(cells []*trial.Cell) (tests int) {
	ladders := map[*trial.Ladder]bool{}
	for _, c := range cells {
		if c.Rung == nil {
			tests++
		} else {
			ladders[c.Rung.Ladder] = true
		}
	}
	return tests + len(ladders)
}

// ladderSearch returns the search over the positions of the cell's ladder, in a table of that many
// tests.
func ladderSearch(c *trial.Cell, tests int) estimate.Find {
	return estimate.Find{
		From: 1, To: int64(len(c.Rung.Values)), Within: 1, Gap: c.Rung.Within, Confidence: c.Rung.Confidence,
		Target: 1 - c.Beta, Cells: tests, MaxTrials: c.MaxTrials, Monotone: c.Rung.Monotone,
		Ends: true,
	}
}

// climb makes the cell a rung of its ladder among those that are known, or of a new one.
func (c *cell) climb(known map[*trial.Ladder]*ladder, tests int) error {
	of := c.Rung.Ladder
	l := known[of]
	if l == nil {
		l = &ladder{Ladder: of, rungs: make([]*cell, len(of.Values))}
		var err error
		if l.search, err = estimate.NewSearch(ladderSearch(c.Cell, tests)); err != nil {
			return err
		}
		l.search.Name(estimate.Words{Size: of.Words, Fall: of.Fall(), Remedy: remedy(of, c.Online())})
		known[of] = l
	}
	l.rungs[c.Rung.Position-1] = c
	c.ladder, c.decider = l, rung{l, c.Rung.Position, c.N[0]}
	return nil
}

// remedy says what to do where success goes against the direction of a ladder, of games or not.
func remedy(l *trial.Ladder, games bool) string {
	other, without := trial.Ladder{Rises: !l.Rises}, "find"
	if games {
		without = "find and goal"
	}
	return fmt.Sprintf("if it %s instead, write find: {axis: %s, success: %s}; if it does neither, list the values "+
		"without %s", other.Direction(), l.Axis, other.Direction(), without)
}

// wrongDirections returns the reasons of the ladders and lists of a result along which success goes
// against their direction, one each, with the name of the algorithm. Of searches for n* the status says
// it.
func wrongDirections(res *result.Result) (lines []string) {
	told := map[*trial.Ladder]bool{}
	for _, row := range res.Table {
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
			lines = append(lines, fmt.Sprintf("find: %s%s: %s", c.As, at, row.Reason))
		}
	}
	return lines
}

// skipTrivial has nothing searched where that would say nothing of data: a learner without data
// passes on the first rung, and so on all.
func (l *ladder) skipTrivial() {
	if first := l.rungs[0]; first.Trivial() {
		for _, c := range l.rungs {
			c.decider = trivial{first.WithoutData()}
		}
	}
}

// Done reports whether the ladder's search is.
func (r rung) Done() bool { return r.ladder.refused != "" || r.ladder.search.Done() }

// Needs returns the rung's n if the search needs its position.
func (r rung) Needs() []int64 {
	for _, position := range r.ladder.search.Needs() {
		if position == r.position {
			return []int64{r.n}
		}
	}
	return nil
}

func (r rung) Want() []estimate.Block { return r.own(r.ladder.search.Want()) }
func (r rung) Left() []estimate.Block { return r.own(r.ladder.search.Left()) }

// own returns the blocks that are of the rung.
func (r rung) own(blocks []estimate.Block) (own []estimate.Block) {
	for _, b := range blocks {
		if b.N == r.position {
			b.N = r.n
			own = append(own, b)
		}
	}
	return own
}

// Add gives the search an outcome of the rung.
func (r rung) Add(_ int64, rep int, o estimate.Outcome) { r.ladder.search.Add(r.position, rep, o) }

// Lost tells the search that a trial of the rung cannot be had.
func (r rung) Lost(_ int64, rep int, reason string) { r.ladder.search.Lost(r.position, rep, reason) }

// Infeasible tells the search that the algorithm refuses the rung's n.
func (r rung) Infeasible(_ int64, reason string) { r.ladder.search.Infeasible(r.position, reason) }

// Result returns what the search knows of the rung: whether its n is sufficient, and its trials.
func (r rung) Result() estimate.Result {
	of := r.ladder.search.Result()
	out := estimate.Result{Status: of.Status, Reason: of.Reason, Falls: of.Falls}
	if r.position <= of.Low {
		out.Low = r.n
	}
	if of.High != 0 && r.position >= of.High {
		out.High = r.n
	}
	for _, p := range of.Points {
		if p.N == r.position {
			p.N = r.n
			out.Points, out.Trials = append(out.Points, p), int64(p.Consumed)
		}
	}
	return out
}

// settle does for the rungs together what cell.settle does for the sizes of a cell.
func (l *ladder) settle() {
	for again := true; again && l.refused == "" && !l.search.Done(); {
		again = false
		var blamed *cell
		open := false
		for _, position := range l.search.Needs() { // ascending
			c := l.rungs[position-1]
			n := c.N[0]
			switch r, refused := c.refusals[n]; {
			case !refused:
				open = open || !c.size(n).answered
			case r.Kind == ledger.Invalid:
				blamed = c
			case !c.told[n]:
				c.told[n], again = true, true
				c.Infeasible(n, r.Message)
			}
		}
		if blamed != nil && !open && !again {
			l.refused = fmt.Sprintf("%s: %s", l.Words(blamed.Rung.Position), blamed.refusals[blamed.N[0]].Message)
			for _, c := range l.rungs {
				c.refused = l.refused
			}
		}
	}
}

// found returns what the search has found, for the row of each of its rungs. The status is that of
// the row: where an alarm has made it failed, nothing was found.
func (l *ladder) found(status string) result.Found {
	f := result.Found{Ladder: l.rungs[0].Key.Short(), Insufficient: math.NaN(), Sufficient: math.NaN()}
	if status == estimate.StatusFailed || status == estimate.StatusTrivial {
		return f
	}
	of := l.search.Result()
	if of.Low > 0 {
		f.Insufficient = l.Values[of.Low-1]
	}
	if of.High > 0 {
		f.Sufficient = l.Values[of.High-1]
	}
	return f
}

// proved returns the first value of a ladder, in the order of its rungs, at which a proved bound is at
// most n; NaN where there is none. The rows are those of its rungs.
func proved(l *trial.Ladder, rows []*result.TableRow) float64 {
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
func (t *tables) addProved() {
	rows := map[*trial.Ladder][]*result.TableRow{}
	for i := range t.out.Table {
		if row := &t.out.Table[i]; row.Cell.Rung != nil {
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
