// Package forecast predicts the run time of trials, within about a factor of two: a line in the
// sample size, fitted to measured run times. The predictions do not affect which trials are run.
//
// Start at [Fit]. A [Pilot] measures run times before a sweep.
package forecast

import "github.com/shatterlab/shatter/pipeline/estimate"

// A Cost holds the measured run time of the trials of a sample size.
type Cost struct {
	N       int64
	Trials  int64
	Seconds float64 // sum over the trials
}

// A Line predicts the seconds of a trial at n: Base + Slope*n. Neither is negative. The zero value
// represents no measurement.
type Line struct{ Base, Slope float64 }

// At returns the predicted seconds of a trial at n.
func (l Line) At(n int64) float64 { return l.Base + l.Slope*float64(n) }

// A Work is a predicted amount of work.
type Work struct{ Trials, Seconds float64 }

// Plus returns the sum of two amounts.
func (w Work) Plus(v Work) Work { return Work{w.Trials + v.Trials, w.Seconds + v.Seconds} }

// Work predicts the work of blocks of trials.
func (l Line) Work(blocks []estimate.Block) (w Work) {
	for _, b := range blocks {
		w.Trials += float64(b.Count)
		w.Seconds += float64(b.Count) * l.At(b.N)
	}
	return w
}

// Fit returns the line with the least relative squared error per trial. For one sample size the
// predicted time is proportional to n.
func Fit(costs []Cost) Line {
	const least = 1e-9 // seconds of a trial that was too short to be measured
	var w, x, y, xx, xy float64
	for _, c := range costs {
		n, seconds := float64(c.N), max(least, c.Seconds/float64(c.Trials))
		weight := float64(c.Trials) / (seconds * seconds)
		w += weight
		x += weight * n
		y += weight * seconds
		xx += weight * n * n
		xy += weight * n * seconds
	}
	d := w*xx - x*x
	switch base, slope := (xx*y-x*xy)/d, (w*xy-x*y)/d; {
	case len(costs) == 0:
		return Line{}
	case len(costs) == 1 || d <= 0 || base < 0:
		return Line{Slope: xy / xx}
	case slope < 0:
		return Line{Base: y / w}
	default:
		return Line{base, slope}
	}
}
