package adversary

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
)

// edge returns a function that draws points near the edge of the trial's target: exactly on a
// hyperplane, and up to width away on whole numbers. If the target has no edge, it draws from the
// distribution.
func (g *game) edge(width uint64) func(r *rand.Rand, x []float64) {
	switch target := g.distribution.Target().(type) {
	case *distribution.Plane:
		return target.Draw
	case *concept.Box:
		return boxEdge(target, float64(concept.Side(g.class)-1), width)
	}
	return func(r *rand.Rand, x []float64) { g.distribution.Draw(r, x, make([]float64, 1)) }
}

// boxEdge returns a function that draws points of the box and moves one coordinate next to an
// edge of the box that is not an edge of the domain 0..top: at most width to either side of the
// lowest or above the highest number inside. If no number is inside, it draws from the domain.
func boxEdge(b *concept.Box, top float64, width uint64) func(r *rand.Rand, x []float64) {
	type side struct {
		coordinate int
		value      float64
	}
	var sides []side
	for j := range b.Low {
		if b.Low[j] > 0 {
			sides = append(sides, side{j, b.Low[j]})
		}
		if b.High[j] < top {
			sides = append(sides, side{j, b.High[j]})
		}
	}
	return func(r *rand.Rand, x []float64) {
		for j := range x {
			x[j] = within(r, b.Low[j], b.High[j], top)
		}
		if len(sides) == 0 {
			return
		}
		s := sides[r.IntN(len(sides))]
		x[s.coordinate] = min(max(s.value+float64(r.Uint64N(2*width+1))-float64(width), 0), top)
	}
}

// within draws a whole number from low..high. If there is none, as in the box of a target that is
// -1 everywhere, it draws from 0..top.
func within(r *rand.Rand, low, high, top float64) float64 {
	if high < low {
		low, high = 0, top
	}
	return low + float64(r.Uint64N(uint64(high-low)+1))
}
