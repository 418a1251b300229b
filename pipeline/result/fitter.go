package result

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/task"
)

// Quantities to which a function is fitted.
const (
	byModel   = "n_model"
	byBracket = "bracket"
	byRegret  = "regret_mean"
)

// An observed holds the measured value at one place of a fit.
type observed struct {
	estimate.Observation // Y is NaN if there is nothing to fit
	theory               float64
	by                   string // quantity that Y measures
}

// A place is a cell, by its index in the plan, and in task online a number of rounds.
type place struct {
	cell   int
	rounds int64
}

// A fitter reads every place once, even if several fits use it.
type fitter struct {
	out      *Result
	games    map[place]*GameRow
	observed map[place]*observed
}

// addFits adds the fits that the sweep file requests. The tables have the rows of all cells, in
// the order of the plan.
func (r *Result) addFits(fits []plan.Fit) error {
	if len(fits) == 0 {
		return nil
	}
	f := &fitter{
		out:   r,
		games: map[place]*GameRow{}, observed: map[place]*observed{},
	}
	cell := 0
	for i := range r.Games {
		row := &r.Games[i]
		for r.Trials[cell].Cell != row.Cell {
			cell++
		}
		f.games[place{cell, row.Rounds}] = row
	}
	for _, fit := range fits {
		for _, group := range fit.Groups {
			for _, p := range group.Points {
				if err := f.observe(place{p.Cell, p.Rounds}); err != nil {
					return fmt.Errorf("fit: %w", err)
				}
			}
		}
	}
	for i, fit := range fits {
		for _, group := range fit.Groups {
			r.Fits = append(r.Fits, f.rows(i, fit, group)...)
		}
	}
	return nil
}

// observe reads a place unless an earlier fit has read it.
func (f *fitter) observe(p place) error {
	if f.observed[p] != nil {
		return nil
	}
	c := f.out.Trials[p.cell].Cell
	o := &observed{theory: math.NaN()}
	o.Y, o.Data = math.NaN(), c.DataKey
	f.observed[p] = o
	if c.Kind().Rounds() {
		return f.regret(o, p)
	}
	return f.sampleSize(o, p)
}

// sampleSize reads n* of a decided cell. If there is no n_model, n* is taken to be spread evenly
// over the bracket, in ln n.
func (f *fitter) sampleSize(o *observed, p place) error {
	row, consumed := &f.out.Table[p.cell], f.out.Trials[p.cell]
	if row.Status != estimate.StatusDecided {
		return nil
	}
	o.theory, o.Relative = row.Theory.Value, true
	if row.NModel == 0 {
		low, high := float64(row.NLow), float64(row.NHigh)
		o.Y, o.by, o.Error = math.Sqrt(low*high), byBracket, math.Log(high/low)/math.Sqrt(12)
		return nil
	}
	sets, err := successes(f.out.Ledger, consumed.Cell, consumed.Points)
	if err != nil {
		return err
	}
	points := make([]estimate.Point, len(sets))
	for i, set := range sets {
		size := consumed.Points[i]
		points[i] = estimate.Point{N: size.N, Consumed: int(size.Consumed), Spot: size.Spot}
		for _, word := range set {
			points[i].Successes += bits.OnesCount64(word)
		}
	}
	var effects []float64
	o.Y, o.by = row.NModel, byModel
	o.Error, effects = estimate.Effects(points, 1-row.Cell.Beta)
	for i, p := range points {
		if effects[i] != 0 {
			o.Parts = append(o.Parts, estimate.Repetitions{N: p.N, Count: p.Consumed, Success: sets[i], Effect: effects[i]})
		}
	}
	return nil
}

// regret reads the mean regret of a cell's games with a number of rounds.
func (f *fitter) regret(o *observed, p place) error {
	game := f.games[p]
	if game == nil || math.IsNaN(game.RegretMean) {
		return nil
	}
	consumed := Point{N: p.rounds, Consumed: game.Trials}
	values, err := metricValues(f.out.Ledger, game.Cell, []Point{consumed}, task.Regret)
	if err != nil {
		return err
	}
	o.Y, o.theory, o.by = game.RegretMean, game.Theory.Value, byRegret
	o.Parts = []estimate.Repetitions{{N: p.rounds, Count: int(game.Trials), Values: values[0]}}
	o.Error = o.Parts[0].MeanError()
	return nil
}

// rows returns a row for each term of a group.
func (f *fitter) rows(index int, fit plan.Fit, group plan.FitGroup) (rows []FitRow) {
	var x [][]float64
	var cells []*estimate.Observation
	var theory []float64
	by := map[string]int{}
	for _, p := range group.Points {
		seen := f.observed[place{p.Cell, p.Rounds}]
		if math.IsNaN(seen.Y) {
			continue
		}
		by[seen.by]++
		x, cells, theory = append(x, p.X), append(cells, &seen.Observation), append(theory, seen.theory)
	}
	r := estimate.Regress(fit.Form, x, len(group.Terms), cells, theory, 0.05)
	var reasons []string
	if missing := len(group.Points) - len(cells); missing > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d cells are left out, being undecided or out of range",
			missing, len(group.Points)))
	}
	if r.Reason != "" {
		reasons = append(reasons, r.Reason)
	}
	if by[byBracket] > 0 && by[byModel] > 0 {
		reasons = append(reasons, fmt.Sprintf("the middle of the bracket replaces n_model in %d of %d cells",
			by[byBracket], len(cells)))
	}
	for k, term := range group.Terms {
		row := FitRow{
			Fit: index, Group: group.Words, Algorithm: group.Algorithm, Model: fit.Form.Name, Term: fit.Terms[term],
			Cells: len(cells), Y: fittedQuantities(by), Coefficient: r.Coefficients[k], Constant: r.Constant,
			Claimed: math.NaN(), ClaimedSource: fit.Source, ChiSquare: r.ChiSquare, Freedom: max(0, r.Freedom), PValue: r.PValue,
			Inflation: r.Inflation, Reason: strings.Join(reasons, "; "),
		}
		if len(fit.Claimed) > 0 {
			row.Claimed = fit.Claimed[term]
			row.Verdict = r.Verdict(k, row.Claimed)
		}
		rows = append(rows, row)
	}
	return rows
}

// fittedQuantities names the fitted quantities.
func fittedQuantities(by map[string]int) string {
	var names []string
	for _, name := range []string{byModel, byBracket, byRegret} {
		if by[name] > 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}
