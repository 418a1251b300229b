package concept

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// angleSteps is the number of halvings that determine an angle to 1e-13.
const angleSteps = 44

// CapPrior returns the probability that a uniform normal of dim dimensions lies within an angle a
// of a given one, where a is the largest angle at which the error of the given normal is allowed.
// errorAt returns that error at an angle of at most pi/2 and is non-decreasing. At pi/2 the error
// is 1/2; if it is allowed, all angles are.
func CapPrior(dim int, errorAt func(angle float64) float64, ok Allowed) float64 {
	switch {
	case ok(0.5):
		return 1
	case dim == 1:
		return 0.5
	}
	low, high := 0.0, math.Pi/2
	for range angleSteps {
		if middle := (low + high) / 2; ok(errorAt(middle)) {
			low = middle
		} else {
			high = middle
		}
	}
	return CapMass(dim, low)
}

// CapMass returns the share of the unit sphere of dim dimensions, at least 2, within an angle of
// at most pi/2 of a given point.
func CapMass(dim int, angle float64) float64 {
	sine := math.Sin(angle)
	return mathext.RegIncBeta(float64(dim-1)/2, 0.5, float64(sine*sine)) / 2
}

// BeyondPlane returns the probability that the first coordinate of a uniform unit vector of dim
// dimensions, at least 1, is below -c, c at least 0.
func BeyondPlane(dim int, c float64) float64 {
	switch {
	case c >= 1:
		return 0
	case dim == 1:
		return 0.5
	}
	return mathext.RegIncBeta(float64(dim-1)/2, 0.5, (1-c)*(1+c)) / 2
}
