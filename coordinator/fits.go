package coordinator

import (
	"fmt"
	"math"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// resamples is how often the repetitions are drawn again for the standard error of a slope.
const resamples = 200

// What a slope is fitted to.
const (
	byModel   = "n_model"
	byBracket = "bracket"
	byRegret  = "regret_mean"
)

// observed is one place of a fit: what was measured there, and the trials behind it.
type observed struct {
	y, theory float64 // y is NaN where there is nothing to fit
	by        string
	trials    estimate.Repeated
	again     []float64
}

// fitter reads every place once, however many fits it is in.
type fitter struct {
	*run
	out   *result.Result
	games map[at]*result.GameRow
	known map[at]*observed
	list  []*observed // in the order of use
}

// at is a cell, and in task online a number of rounds.
type at struct {
	cell   int
	rounds int64
}

// addFits adds the slopes that the sweep file asks for. The rows of out stand in the order of the cells.
func (r *run) addFits(out *result.Result) error {
	fits := r.Folder.Plan.Fits
	if len(fits) == 0 {
		return nil
	}
	f := &fitter{run: r, out: out, games: map[at]*result.GameRow{}, known: map[at]*observed{}}
	for i := range out.Games {
		g := &out.Games[i]
		f.games[at{r.byKey[g.Cell.Key].index, g.Rounds}] = g
	}
	for _, fit := range fits {
		for _, group := range fit.Groups {
			for _, p := range group.Points {
				if err := f.observe(at{p.Cell, p.Rounds}); err != nil {
					return fmt.Errorf("fit slopes: %w", err)
				}
			}
		}
	}
	f.resample()
	for i, fit := range fits {
		for _, group := range fit.Groups {
			out.Fits = append(out.Fits, f.row(i, fit, group))
		}
	}
	return nil
}

// observe reads a place that no fit had before.
func (f *fitter) observe(a at) error {
	if f.known[a] != nil {
		return nil
	}
	c := f.cells[a.cell]
	o := &observed{y: math.NaN(), theory: math.NaN()}
	o.trials.Data, o.trials.Own = c.DataKey, c.NoiseKey
	f.known[a] = o
	var err error
	if c.Online() {
		err = f.regret(o, a)
	} else {
		err = f.sampleSize(o, a)
	}
	if !math.IsNaN(o.y) {
		f.list = append(f.list, o)
	}
	return err
}

// sampleSize is n* of a decided cell.
func (f *fitter) sampleSize(o *observed, a at) error {
	row, consumed := &f.out.Table[a.cell], f.out.Trials[a.cell]
	if row.Status != estimate.StatusDecided {
		return nil
	}
	o.theory = row.TheoryN
	if row.NModel == 0 {
		o.y, o.by = math.Sqrt(float64(row.NLow)*float64(row.NHigh)), byBracket
		o.trials.Low, o.trials.High = row.NLow, row.NHigh
		return nil
	}
	o.y, o.by, o.trials.Target = row.NModel, byModel, 1-f.cells[a.cell].Beta
	sets, err := result.Successes(f.ledger, consumed.Cell, consumed.Points)
	for i, set := range sets {
		p := consumed.Points[i]
		o.trials.Sizes = append(o.trials.Sizes, estimate.Repetitions{N: p.N, Count: int(p.Consumed), Success: set})
	}
	return err
}

// regret is the mean regret of a cell's games of some number of rounds.
func (f *fitter) regret(o *observed, a at) error {
	game := f.games[a]
	if game == nil || math.IsNaN(game.RegretMean) {
		return nil
	}
	o.y, o.theory, o.by = game.RegretMean, game.TheoryRegret, byRegret
	consumed := result.Point{N: a.rounds, Consumed: game.Trials}
	values, err := result.Values(f.ledger, game.Cell, []result.Point{consumed}, schemas.Regret)
	if err == nil {
		o.trials.Sizes = []estimate.Repetitions{{N: a.rounds, Count: int(game.Trials), Values: values[0]}}
	}
	return err
}

// resample draws the repetitions again, once for all that share data.
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

// row fits one group.
func (f *fitter) row(index int, fit plan.Fit, group plan.FitGroup) result.FitRow {
	row := result.FitRow{Fit: index, Group: group.Words, Algorithm: group.Algorithm, X: fit.X, Scale: fit.Scale, Claimed: fit.Exponent, ClaimedSource: fit.Source}
	var o estimate.Observations
	by := map[string]int{}
	for _, p := range group.Points {
		place := f.known[at{p.Cell, p.Rounds}]
		if math.IsNaN(place.y) {
			continue
		}
		by[place.by]++
		o.X, o.Y, o.Theory, o.Resamples = append(o.X, p.X), append(o.Y, place.y), append(o.Theory, place.theory), append(o.Resamples, place.again)
	}
	t := estimate.FitTrend(o, fit.Scale, 0.05)
	row.Cells, row.Resamples = len(o.X), t.Resamples
	row.Slope, row.Error, row.Low, row.High, row.Intercept, row.Theory = t.Slope, t.Error, t.Low, t.High, t.Intercept, t.Theory
	row.ChiSquare, row.Inflation = t.ChiSquare, t.Inflation
	row.Y = whatFitted(by)
	var reasons []string
	if missing := len(group.Points) - len(o.X); missing > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d cells are left out, being undecided or out of range", missing, len(group.Points)))
	}
	if t.Reason != "" {
		reasons = append(reasons, t.Reason)
	}
	if by[byBracket] > 0 && by[byModel] > 0 {
		reasons = append(reasons, fmt.Sprintf("the middle of the bracket stands for n_model in %d of %d cells", by[byBracket], len(o.X)))
	}
	row.Reason = strings.Join(reasons, "; ")
	return row
}

// whatFitted names what was fitted.
func whatFitted(by map[string]int) string {
	var names []string
	for _, name := range []string{byModel, byBracket, byRegret} {
		if by[name] > 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}
