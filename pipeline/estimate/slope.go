package estimate

import "math"

// Line is a straight line y = Intercept + Slope x fitted by weighted least squares.
type Line struct {
	Intercept, Slope           float64
	InterceptError, SlopeError float64 // standard errors if those of the points are right and the line is too
	ChiSquare                  float64 // sum of squared residuals, each over its standard error
	Inflation                  float64 // sqrt(max(1, ChiSquare/(points-2))): factor for the standard errors where the points scatter more
}

// FitLine fits a line to at least two points with different x and standard errors > 0.
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
		sxx, sxy = sxx+float64(weight*(x[i]-mx)*(x[i]-mx)), sxy+float64(weight*(x[i]-mx)*(y[i]-my))
	}
	l := Line{Slope: sxy / sxx, SlopeError: math.Sqrt(1 / sxx), InterceptError: math.Sqrt(1/w + float64(mx*mx)/sxx), Inflation: 1}
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
