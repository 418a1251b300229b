package result

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A FitRow is the estimate for one term of a function that is fitted to n*, or to the mean regret;
// see [Columns]. NaN and infinite numbers are written as null.
type FitRow struct {
	Fit       int // index in the sweep file's fits
	Group     string
	Algorithm string
	Model     string
	Term      string
	Cells     int
	Y         string // n_model, bracket, n_model and bracket, or regret_mean
	estimate.Coefficient
	Constant      float64
	Claimed       float64 // NaN: no claim
	ClaimedSource string
	Verdict       string // verdict on the claim
	ChiSquare     float64
	Freedom       int
	PValue        float64
	Inflation     float64
	Reason        string
}

// successes reads the trials of a cell that entered the result. It returns, for each point, the set
// of the repetitions that succeeded: bit r%64 of word r/64.
func successes(l *ledger.Ledger, c *trial.Cell, points []Point) (sets [][]uint64, err error) {
	for t, err := range eachPoint(l, c, points) {
		if err != nil {
			return nil, fmt.Errorf("read successes: %w", err)
		}
		set := make([]uint64, (len(t.status)+63)/64)
		for rep := range t.status {
			if t.success(rep) {
				set[rep/64] |= 1 << (rep % 64)
			}
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// metricValues reads a metric of the trials of a cell that entered the result. It returns, for each
// point, its values by repetition; NaN if a trial has none.
func metricValues(l *ledger.Ledger, c *trial.Cell, points []Point, metric string) (values [][]float64, err error) {
	for t, err := range eachPoint(l, c, points) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", metric, err)
		}
		values = append(values, t.column(metric))
	}
	return values, nil
}
