package estimate

import "math"

// A Line is a straight line y = Intercept + Slope x fitted by weighted least squares.
type Line struct {
	Intercept, Slope           float64
	InterceptError, SlopeError float64 // standard errors; valid if the points' errors and the line are right
	ChiSquare                  float64 // sum of squared residuals, each divided by its standard error

	// Inflation is sqrt(max(1, ChiSquare/(points-2))), a factor for the standard errors if the
	// points scatter more than these predict.
	Inflation float64
}

// FitLine fits a line to at least two points with different x and standard errors se > 0.
func FitLine(x, y, se []float64) Line {
	var w, wx, wy float64
	for i := range x {
		weight := 1 / (se[i] * se[i])
		w, wx, wy = w+weight, wx+float64(weight*x[i]), wy+float64(weight*y[i])
	}
	mx, my := wx/w, wy/w
	var sxx, sxy float64
	for i := range x {
		weight := 1 / (se[i] * se[i])
		sxx += float64(weight * (x[i] - mx) * (x[i] - mx))
		sxy += float64(weight * (x[i] - mx) * (y[i] - my))
	}
	l := Line{Slope: sxy / sxx, SlopeError: math.Sqrt(1 / sxx), Inflation: 1}
	l.InterceptError = math.Sqrt(1/w + float64(mx*mx)/sxx)
	l.Intercept = my - float64(l.Slope*mx)
	for i := range x {
		residual := (y[i] - l.Intercept - float64(l.Slope*x[i])) / se[i]
		l.ChiSquare += float64(residual * residual)
	}
	if len(x) > 2 {
		l.Inflation = math.Sqrt(max(1, l.ChiSquare/float64(len(x)-2)))
	}
	return l
}
