package prior

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// margins is the number of nodes of the quadrature over the distribution of margins.
const margins = 48

// evenSuccess returns the success without data for halfspaces of dim dimensions with points
// uniform around the normal, given their margin. marginAt is the quantile function of the margin.
func evenSuccess(dim int, marginAt func(v float64) float64, ok concept.Allowed) float64 {
	switch {
	case dim == 1 || ok(0.5):
		return concept.CapPrior(dim, nil, ok)
	case dim == 2:
		return concept.CapMass(dim, planarAngle(marginAt, ok))
	}
	return concept.CapPrior(dim, evenError(dim, marginAt), ok)
}

// evenError returns the error of a normal, in three dimensions or more, as a function of its
// angle a to the target's normal u. Let m = y<u,x> be the margin; the part of yx that is
// orthogonal to u is sqrt(1-m^2) times a uniform unit vector g. Let w be the direction of the
// normal's part orthogonal to u; the normal errs if <g,w> < -m cot(a)/sqrt(1-m^2).
func evenError(dim int, marginAt func(v float64) float64) func(angle float64) float64 {
	nodes, weights := make([]float64, margins), make([]float64, margins)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	slopes := make([]float64, margins)
	for i, v := range nodes {
		slopes[i] = slope(marginAt(v))
	}
	return func(angle float64) float64 {
		sum := 0.0
		for i, s := range slopes {
			sum += float64(weights[i] * concept.BeyondPlane(dim-1, s/math.Tan(angle)))
		}
		return sum
	}
}

// slope returns m/sqrt(1-m^2).
func slope(m float64) float64 { return m / math.Sqrt((1-m)*(1+m)) }

// planarAngle returns the largest angle in the plane with an allowed error. There g is one of two
// unit vectors, so that half of the points with slope below tan(a) are mislabeled, and the angle
// corresponds to a quantile of the margins. marginAt is monotone.
func planarAngle(marginAt func(v float64) float64, ok concept.Allowed) float64 {
	allowed, _ := numeric.Bisect(0, 0.5, ok)
	v := 2 * allowed
	if marginAt(0.25) > marginAt(0.75) {
		v = 1 - v
	}
	return math.Atan(slope(marginAt(v)))
}
