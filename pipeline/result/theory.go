package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unique"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// statedBounds returns the rows of the bounds of all cells.
func statedBounds(table []TableRow) (rows []BoundRow) {
	for i := range table {
		c, short := table[i].Cell, examplesShort(&table[i])
		for _, b := range c.Bounds {
			rows = append(rows, BoundRow{
				Cell: c, Name: b.GetName(), Value: b.GetValue(), Source: b.GetSource(), With: b.GetWith(),
				Standing: c.Standing(b), Order: b.GetOrder(), Fails: b.GetFails(),
				Contradicted: trial.Contradicts(short, b),
			})
		}
	}
	return rows
}

// examplesShort returns the largest number of examples that a row shows insufficient; 0: none. It
// is 0 for games, because they have rounds instead of examples.
func examplesShort(row *TableRow) int64 {
	if row.Cell.Kind().Rounds() {
		return 0
	}
	return row.NLow
}

// setSizeBounds sets the theory fields of a row of the table.
func setSizeBounds(row *TableRow) {
	c := row.Cell
	b, why := c.Bounds.Least()
	row.Theory = theoryOf(c, b)
	row.Theory.Missing = why
	if b := c.Bounds.Printed(); b != nil {
		row.PaperN, row.PaperSource = b.GetValue(), sourceOf(b)
	}
	var refuted []string
	for _, b := range c.Bounds.Contradicted(examplesShort(row)) {
		refuted = append(refuted, fmt.Sprintf("%d examples are insufficient, and by %s (%s) %v suffice", row.NLow,
			b.GetName(), c.Standing(b), b.GetValue()))
	}
	row.Theory.Contradicts = strings.Join(refuted, "; ")
}

// theoryOf returns the Theory of a bound without Contradicts; b may be nil.
func theoryOf(c *trial.Cell, b *pluginv1.Bound) Theory {
	if b == nil {
		return Theory{Value: math.Inf(1)}
	}
	return Theory{Value: b.GetValue(), Source: sourceOf(b), Standing: c.Standing(b)}
}

// sourceOf returns the name and source of a bound. Equal strings share memory.
func sourceOf(b *pluginv1.Bound) string {
	return unique.Make(b.GetName() + ": " + b.GetSource()).Value()
}

// setRegretBounds sets the theory fields of a row of task online. Value is the mean of the bounds
// that the algorithm has reported for each sequence, and Source is that of the first bound that
// holds. If the algorithm has reported none, the least bound that is stated in a unit takes their
// place.
func setRegretBounds(row *GameRow) {
	c, reported := row.Cell, row.Theory.Value
	row.Theory = Theory{Value: math.NaN()}
	for _, b := range c.Bounds {
		switch {
		case !b.GetProved() || row.Theory.Source != "":
		case !trial.IsGuaranteed(b):
			row.Theory.Missing = cmp.Or(row.Theory.Missing, b.GetName()+": "+b.GetFails())
		case math.IsNaN(reported) && b.GetUnit() != "" && row.Rounds != slices.Max(c.N):
			row.Theory.Missing = fmt.Sprintf("%s: stated for %d rounds, and not reported of every sequence", b.GetName(),
				slices.Max(c.N))
		case math.IsNaN(reported):
			row.Theory.Missing = fmt.Sprintf("%s: not reported of every sequence", b.GetName())
		case row.isTrivial(reported):
			row.Theory.Missing = fmt.Sprintf("%s: %s", b.GetName(), trivialRegret)
		default:
			row.Theory = theoryOf(c, b)
			row.Theory.Value = reported
		}
	}
	if math.IsNaN(reported) {
		setStatedRegret(row)
	}
	b := c.Bounds.Printed()
	if b != nil && math.IsNaN(row.PaperRegret) {
		row.PaperRegret = statedRegret(row, b)
	}
	if b != nil && !math.IsNaN(row.PaperRegret) {
		row.PaperSource = sourceOf(b)
	} else {
		row.PaperRegret = math.NaN()
	}
}

// isTrivial reports whether no game can exceed a bound on the regret: a learner loses at most every round.
func (r *GameRow) isTrivial(bound float64) bool { return bound >= float64(r.Rounds)-r.BestLoss }

const trivialRegret = "it states no less than the number of rounds minus best_loss, which no learner can exceed"

// setStatedRegret sets the least regret that a valid bound states for a row, if there is one, and
// by how much the games exceed it.
func setStatedRegret(row *GameRow) {
	for _, b := range row.Cell.Bounds {
		value := statedRegret(row, b)
		if !trial.IsGuaranteed(b) || math.IsNaN(value) || row.Theory.Value <= value {
			continue
		}
		if row.isTrivial(value) {
			row.Theory.Missing = fmt.Sprintf("%s: %s", b.GetName(), trivialRegret)
			continue
		}
		row.Theory = theoryOf(row.Cell, b)
		row.Theory.Value = value
		row.ExcessMean, row.ExcessDeviation = row.RegretMean-value, row.RegretDeviation
		if b.GetUnit() == theory.Mistakes {
			row.ExcessDeviation = row.LossDeviation // the excess is the loss minus a constant
		}
	}
}

// statedRegret returns the regret that a bound states for a row. It is NaN if the bound has no
// unit, is not finite, or applies to another number of rounds, because bounds are computed for the
// largest number. A bound on mistakes implies one on the regret: subtract the best loss of the
// played sequences.
func statedRegret(row *GameRow, b *pluginv1.Bound) float64 {
	switch {
	case b.GetUnit() == "" || math.IsInf(b.GetValue(), 1) || row.Rounds != slices.Max(row.Cell.N):
		return math.NaN()
	case b.GetUnit() == theory.Mistakes:
		return b.GetValue() - row.BestLoss
	}
	return b.GetValue()
}

// refuteRegrets finds the rows of task online that refute their bound: those for which the mean of
// regret minus bound is above 0, with the confidence of all rows of the table together (Student). A
// regret counts mistakes, so the standard deviation is taken as at least half a mistake: a few
// equal games do not predict the next one. If a search has chosen the number of games after
// examining some, that interval does not hold, and the row refutes nothing.
func (r *Result) refuteRegrets() {
	rows := 0
	for _, x := range r.Trials {
		if x.Cell.Kind().Rounds() && x.Cell.Rung == nil {
			rows += len(x.Cell.N)
		}
	}
	for i := range r.Games {
		g := &r.Games[i]
		if g.Theory.Source == "" || g.Cell.Rung != nil {
			continue
		}
		level := (1 - estimate.ListConfidence) / float64(rows)
		low, _ := estimate.MeanInterval(g.ExcessMean, max(0.5, g.ExcessDeviation), g.played(), 2*level)
		if low > 0 {
			g.Theory.Contradicts = fmt.Sprintf("the mean regret %.4g is more than the %.4g of %s (%s)", g.RegretMean,
				g.Theory.Value, g.Theory.Source, g.Theory.Standing)
		}
	}
}

// Refuted returns the bounds that rows of the result refute, and their distinct standings.
func (r *Result) Refuted() (lines, standings []string) {
	note := func(c *trial.Cell, t *Theory, where string) {
		if t.Contradicts != "" {
			lines = append(lines, fmt.Sprintf("%s (cell %s%s): %s", c.As, c.Key.Short(), where, t.Contradicts))
			standings = append(standings, t.Standing)
		}
	}
	for i := range r.Table {
		note(r.Table[i].Cell, &r.Table[i].Theory, "")
	}
	for i := range r.Games {
		g := &r.Games[i]
		note(g.Cell, &g.Theory, fmt.Sprintf(", %d rounds", g.Rounds))
	}
	slices.Sort(standings)
	return lines, slices.Compact(standings)
}
