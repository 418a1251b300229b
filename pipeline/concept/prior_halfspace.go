package concept

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// angleSteps is the number of halvings after which an angle is known well enough, to 1e-13.
const angleSteps = 44

// CapPrior returns the probability that a uniform normal of dim dimensions lies within the largest
// angle to a given one at which the error of the given one is allowed. errorAt is that error at an
// angle of at most pi/2, which never falls; at pi/2, where it is 1/2, everything is allowed if that
// is.
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

// CapMass returns the share of the unit sphere of dim dimensions, at least 2, within an angle of at
// most pi/2 to a given point.
func CapMass(dim int, angle float64) float64 {
	sine := math.Sin(angle)
	return mathext.RegIncBeta(float64(dim-1)/2, 0.5, float64(sine*sine)) / 2
}

// BeyondPlane returns the probability that a uniform unit vector of dim dimensions, at least 1, has
// a first coordinate below -c, c at least 0.
func BeyondPlane(dim int, c float64) float64 {
	switch {
	case c >= 1:
		return 0
	case dim == 1:
		return 0.5
	}
	return mathext.RegIncBeta(float64(dim-1)/2, 0.5, (1-c)*(1+c)) / 2
}
