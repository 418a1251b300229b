package concept

import "math/rand/v2"

// axis holds the distinct values of a sample among the points 0..X-1, numbered 0..k-1 by size. An
// interval that contains at least one of them contains the values i to j, for some i <= j. The
// number of intervals that contain exactly these values is the number of choices of the left end
// times that of the right end:
//
//	left(i) = values[i] - values[i-1]   right(j) = values[j+1] - values[j]   with values[-1] = -1 and values[k] = X.
//
// The other intervals lie in the gaps between values: g(g+1)/2 in a gap of g points.
type axis struct {
	values []uint64 // ascending
	domain uint64   // X
}

// extend adds a value that is not below the previous ones, and reports whether it is new.
func (a *axis) extend(v uint64) bool {
	if k := len(a.values); k > 0 && a.values[k-1] == v {
		return false
	}
	a.values = append(a.values, v)
	return true
}

// left returns the number of left ends that make i the first value inside; i = k counts the
// points right of all values, plus one.
func (a *axis) left(i int) uint64 {
	end := a.domain
	if i < len(a.values) {
		end = a.values[i]
	}
	if i == 0 {
		return end + 1
	}
	return end - a.values[i-1]
}

// right returns the number of right ends that make j the last value inside.
func (a *axis) right(j int) uint64 {
	if j+1 < len(a.values) {
		return a.values[j+1] - a.values[j]
	}
	return a.domain - a.values[j]
}

// start returns the least left end that makes i the first value inside; i = k gives the point
// after all values.
func (a *axis) start(i int) uint64 {
	if i == 0 {
		return 0
	}
	return a.values[i-1] + 1
}

// around returns an interval that contains exactly the values i to j, drawn uniformly.
func (a *axis) around(i, j int, r *rand.Rand) Range {
	lo := a.values[i] - r.Uint64N(a.left(i))
	hi := a.values[j] + r.Uint64N(a.right(j))
	return Interval(float64(lo), float64(hi))
}

// gap returns the number of points between the values i-1 and i.
func (a *axis) gap(i int) uint64 { return a.left(i) - 1 }

// inGap returns the number of intervals in a gap of g points.
func inGap(g uint64) float64 { return float64(g) * (float64(g) + 1) / 2 }

// inGaps returns the number of intervals that contain no value.
func (a *axis) inGaps() (n float64) {
	for i := 0; i <= len(a.values); i++ {
		n += inGap(a.gap(i))
	}
	return n
}

// between returns an interval that contains no value: a uniform one, given u uniform in (0,
// inGaps). It returns false if u is larger.
func (a *axis) between(u float64, r *rand.Rand) (Range, bool) {
	for i := 0; i <= len(a.values); i++ {
		g := a.gap(i)
		if u -= inGap(g); u < 0 {
			return within(a.start(i), g, r), true
		}
	}
	return Range{}, false
}

// within returns one of the g(g+1)/2 intervals of the points start..start+g-1, drawn uniformly.
// Of the g(g+1) pairs (a, b) with a < g and b <= g, exactly two map to each interval [lo, hi]:
// (lo, hi+1) and (hi, lo).
func within(start, g uint64, r *rand.Rand) Range {
	a, b := r.Uint64N(g), r.Uint64N(g+1)
	if b > a {
		b--
	} else {
		a, b = b, a
	}
	return Interval(float64(start+a), float64(start+b))
}
