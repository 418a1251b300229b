package result

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// FitRow is the slope of n*, or of the mean regret, against a quantity that a sweep varies; see
// Columns. Numbers that are NaN or infinite are written as null.
type FitRow struct {
	Fit           int // index in the sweep file's fits
	Group         string
	Algorithm     string
	X, Scale      string
	Cells         int
	Y             string // n_model, bracket, n_model and bracket, or regret_mean
	Slope, Error  float64
	Low, High     float64
	Intercept     float64
	Theory        float64
	Claimed       *float64 // nil: nothing is claimed
	ClaimedSource string
	Verdict       string // on the claim
	Line          string // how the line fits
	ChiSquare     float64
	Inflation     float64
	Resamples     int
	Reason        string
}

// Successes reads the trials of a cell that entered the result, and returns, for each point, the
// set of the repetitions that succeeded: bit r%64 of word r/64.
func Successes(l *ledger.Ledger, c *trial.Cell, points []Point) ([][]uint64, error) {
	all, err := gather(l, c, points)
	if err != nil {
		return nil, fmt.Errorf("read successes: %w", err)
	}
	sets := make([][]uint64, len(all))
	for i, t := range all {
		sets[i] = make([]uint64, (len(t.status)+63)/64)
		for rep, status := range t.status {
			if Success(status, t.error[rep], c.Above, c.Alpha) {
				sets[i][rep/64] |= 1 << (rep % 64)
			}
		}
	}
	return sets, nil
}

// Values reads a metric of the trials of a cell that entered the result, and returns, for each
// point, its values by repetition: NaN where a trial has none.
func Values(l *ledger.Ledger, c *trial.Cell, points []Point, metric string) ([][]float64, error) {
	all, err := gather(l, c, points)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", metric, err)
	}
	values := make([][]float64, len(all))
	for i, t := range all {
		if values[i] = t.values[metric]; values[i] != nil {
			continue
		}
		values[i] = make([]float64, len(t.status))
		for rep := range values[i] {
			values[i][rep] = math.NaN()
		}
	}
	return values, nil
}
