package concept

import (
	"math"
	"math/rand/v2"
	"sort"
)

// intervalProfile is the profile of the intervals. An interval that contains the values i to j of
// the sample has err = positives + sums[j+1] - sums[i], where sums[i] adds up (negatives -
// positives) of the values below i; there are left(i) right(j) such intervals. The others, the
// empty interval and those in the gaps, have err = positives.
//
// The weight exp(-eps (err - Min)/2) therefore splits into a factor of i and a factor of j, and all
// methods take O(k).
type intervalProfile struct {
	tally
	class *intervals
	sums  []int // sums[0..k]
	tops  []int // tops[j] = max of sums[0..j]
	least int   // least err - positives: at most 0, because of the empty interval
	none  float64
	scale weights
}

// weights holds prefix sums for one eps, in units of the weight of an interval with the fewest
// errors.
type weights struct {
	eps   float64
	inner []float64 // inner[j] = sum over i <= j of left[i] decay(tops[j] - sums[i])
	upto  []float64 // upto[j] = weight of the intervals whose last value is at most j; upto[k] = weight of all intervals
}

// Reset implements Profile.
func (p *intervalProfile) Reset(x, y []float64) error {
	if err := p.reset(&p.class.ordered, x, y); err != nil {
		return err
	}
	p.sums, p.tops, p.least, p.none = append(p.sums[:0], 0), p.tops[:0], 0, 1+p.inGaps()
	for j := range p.values {
		top := p.sums[j]
		if j > 0 {
			top = max(top, p.tops[j-1])
		}
		p.tops = append(p.tops, top)
		p.sums = append(p.sums, p.sums[j]+p.neg[j]-p.pos[j])
		p.least = min(p.least, p.sums[j+1]-top)
	}
	p.scale.eps = math.NaN()
	return nil
}

// Min implements Profile.
func (p *intervalProfile) Min() int { return p.positives + p.least }

// weigh prepares the weights of eps. No sum overflows or cancels: each is relative to the
// exponential of its largest term.
func (p *intervalProfile) weigh(eps float64) {
	s := &p.scale
	if s.eps == eps {
		return
	}
	s.eps, s.inner, s.upto = eps, s.inner[:0], s.upto[:0]
	inner, total := 0.0, 0.0
	for j, top := range p.tops {
		if j > 0 {
			inner *= s.decay(top - p.tops[j-1])
		}
		inner += float64(float64(p.left(j)) * s.decay(top-p.sums[j]))
		total += float64(float64(p.right(j)) * inner * s.decay(p.sums[j+1]-top-p.least))
		s.inner, s.upto = append(s.inner, inner), append(s.upto, total)
	}
	total += float64(p.none * s.decay(-p.least))
	s.upto = append(s.upto, total)
}

// decay returns exp(-eps d/2), the factor by which d more errors reduce a weight.
func (s *weights) decay(d int) float64 { return math.Exp(-penalty(s.eps, d)) }

func (p *intervalProfile) decay(d int) float64 { return p.scale.decay(d) }

// total returns the weight of all intervals, in units of the weight of an interval with the
// fewest errors: at least 1.
func (p *intervalProfile) total() float64 { return p.scale.upto[len(p.values)] }

// Exponential implements Profile. It draws the last value inside, the first value inside, and
// then two uniform ends.
func (p *intervalProfile) Exponential(eps float64, r *rand.Rand) Hypothesis {
	p.weigh(eps)
	h, _ := p.draw(r)
	return h
}

// draw draws from the exponential mechanism, and returns the number of errors of the interval
// beyond Min.
func (p *intervalProfile) draw(r *rand.Rand) (h Range, excess int) {
	s := &p.scale
	u := uniform(r) * p.total()
	j := sort.Search(len(p.values), func(j int) bool { return s.upto[j] > u })
	if j == len(p.values) {
		return p.drawNone(r), -p.least
	}
	u = uniform(r) * s.inner[j]
	i := sort.Search(j, func(i int) bool { return s.inner[i]*s.decay(p.tops[j]-p.tops[i]) > u })
	return p.around(i, j, r), p.sums[j+1] - p.sums[i] - p.least
}

// drawNone returns an interval that contains no value of the sample, possibly the empty one,
// drawn uniformly.
func (p *intervalProfile) drawNone(r *rand.Rand) Range {
	if h, ok := p.between(uniform(r)*p.none, r); ok {
		return h
	}
	return Empty()
}

// PermuteAndFlip implements Profile.
func (p *intervalProfile) PermuteAndFlip(eps float64, r *rand.Rand) Hypothesis {
	p.weigh(eps)
	return thin[Range](p, r)
}
