package concept

import (
	"math/big"
	"math/bits"
	"math/rand/v2"
	"sort"
)

// Intervals names the class of the intervals of 0..Domain-1.
const Intervals = "intervals"

var intervalsDefinition = Definition{
	Name:        Intervals,
	Doc:         "+1 at the numbers from a to b, or nowhere",
	Shape:       Scalar,
	New:         newIntervals,
	VC:          exactVC,
	Littlestone: ofBoxes,
	Standard:    boxesEverywhere,
	Covers:      true,
	WholeDomain: boxesEverywhere,
	Targets:     intervalTargets,
	Examples:    []Spec{{Name: Intervals, Domain: 1024}},
}

var intervalTargets = Targets{
	Random:    func(s Spec, _ int) Target { return halfBox(1, s.Domain) },
	RandomDoc: "half of the numbers, rounded up, from a uniform a on",
	Prior:     intervalPrior,
	Weight: func(s Spec, _ int, i uint64) float64 {
		return halfWeight(intervalAt(s.Domain, i), s.Domain, halfSide(1, s.Domain))
	},
	Uniform: func(s Spec, size uint64) Target {
		return wholeBox(1, s.Domain).drawn(func(b *Box, r *rand.Rand) {
			h := intervalAt(s.Domain, r.Uint64N(size))
			b.Low[0], b.High[0] = h.Lo, h.Hi
		})
	},
	Middle:    func(s Spec) Hypothesis { return middleInterval(s.Domain) },
	MiddleDoc: "the interval [X/4, 3X/4-1]",
	Parse: func(s Spec, text string) (Hypothesis, error) {
		if text == Nowhere {
			return Empty(), nil
		}
		return parseInterval(text, s.Domain)
	},
	Write:    func(_ Spec, h Hypothesis) string { return writeInterval(h.(Range)) },
	Notation: "a..b with both ends inside it, such as 16..49, or nowhere",
}

// middleInterval returns the middle half of 0..side-1.
func middleInterval(side uint64) Range {
	return Interval(float64(side/4), float64(max(3*side/4, 1)-1))
}

// intervals is the class of the X(X+1)/2 intervals and of the empty one.
type intervals struct{ ordered }

func newIntervals(s Spec) (Class, error) {
	o, err := newOrdered(s, 2)
	if err != nil {
		return nil, err
	}
	x, one := new(big.Int).SetUint64(s.Domain), big.NewInt(1)
	o.size = new(big.Int).Add(x, one)
	o.size.Mul(o.size, x).Rsh(o.size, 1).Add(o.size, one)
	o.vc = 2
	return &intervals{o}, nil
}

// NewProfile implements Class.
func (c *intervals) NewProfile() (Profile, error) { return &intervalProfile{class: c}, nil }

// Member implements Finite. Up to X = 6074000999 every interval has a number. Larger domains have
// more than 2^64 intervals, of which the first 2^64 have one; NewMinimizer and NewProfile handle
// all intervals.
func (c *intervals) Member(i uint64) Hypothesis { return intervalAt(c.domain, i) }

// NewMinimizer implements Finite.
func (c *intervals) NewMinimizer(z []float64) (Minimizer, error) { return c.newMinimizer(z, c.walk) }

// walk compares the best interval that contains values with the first that contains none.
func (c *intervals) walk(m *rangeMinimizer) (Range, float64) {
	gain, i, j := leastRun(m.sums)
	free := missing(m.values, 0) // X if every point is a value: then only the empty interval contains none
	switch {
	case len(m.values) > 0 && (gain < 0 || (gain == 0 && m.start(i) < free)):
		return Interval(float64(m.start(i)), float64(m.values[j])), m.minus + gain
	case free < c.domain:
		return Interval(float64(free), float64(free)), m.minus
	}
	return Empty(), m.minus
}

// intervalAt returns number i of the intervals of 0..domain-1, ordered by left and then right
// end; the empty interval comes last.
func intervalAt(domain, i uint64) Range {
	a := uint64(sort.Search(int(domain), func(a int) bool {
		hi, lo := startingBelow(domain, uint64(a)+1)
		return hi > 0 || lo > i
	}))
	if a == domain {
		return Empty()
	}
	_, before := startingBelow(domain, a)
	return Interval(float64(a), float64(a+i-before))
}

// startingBelow returns the number of intervals with a left end below a, domain + ... + (domain - a
// + 1) = a (2 domain + 1 - a)/2, in two words. One of the two factors is even.
func startingBelow(domain, a uint64) (hi, lo uint64) {
	b := 2*domain + 1 - a
	if a%2 == 0 {
		a /= 2
	} else {
		b /= 2
	}
	return bits.Mul64(a, b)
}
