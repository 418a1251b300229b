package result

import (
	"fmt"
	"math"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// resamples is the number of bootstrap resamples of the repetitions for the standard error of a
// slope.
const resamples = 200

// Quantities to which a slope is fitted.
const (
	byModel   = "n_model"
	byBracket = "bracket"
	byRegret  = "regret_mean"
)

// An observed holds the measured value at one place of a fit, and the trials behind it.
type observed struct {
	y, theory float64 // y is NaN if there is nothing to fit
	by        string  // quantity that y measures
	trials    estimate.Repeated
	again     []float64 // values of y on resampled repetitions
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
	list     []*observed // places with a value of y, in the order of use
}

// addFits adds the slopes that the sweep file requests. The tables have the rows of all cells, in
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
					return fmt.Errorf("fit slopes: %w", err)
				}
			}
		}
	}
	f.resample()
	for i, fit := range fits {
		for _, group := range fit.Groups {
			r.Fits = append(r.Fits, f.row(i, fit, group))
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
	o := &observed{y: math.NaN(), theory: math.NaN()}
	o.trials.Data, o.trials.Own = c.DataKey, c.NoiseKey
	f.observed[p] = o
	var err error
	if c.Kind().Rounds() {
		err = f.regret(o, p)
	} else {
		err = f.sampleSize(o, p)
	}
	if !math.IsNaN(o.y) {
		f.list = append(f.list, o)
	}
	return err
}

// sampleSize reads n* of a decided cell.
func (f *fitter) sampleSize(o *observed, p place) error {
	row, consumed := &f.out.Table[p.cell], f.out.Trials[p.cell]
	if row.Status != estimate.StatusDecided {
		return nil
	}
	o.theory = row.Theory.Value
	if row.NModel == 0 {
		o.y, o.by = math.Sqrt(float64(row.NLow)*float64(row.NHigh)), byBracket
		o.trials.Low, o.trials.High = row.NLow, row.NHigh
		return nil
	}
	o.y, o.by, o.trials.Target = row.NModel, byModel, 1-row.Cell.Beta
	sets, err := successes(f.out.Ledger, consumed.Cell, consumed.Points)
	for i, set := range sets {
		size := consumed.Points[i]
		if size.Spot {
			continue
		}
		o.trials.Sizes = append(o.trials.Sizes, estimate.Repetitions{N: size.N, Count: int(size.Consumed), Success: set})
	}
	return err
}

// regret reads the mean regret of a cell's games with a number of rounds.
func (f *fitter) regret(o *observed, p place) error {
	game := f.games[p]
	if game == nil || math.IsNaN(game.RegretMean) {
		return nil
	}
	o.y, o.theory, o.by = game.RegretMean, game.Theory.Value, byRegret
	consumed := Point{N: p.rounds, Consumed: game.Trials}
	values, err := metricValues(f.out.Ledger, game.Cell, []Point{consumed}, task.Regret)
	if err == nil {
		o.trials.Sizes = []estimate.Repetitions{{N: p.rounds, Count: int(game.Trials), Values: values[0]}}
	}
	return err
}

// resample resamples the repetitions, jointly for places that share data.
func (f *fitter) resample() {
	trials := make([]estimate.Repeated, len(f.list))
	for i, o := range f.list {
		trials[i] = o.trials
	}
	again := estimate.Resample(trials, resamples, func(key [32]byte, n int64, resample int) (hi, lo uint64) {
		return trial.Seed(key, trial.Resamples, uint64(n), uint32(resample))
	})
	for i, o := range f.list {
		o.again = again[i]
	}
}

func (f *fitter) row(index int, fit plan.Fit, group plan.FitGroup) FitRow {
	row := FitRow{
		Fit: index, Group: group.Words, Algorithm: group.Algorithm, X: fit.X, Scale: fit.Scale.Name,
		Claimed: fit.Exponent, ClaimedSource: fit.Source,
	}
	var o estimate.Observations
	by := map[string]int{}
	for _, p := range group.Points {
		seen := f.observed[place{p.Cell, p.Rounds}]
		if math.IsNaN(seen.y) {
			continue
		}
		by[seen.by]++
		o.X, o.Y = append(o.X, p.X), append(o.Y, seen.y)
		o.Theory, o.Resamples = append(o.Theory, seen.theory), append(o.Resamples, seen.again)
	}
	t := estimate.FitTrend(o, fit.Scale, 0.05)
	row.Cells, row.Resamples = len(o.X), t.Resamples
	row.Slope, row.Error, row.Low, row.High = t.Slope, t.Error, t.Low, t.High
	row.Intercept, row.Theory = t.Intercept, t.Theory
	row.ChiSquare, row.Inflation, row.Line = t.ChiSquare, t.Inflation, t.Line
	if fit.Exponent != nil {
		row.Verdict = t.Verdict(*fit.Exponent)
	}
	row.Y = fittedQuantities(by)
	var reasons []string
	if missing := len(group.Points) - len(o.X); missing > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d cells are left out, being undecided or out of range",
			missing, len(group.Points)))
	}
	if t.Reason != "" {
		reasons = append(reasons, t.Reason)
	}
	if by[byBracket] > 0 && by[byModel] > 0 {
		reasons = append(reasons, fmt.Sprintf("the middle of the bracket replaces n_model in %d of %d cells",
			by[byBracket], len(o.X)))
	}
	row.Reason = strings.Join(reasons, "; ")
	return row
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
