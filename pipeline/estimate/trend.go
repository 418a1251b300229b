package estimate

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Scale is a choice of logarithms for the x and y of a trend.
type Scale struct {
	Name       string // value in the sweep file
	LogX, LogY bool
	Doc        string
}

// The scales of a trend.
var (
	LinearScale  = Scale{"linear", false, false, "y on x"}
	LogScale     = Scale{"log", true, false, "y on ln x, for theory of the form a + b ln x"}
	SemilogScale = Scale{"semilog", false, true, "ln y on x: with each step of x, y grows by the factor e^slope"}
	LogLogScale  = Scale{"log-log", true, true, "ln y on ln x: the slope is an exponent"}
)

// Scales returns all scales, in display order.
func Scales() []Scale { return []Scale{LinearScale, LogScale, SemilogScale, LogLogScale} }

// ScaleNamed returns the scale with a name, and reports whether it exists.
func ScaleNamed(name string) (Scale, bool) {
	i := slices.IndexFunc(Scales(), func(s Scale) bool { return s.Name == name })
	if i < 0 {
		return Scale{}, false
	}
	return Scales()[i], true
}

// Place converts x to the scale.
func (s Scale) Place(x float64) float64 { return lnIf(s.LogX, x) }

// Value converts y to the scale.
func (s Scale) Value(y float64) float64 { return lnIf(s.LogY, y) }

// At returns the y of a line of the scale at x.
func (s Scale) At(x, intercept, slope float64) float64 {
	y := intercept + float64(slope*s.Place(x))
	if s.LogY {
		return math.Exp(y)
	}
	return y
}

func lnIf(log bool, v float64) float64 {
	if log {
		return math.Log(v)
	}
	return v
}

// A Trend is the straight line through the estimates of several cells, y = Intercept + Slope x on
// its scale.
type Trend struct {
	Slope, Intercept float64 // NaN: none
	Error            float64 // standard error of the slope, by the bootstrap, times Inflation; NaN: none
	Low, High        float64 // confidence interval of the slope, by Error; NaN: none
	ChiSquare        float64 // sum of squared residuals, each divided by its standard error; NaN: none

	// Inflation is sqrt(max(1, ChiSquare/(cells-2))), or NaN if there is none. Above 1, the cells
	// scatter more than their trials explain, or the line is bent.
	Inflation float64

	// Line is [NotLinear] if cells on the line would have a ChiSquare this large with probability
	// below level, [Linear] if not, and empty without a ChiSquare. Cells that share data scatter
	// together, so that fewer lines than level are falsely NotLinear.
	Line string

	Theory    float64 // slope of the theory's values, with the same places and weights; NaN: none
	Resamples int     // number of resamples in which each cell had an estimate
	Reason    string  // missing results, with the reason

	level float64
}

// The values of Trend.Line.
const (
	Linear    = "linear"
	NotLinear = "not linear"
)

// Verdict compares the interval with a claimed slope. It is empty if there is no interval.
func (t Trend) Verdict(claimed float64) string {
	switch {
	case math.IsNaN(t.Low):
		return ""
	case t.Line == NotLinear:
		return "none: " + NotLinear
	case claimed < t.Low || claimed > t.High:
		return fmt.Sprintf("rejected at %.4g %%", 100*(1-t.level))
	}
	return "not rejected"
}

// Observations holds the cells of a trend. All slices have one element per cell.
type Observations struct {
	X, Y      []float64
	Theory    []float64   // NaN: none
	Resamples [][]float64 // estimates of each resample, see [Resample]; NaN: none
}

// FitTrend fits a trend by least squares, weighted with the inverse variances of the resamples.
// The standard error of the slope is the standard deviation of the slopes of the resamples under
// the same weights, which includes dependence between cells, times Trend.Inflation. level is the probability that the
// interval misses the slope if the line is right.
//
// Cells at two places have a slope without a standard error; cells at one place have none. If no
// cell scatters, because nothing is random, all cells have the same weight, and the standard
// error is that of the residuals.
func FitTrend(o Observations, scale Scale, level float64) Trend {
	nan := math.NaN()
	t := Trend{
		Slope: nan, Intercept: nan, Error: nan, Low: nan, High: nan,
		ChiSquare: nan, Inflation: nan, Theory: nan, level: level,
	}
	x, y := make([]float64, len(o.X)), make([]float64, len(o.X))
	for i := range o.X {
		if x[i], y[i] = scale.Place(o.X[i]), scale.Value(o.Y[i]); !isNumber(x[i]) || !isNumber(y[i]) {
			t.Reason = fmt.Sprintf("%.4g at %.4g has no place on the scale %s", o.Y[i], o.X[i], scale.Name)
			return t
		}
	}
	places := len(slices.Compact(slices.Sorted(slices.Values(x))))
	if places < 2 {
		t.Reason = "fewer than two places to fit through"
		return t
	}
	draws := complete(o.Resamples, scale)
	t.Resamples = len(draws)
	se, scatter := deviations(draws, len(x))
	line := FitLine(x, y, se)
	t.Slope, t.Intercept, t.Theory = line.Slope, line.Intercept, theorySlope(o, x, se, scale)
	switch {
	case places == 2:
		t.Reason = "two places: a slope without standard error"
	case t.Resamples < 2 || t.Resamples < len(o.Resamples[0])/2:
		t.Reason = fmt.Sprintf("no standard error: in only %d resamples each cell has an estimate", t.Resamples)
	case !scatter:
		freedom := float64(len(x) - 2)
		student := distuv.StudentsT{Sigma: 1, Nu: freedom}
		t.interval(line.SlopeError*math.Sqrt(line.ChiSquare/freedom), student.Quantile(1-level/2))
		t.Reason = "the repetitions do not scatter: the standard error is that of the residuals"
	default:
		slopes := make([]float64, len(draws))
		for i, drawn := range draws {
			slopes[i] = FitLine(x, drawn, se).Slope
		}
		t.ChiSquare, t.Inflation = line.ChiSquare, line.Inflation
		if t.Line = Linear; (distuv.ChiSquared{K: float64(len(x) - 2)}).Survival(t.ChiSquare) < level {
			t.Line = NotLinear
		}
		t.interval(deviation(slopes)*line.Inflation, mathext.NormalQuantile(1-level/2))
	}
	return t
}

// interval sets the standard error and an interval of the given number of errors to each side.
func (t *Trend) interval(se, errors float64) {
	half := float64(errors * se)
	t.Error, t.Low, t.High = se, t.Slope-half, t.Slope+half
}

func isNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// complete returns the resamples in which each cell has an estimate, on the scale: one row of
// cells per resample.
func complete(resamples [][]float64, scale Scale) (draws [][]float64) {
	for i := range resamples[0] {
		row := make([]float64, len(resamples))
		for cell := range resamples {
			row[cell] = scale.Value(resamples[cell][i])
		}
		if !slices.ContainsFunc(row, func(v float64) bool { return !isNumber(v) }) {
			draws = append(draws, row)
		}
	}
	return draws
}

// deviations returns the standard errors of the cells, which determine their weights, and whether
// any cell scatters. A cell without scatter (except rounding) gets the least error of the cells
// that scatter; if none does, all errors are 1.
func deviations(draws [][]float64, cells int) (se []float64, scatter bool) {
	const rounding = 1e-12
	se = make([]float64, cells)
	least := math.Inf(1)
	for i := range se {
		column := make([]float64, len(draws))
		largest := 0.0
		for j, row := range draws {
			column[j] = row[i]
			largest = max(largest, math.Abs(row[i]))
		}
		if se[i] = deviation(column); se[i] > rounding*largest {
			least = min(least, se[i])
		} else {
			se[i] = 0
		}
	}
	scatter = !math.IsInf(least, 1)
	for i := range se {
		switch {
		case !scatter:
			se[i] = 1
		case se[i] == 0:
			se[i] = least
		}
	}
	return se, scatter
}

// theorySlope returns the slope of the theory's values, or NaN if a cell has no finite value.
func theorySlope(o Observations, x, se []float64, scale Scale) float64 {
	y := make([]float64, len(x))
	for i := range y {
		if y[i] = scale.Value(o.Theory[i]); !isNumber(y[i]) {
			return math.NaN()
		}
	}
	return FitLine(x, y, se).Slope
}

// deviation returns the standard deviation of values, or NaN for fewer than two.
func deviation(values []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sum += float64((v - mean) * (v - mean))
	}
	return math.Sqrt(sum / float64(len(values)-1))
}
