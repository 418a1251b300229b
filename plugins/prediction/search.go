package prediction

import (
	"math"
	"slices"
)

// searcher finds the best rectangle for a sample in any dimension, by iterative deepening on the
// number of errors. If the hull of all points that must be inside contains a point that should not
// be inside, the rectangle either contains that point or cuts it off on one of 2p sides. Each of
// these choices costs another error, so a sample whose best rectangle makes e errors takes at most
// about (2p+1)^e steps.
type searcher struct {
	inexact int // number of searches that ran out of steps

	sample block
	banned [][]float64
	limit  int // number of errors allowed
	steps  int // number of steps left
	found  box
}

// maxSteps limits the steps of one search, and so its time to tenths of a second.
const maxSteps = 1 << 16

// best finds a rectangle with the fewest errors on the sample among those that cover must and
// contain no banned point. It writes the hull of must and of the rectangle's +1 examples to out. If
// the steps run out it writes must.
func (s *searcher) best(out box, sample block, must box, banned [][]float64) {
	s.sample, s.banned, s.steps = sample, banned, maxSteps
	everywhere := make(box, len(must))
	for j := range everywhere {
		everywhere[j] = span{math.Inf(-1), math.Inf(1)}
	}
	for s.limit = 0; s.steps > 0; s.limit++ {
		if s.within(everywhere, must) {
			shrink(out, s.found, must, sample)
			return
		}
	}
	s.inexact++
	copy(out, must)
}

// within searches for a rectangle inside bounds that covers must and makes at most limit errors,
// and reports whether there is one. If so, it sets found to a box that covers it.
func (s *searcher) within(bounds, must box) bool {
	if s.steps--; s.steps < 0 {
		return false
	}
	hull, errors := s.hull(bounds, must)
	if errors > s.limit {
		return false
	}
	x, isBanned := s.offender(hull, must)
	if x == nil {
		s.found = hull
		return true
	}
	for j, v := range x {
		if v < must[j].lo && s.within(bounds.cut(j, span{v + 1, bounds[j].hi}), must) ||
			v > must[j].hi && s.within(bounds.cut(j, span{bounds[j].lo, v - 1}), must) {
			return true
		}
	}
	wider := slices.Clone(must)
	wider.add(x)
	return !isBanned && !slices.ContainsFunc(s.banned, wider.holds) && s.within(bounds, wider)
}

// cut returns b with s as its span on axis j.
func (b box) cut(j int, s span) box {
	c := slices.Clone(b)
	c[j] = s
	return c
}

// hull returns the hull of must and the +1 examples inside bounds, and the number of errors of
// every rectangle inside bounds that covers must.
func (s *searcher) hull(bounds, must box) (hull box, errors int) {
	hull = slices.Clone(must)
	for i, y := range s.sample.y {
		switch x := s.example(i); {
		case y < 0:
			if must.holds(x) {
				errors++
			}
		case bounds.holds(x):
			hull.add(x)
		default:
			errors++
		}
	}
	return hull, errors
}

// offender returns a point of hull that should not be inside: a banned one, or else a -1 example
// outside must. It returns nil if there is none.
func (s *searcher) offender(hull, must box) (x []float64, isBanned bool) {
	for _, z := range s.banned {
		if hull.holds(z) {
			return z, true
		}
	}
	for i, y := range s.sample.y {
		if x := s.example(i); y < 0 && hull.holds(x) && !must.holds(x) {
			return x, false
		}
	}
	return nil, false
}

// example returns the point of example i.
func (s *searcher) example(i int) []float64 {
	dim := len(s.sample.x) / len(s.sample.y)
	return s.sample.x[i*dim : (i+1)*dim]
}
