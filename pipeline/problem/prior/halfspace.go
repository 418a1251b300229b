package prior

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// margins is the number of margins, all equally likely, that stand for their law.
const margins = 512

// evenSuccess returns the success without data for halfspaces of dim dimensions whose points are
// uniform around the normal, given their margin; marginAt returns the margin that a uniform number
// stands for.
func evenSuccess(dim int, marginAt func(v float64) float64, ok concept.Allowed) float64 {
	return concept.CapPrior(dim, evenError(dim, marginAt), ok)
}

// evenError returns the error of a normal as a function of its angle a to the target's, u. Where m =
// y<u,x> is the margin, the part of yx that is orthogonal to u is sqrt(1-m^2) times a uniform unit
// vector g. The normal, whose part orthogonal to u has the direction w, errs where <g,w> <
// -m cot(a)/sqrt(1-m^2).
func evenError(dim int, marginAt func(v float64) float64) func(angle float64) float64 {
	if dim == 2 {
		return func(angle float64) float64 { return planarError(1/math.Tan(angle), marginAt) }
	}
	var slopes []float64 // m/sqrt(1-m^2)
	for i := range margins {
		slopes = append(slopes, slope(marginAt((float64(i)+0.5)/margins)))
	}
	return func(angle float64) float64 {
		sum := 0.0
		for _, s := range slopes {
			sum += concept.BeyondPlane(dim-1, s/math.Tan(angle))
		}
		return sum / margins
	}
}

// slope returns m/sqrt(1-m^2).
func slope(m float64) float64 { return m / math.Sqrt((1-m)*(1+m)) }

// planarError is evenError in the plane, where g is one of two unit vectors, so that half of the
// points err whose margin is small enough. marginAt rises, falls or stays the same.
func planarError(cot float64, marginAt func(v float64) float64) float64 {
	safe := func(v float64) bool { return slope(marginAt(v))*cot >= 1 }
	const least, most = 1e-9, 1 - 1e-9
	first, last := safe(least), safe(most)
	switch {
	case first && last:
		return 0
	case !first && !last:
		return 0.5
	case first: // margins fall: those above the border err
		_, border := numeric.Bisect(least, most, safe)
		return (1 - border) / 2
	}
	border, _ := numeric.Bisect(least, most, func(v float64) bool { return !safe(v) })
	return border / 2
}
