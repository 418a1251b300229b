package concept

import (
	"fmt"
	"math"
)

// The kinds of hypotheses that a model can declare, and their numbers. A point has d numbers.
const (
	KindThreshold   = "threshold"   // t: +1 at the points x >= t
	KindPoint       = "point"       // a: +1 at a alone
	KindInterval    = "interval"    // a, b: +1 from a to b, both inside; nowhere if a > b
	KindRectangle   = "rectangle"   // the d lower ends, then the d upper ends: +1 between them, both inside
	KindStump       = "stump"       // axis, t, sign: the sign at the points with x[axis] >= t, its negation at the others
	KindParity      = "parity"      // d numbers, 0 or 1: +1 if an odd number of the bits that have a 1 here are 1
	KindConjunction = "conjunction" // d numbers: 1 for a literal, -1 for a negated one, 0 for none
	KindRow         = "row"         // i: row i of the class matrix, from 0
	KindHalfspace   = "halfspace"   // d weights w, then b: +1 where <w,x> + b >= 0
	KindConstant    = "constant"    // s: the sign s everywhere
)

// A declaredKind checks the numbers of a declaration and creates its hypothesis.
type declaredKind struct {
	numbers func(dim int) int            // number of numbers for points of dim numbers
	fits    func(s Spec, dim int) string // reason why points of s have no hypothesis of the kind; "" if they have
	make    func(s Spec, dim int, v []float64) (Hypothesis, error)
}

var declaredKinds = map[string]declaredKind{
	KindThreshold: {exactlyN(1), singleNumbers, func(_ Spec, _ int, v []float64) (Hypothesis, error) {
		return Threshold(v[0]), nil
	}},
	KindPoint: {exactlyN(1), singleNumbers, func(_ Spec, _ int, v []float64) (Hypothesis, error) {
		return Point(v[0]), nil
	}},
	KindInterval: {exactlyN(2), singleNumbers, func(_ Spec, _ int, v []float64) (Hypothesis, error) {
		return Interval(v[0], v[1]), nil
	}},
	KindRectangle: {twoEach, anyPoints, func(_ Spec, dim int, v []float64) (Hypothesis, error) {
		h := make(Rectangle, dim)
		for k := range h {
			h[k] = Range{v[k], v[dim+k]}
		}
		return h, nil
	}},
	KindStump: {exactlyN(3), anyPoints, func(_ Spec, dim int, v []float64) (Hypothesis, error) {
		switch {
		case v[0] != math.Trunc(v[0]) || v[0] < 0 || v[0] >= float64(dim):
			return nil, fmt.Errorf("axis %v: use a whole number from 0 to %d", v[0], dim-1)
		case v[2] != 1 && v[2] != -1:
			return nil, fmt.Errorf("sign %v: use -1 or +1", v[2])
		}
		return Stump{Dim: dim, Axis: int(v[0]), T: v[1], Above: v[2]}, nil
	}},
	KindParity: {oneEach, bitPoints, func(_ Spec, dim int, v []float64) (Hypothesis, error) {
		set, _, err := masks(v, 0, "0 or 1")
		return Parity{Dim: dim, Set: set}, err
	}},
	KindConjunction: {oneEach, bitPoints, func(_ Spec, dim int, v []float64) (Hypothesis, error) {
		ones, zeros, err := masks(v, -1, "1, -1 or 0")
		return Conjunction{Dim: dim, Ones: ones, Zeros: zeros}, err
	}},
	KindRow: {exactlyN(1), columnPoints, func(s Spec, _ int, v []float64) (Hypothesis, error) {
		rows := rowsIn(s)
		if v[0] != math.Trunc(v[0]) || v[0] < 0 || v[0] >= float64(rows) {
			return nil, fmt.Errorf("row %v: use a whole number from 0 to %d", v[0], rows-1)
		}
		return rowAt(s, uint64(v[0])), nil
	}},
	KindHalfspace: {oneEachAndOne, anyPoints, func(_ Spec, dim int, v []float64) (Hypothesis, error) {
		for i, w := range v {
			if math.IsInf(w, 0) {
				return nil, fmt.Errorf("number %d is %v: use finite numbers", i, w)
			}
		}
		return Linear{W: v[:dim:dim], B: v[dim]}, nil
	}},
	KindConstant: {exactlyN(1), anyPoints, func(_ Spec, dim int, v []float64) (Hypothesis, error) {
		if v[0] != 1 && v[0] != -1 {
			return nil, fmt.Errorf("sign %v: use -1 or +1", v[0])
		}
		return Constant{dim, v[0]}, nil
	}},
}

func exactlyN(n int) func(int) int { return func(int) int { return n } }

func oneEach(dim int) int       { return dim }
func oneEachAndOne(dim int) int { return dim + 1 }
func twoEach(dim int) int       { return 2 * dim }

// masks returns the set of the numbers that are 1 and the set of those that are -1. All must be
// whole numbers from least to 1.
func masks(v []float64, least float64, allowed string) (plus, minus uint64, err error) {
	for k, sign := range v {
		switch {
		case sign == 1:
			plus |= 1 << k
		case sign == -1 && least == -1:
			minus |= 1 << k
		case sign != 0:
			return 0, 0, fmt.Errorf("number %d is %v: use %s", k, sign, allowed)
		}
	}
	return plus, minus, nil
}

func anyPoints(Spec, int) string { return "" }

func singleNumbers(_ Spec, dim int) string {
	if dim != 1 {
		return fmt.Sprintf("its points are single numbers, and these have %d", dim)
	}
	return ""
}

func bitPoints(s Spec, dim int) string {
	if ShapeOf(s.Name) != Bits || dim > 64 {
		return fmt.Sprintf("its points are up to 64 bits, and those of %s are not", s.Name)
	}
	return ""
}

func columnPoints(s Spec, _ int) string {
	if ShapeOf(s.Name) != Column {
		return fmt.Sprintf("its points are columns of a matrix, and those of %s are not", s.Name)
	}
	return ""
}

// Declare returns the hypothesis of a kind with those numbers, as a function on the points of s,
// which have Width(s) numbers. The hypothesis need not belong to the class. It may retain
// numbers. The error names the invalid number.
func Declare(s Spec, kind string, numbers []float64) (Hypothesis, error) {
	k, ok := declaredKinds[kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind %.40q of hypothesis", kind)
	}
	dim := Width(s)
	if reason := k.fits(s, dim); reason != "" {
		return nil, fmt.Errorf("a %s: %s", kind, reason)
	}
	if want := k.numbers(dim); len(numbers) != want {
		return nil, fmt.Errorf("a %s has %d numbers, not %d", kind, want, len(numbers))
	}
	for i, v := range numbers {
		if math.IsNaN(v) {
			return nil, fmt.Errorf("a %s: number %d is NaN", kind, i)
		}
	}
	h, err := k.make(s, dim, numbers)
	if err != nil {
		return nil, fmt.Errorf("a %s: %w", kind, err)
	}
	return h, nil
}

// Disagreement returns the probability that h and the target differ at a uniform point of s. It
// returns false if there is no formula for the pair.
func Disagreement(s Spec, h Hypothesis, target Target) (float64, bool) {
	switch t := target.(type) {
	case *Box:
		a, ok := BoxOf(s, h)
		if !ok {
			return 0, false
		}
		// Counts of points are exact below 2^53, and so is an error given as a decimal fraction.
		side := float64(Side(s))
		if points := math.Pow(side, float64(len(t.Low))); points <= 1<<53 {
			return (a.common(a, 1) + t.common(t, 1) - 2*a.common(t, 1)) / points, true
		}
		return max(0, a.common(a, side)+t.common(t, side)-2*a.common(t, side)), true
	case *parityTarget:
		switch h := h.(type) {
		case Parity:
			if h.Set == t.Set {
				return 0, true
			}
			return 0.5, true
		case Constant:
			if t.Set == 0 && h.Value == -1 { // the empty parity is -1 everywhere
				return 0, true
			} else if t.Set == 0 {
				return 1, true
			}
			return 0.5, true
		}
	case *rowTarget:
		switch h := h.(type) {
		case Row:
			return t.differs(func(v int) byte { return h[v] }), true
		case Constant:
			label := byte('0')
			if h.Value > 0 {
				label = '1'
			}
			return t.differs(func(int) byte { return label }), true
		}
	}
	return 0, false
}

// BoxOf returns the box of the points of s that h labels +1. It returns false for hypotheses
// other than ranges, rectangles, stumps, conjunctions and constants. Points of s have whole
// numbers 0..Side(s)-1.
func BoxOf(s Spec, h Hypothesis) (*Box, bool) {
	b := wholeBox(Width(s), Side(s))
	switch h := h.(type) {
	case Range:
		b.limit(0, rounded(h))
	case Rectangle:
		for j, r := range h {
			b.limit(j, rounded(r))
		}
	case Stump:
		h.T = math.Ceil(h.T)
		b.cut(h)
	case Conjunction:
		b.require(h)
	case Constant:
		if h.Value < 0 {
			b.limit(0, Empty())
		}
	default:
		return nil, false
	}
	return b, true
}

// rounded returns the range of the whole numbers in r.
func rounded(r Range) Range { return Range{math.Ceil(r.Lo), math.Floor(r.Hi)} }

// common returns the number of points in the intersection of two boxes, divided by unit once per
// coordinate.
func (b *Box) common(o *Box, unit float64) float64 {
	p := 1.0
	for j := range b.Low {
		p *= max(0, min(b.High[j], o.High[j])-max(b.Low[j], o.Low[j])+1) / unit
	}
	return p
}
