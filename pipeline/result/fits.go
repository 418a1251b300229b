package result

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// FitRow is one slope of n*, or of the mean regret, against what a sweep varies; see schemas.FitColumns. Numbers that are NaN or
// infinite are written as null.
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
	ChiSquare     float64
	Inflation     float64
	Resamples     int
	Reason        string
}

func (r *FitRow) value(column string) any {
	switch column {
	case "fit":
		return int64(r.Fit)
	case "group":
		return some(r.Group)
	case "algorithm":
		return some(r.Algorithm)
	case "x":
		return r.X
	case "scale":
		return r.Scale
	case "cells":
		return int64(r.Cells)
	case "y":
		return some(r.Y)
	case "slope":
		return sheet.Clean(sheet.Finite(r.Slope))
	case "slope_se":
		return sheet.Clean(sheet.Finite(r.Error))
	case "slope_low":
		return sheet.Clean(sheet.Finite(r.Low))
	case "slope_high":
		return sheet.Clean(sheet.Finite(r.High))
	case "intercept":
		return sheet.Clean(sheet.Finite(r.Intercept))
	case "theory_slope":
		return sheet.Clean(sheet.Finite(r.Theory))
	case "claimed":
		if r.Claimed == nil {
			return nil
		}
		return sheet.Clean(*r.Claimed)
	case "claimed_source":
		return some(r.ClaimedSource)
	case "chi_square":
		return sheet.Clean(sheet.Finite(r.ChiSquare))
	case "inflation":
		return sheet.Clean(sheet.Finite(r.Inflation))
	case "resamples":
		return int64(r.Resamples)
	case "reason":
		return some(r.Reason)
	}
	panic("ledger: fits has no column " + column)
}

// Successes reads the trials of a cell that entered the result, and gives for each point the set of the repetitions that succeeded:
// bit r%64 of word r/64.
func Successes(l *ledger.Ledger, c *Cell, points []Point) ([][]uint64, error) {
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

// Values reads a metric of the trials of a cell that entered the result, for each point by repetition: NaN where a trial has none.
func Values(l *ledger.Ledger, c *Cell, points []Point, metric string) ([][]float64, error) {
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
