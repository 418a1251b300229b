package concept

import (
	"math"
	"math/bits"
)

// rangeMinimizer is the Minimizer of the ordered classes, with the walk over the values that the class gives it. O(n log n + m).
type rangeMinimizer struct {
	class *ordered
	term  anchors
	objective
	sweep
	walk func(*rangeMinimizer) (Range, float64)
}

func (o *ordered) newMinimizer(z []float64, walk func(*rangeMinimizer) (Range, float64)) (Minimizer, error) {
	points := lattice{o.name, o.domain, 1}
	if err := points.checkTerm(z); err != nil {
		return nil, err
	}
	term, err := newAnchors(z, 1, 0, o.domain)
	if err != nil {
		return nil, err
	}
	m := &rangeMinimizer{class: o, term: term, walk: walk}
	m.domain = o.domain
	return m, nil
}

// Minimize implements Minimizer.
func (m *rangeMinimizer) Minimize(x, y, w, c []float64) (Hypothesis, float64, error) {
	for i := range y {
		if _, err := m.class.value(x, y, i); err != nil {
			return nil, 0, err
		}
	}
	m.set(y, w, c)
	if err := m.merge(x[:len(y)], 1, 0, m.gains, &m.term, c); err != nil {
		return nil, 0, err
	}
	h, least := m.walk(m)
	return h, least, nil
}

// Member implements Finite: the threshold i.
func (c *thresholds) Member(i uint64) Hypothesis { return Threshold(float64(i)) }

// NewMinimizer implements Finite.
func (c *thresholds) NewMinimizer(z []float64) (Minimizer, error) { return c.newMinimizer(z, c.walk) }

// walk starts with the threshold 0, which labels everything +1, and passes value after value.
func (c *thresholds) walk(m *rangeMinimizer) (Range, float64) {
	best, cost := uint64(0), m.plus
	least := cost
	for i, v := range m.values {
		if cost -= m.sums[i]; cost < least && v < c.last {
			best, least = v+1, cost
		}
	}
	return Threshold(float64(best)), least
}

// Member implements Finite: the point i.
func (c *points) Member(i uint64) Hypothesis { return Point(float64(i)) }

// NewMinimizer implements Finite.
func (c *points) NewMinimizer(z []float64) (Minimizer, error) { return c.newMinimizer(z, c.walk) }

// walk compares the points that are values with the first that is none.
func (c *points) walk(m *rangeMinimizer) (Range, float64) {
	best, gain := missing(m.values, 0), 0.0
	if best == c.domain { // every point is a value
		gain = math.Inf(1)
	}
	for i, v := range m.values {
		if sum := m.sums[i]; sum < gain || (sum == gain && v < best) {
			best, gain = v, sum
		}
	}
	return Point(float64(best)), m.minus + gain
}

// Member implements Finite. Up to X = 6074000999 every interval has a number. Larger domains have more than 2^64 intervals, of which the
// first 2^64 have one; NewMinimizer and NewProfile work with all.
func (c *intervals) Member(i uint64) Hypothesis { return intervalAt(c.domain, i) }

// intervalAt is number i of the intervals of 0..domain-1 by left and then right end, and the empty one after the last.
func intervalAt(domain, i uint64) Range {
	a := uint64(first(int(domain), func(a int) bool {
		hi, lo := startingBelow(domain, uint64(a)+1)
		return hi > 0 || lo > i
	}))
	if a == domain {
		return Empty()
	}
	_, before := startingBelow(domain, a)
	return Interval(float64(a), float64(a+i-before))
}

// startingBelow is the number of intervals with a left end below a, domain + ... + (domain - a + 1) = a (2 domain + 1 - a)/2, in two
// words: of its factors one is even.
func startingBelow(domain, a uint64) (hi, lo uint64) {
	b := 2*domain + 1 - a
	if a%2 == 0 {
		a /= 2
	} else {
		b /= 2
	}
	return bits.Mul64(a, b)
}

// NewMinimizer implements Finite.
func (c *intervals) NewMinimizer(z []float64) (Minimizer, error) { return c.newMinimizer(z, c.walk) }

// walk compares the best interval that holds values with the first that holds none.
func (c *intervals) walk(m *rangeMinimizer) (Range, float64) {
	gain, i, j := leastRun(m.sums)
	free := missing(m.values, 0) // X where every point is a value: then only the empty interval holds none
	switch {
	case len(m.values) > 0 && (gain < 0 || (gain == 0 && m.start(i) < free)):
		return Interval(float64(m.start(i)), float64(m.values[j])), m.minus + gain
	case free < c.domain:
		return Interval(float64(free), float64(free)), m.minus
	}
	return Empty(), m.minus
}

// leastRun is the least sum of a run sums[i..j] of neighbours, the first by i and then j that attains it (Kadane, from the right), and 0
// where there are no sums.
func leastRun(sums []float64) (least float64, i, j int) {
	run, end := 0.0, 0
	for k := len(sums) - 1; k >= 0; k-- {
		if run < 0 {
			run += sums[k]
		} else {
			run, end = sums[k], k
		}
		if run <= least || k == len(sums)-1 {
			least, i, j = run, k, end
		}
	}
	return least, i, j
}
