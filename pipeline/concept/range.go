package concept

import "math"

// Range labels the points Lo..Hi of an ordered domain +1 and all others -1. Every hypothesis of the
// ordered classes is a Range.
type Range struct{ Lo, Hi float64 }

// Threshold returns the function that is +1 at the points v >= t.
func Threshold(t float64) Range { return Range{t, math.Inf(1)} }

// Point returns the function that is +1 at the point a alone.
func Point(a float64) Range { return Range{a, a} }

// Interval returns the function that is +1 at the points a..b, and nowhere if a > b.
func Interval(a, b float64) Range { return Range{a, b} }

// Empty returns the function that is +1 nowhere.
func Empty() Range { return Range{math.Inf(1), math.Inf(-1)} }

// Label returns the label of the point v.
func (r Range) Label(v float64) float64 { return math.Float64frombits(plus | r.outside(v)) }

// Labels implements Hypothesis.
func (r Range) Labels(x, out []float64) {
	for i, v := range x[:len(out)] {
		out[i] = r.Label(v)
	}
}

// Labels as bits, because points come in random order and branches on them would be mispredicted.
const (
	plus     = 0x3ff << 52 // +1
	negative = 1 << 63     // the sign
)

// outside returns negative for the points outside of r, and 0 for those inside.
func (r Range) outside(v float64) uint64 {
	below, above := uint64(negative), uint64(negative)
	if v >= r.Lo {
		below = 0
	}
	if v <= r.Hi {
		above = 0
	}
	return below | above
}
