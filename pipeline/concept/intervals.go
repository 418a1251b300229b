package concept

import (
	"math"
	"math/rand/v2"
)

// intervalProfile is the profile of the intervals. Number the distinct values of the sample 0..k-1 by size. An interval that
// holds some of them holds those from i to j, i <= j, and there are (choices of its left end) * (choices of its right end) of these:
//
//	left[i] = values[i] - values[i-1]   right[j] = values[j+1] - values[j]   with values[-1] = -1 and values[k] = X,
//
// all with err = positives + sums[j+1] - sums[i], where sums[i] adds up (negatives - positives) of the values below i. The others
// are the empty interval and the g(g+1)/2 intervals of each gap of g points between values; they have err = positives.
//
// The weight exp(-eps (err - Min)/2) therefore splits into a factor of i and a factor of j, and everything below takes O(k).
type intervalProfile struct {
	tally
	class *intervals
	sums  []int // sums[0..k]
	tops  []int // tops[j] = max of sums[0..j]
	least int   // least err - positives: at most 0, because of the empty interval
	none  float64
	scale weights
}

// weights are the prefix sums for one eps, in units in which an interval with the fewest errors weighs 1.
type weights struct {
	eps   float64
	inner []float64 // inner[j] = sum over i <= j of left[i] decay(tops[j] - sums[i])
	upto  []float64 // upto[j] = weight of the intervals whose last value is at most j; upto[k] = weight of all
}

// NewProfile implements Class.
func (c *intervals) NewProfile() (Profile, error) { return &intervalProfile{class: c}, nil }

// Reset implements Profile.
func (p *intervalProfile) Reset(x, y []float64) error {
	if err := p.reset(&p.class.ordered, x, y); err != nil {
		return err
	}
	p.sums, p.tops, p.least, p.none = append(p.sums[:0], 0), p.tops[:0], 0, 1
	for j := range p.values {
		top := p.sums[j]
		if j > 0 {
			top = max(top, p.tops[j-1])
		}
		p.tops = append(p.tops, top)
		p.sums = append(p.sums, p.sums[j]+p.neg[j]-p.pos[j])
		p.least = min(p.least, p.sums[j+1]-top)
	}
	for i := 0; i <= len(p.values); i++ {
		p.none += inGap(p.gap(i))
	}
	p.scale.eps = math.NaN()
	return nil
}

// Min implements Profile.
func (p *intervalProfile) Min() int { return p.positives + p.least }

// left is the number of left ends that make i the first value inside; i = k gives the points right of all values, and one more.
func (p *intervalProfile) left(i int) uint64 {
	end := p.class.domain
	if i < len(p.values) {
		end = p.values[i]
	}
	if i == 0 {
		return end + 1
	}
	return end - p.values[i-1]
}

// right is the number of right ends that make j the last value inside.
func (p *intervalProfile) right(j int) uint64 {
	if j+1 < len(p.values) {
		return p.values[j+1] - p.values[j]
	}
	return p.class.domain - p.values[j]
}

// gap is the number of points between the values i-1 and i, and inGap that of the intervals in a gap of g points.
func (p *intervalProfile) gap(i int) uint64 { return p.left(i) - 1 }
func inGap(g uint64) float64                { return float64(g) * (float64(g) + 1) / 2 }

// weigh prepares the weights of eps. No sum overflows or cancels: each is kept relative to its largest term's exponential.
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

// decay is exp(-eps d/2): the weight that d errors more cost.
func (s *weights) decay(d int) float64 { return math.Exp(-penalty(s.eps, d)) }

// total is the weight of all intervals: the normaliser over that of an interval with the fewest errors, so at least 1.
func (p *intervalProfile) total() float64 { return p.scale.upto[len(p.values)] }

// Exponential implements Profile: the last value inside, the first value inside, and then two uniform ends.
func (p *intervalProfile) Exponential(eps float64, r *rand.Rand) Hypothesis {
	p.weigh(eps)
	h, _ := p.draw(r)
	return h
}

// draw is one draw of the exponential mechanism and how many errors it makes more than Min.
func (p *intervalProfile) draw(r *rand.Rand) (h Range, excess int) {
	s := &p.scale
	u := uniform(r) * p.total()
	j := first(len(p.values), func(j int) bool { return s.upto[j] > u })
	if j == len(p.values) {
		return p.drawNone(r), -p.least
	}
	u = uniform(r) * s.inner[j]
	i := first(j, func(i int) bool { return s.inner[i]*s.decay(p.tops[j]-p.tops[i]) > u })
	a := p.values[i] - r.Uint64N(p.left(i))
	b := p.values[j] + r.Uint64N(p.right(j))
	return Interval(float64(a), float64(b)), p.sums[j+1] - p.sums[i] - p.least
}

// drawNone is a uniform member of the intervals that hold no value of the sample, the empty one included.
func (p *intervalProfile) drawNone(r *rand.Rand) Range {
	u, start := uniform(r)*p.none, uint64(0)
	for i := 0; i <= len(p.values); i++ {
		g := p.gap(i)
		if u -= inGap(g); u < 0 {
			return within(start, g, r)
		}
		start += g + 1
	}
	return Empty()
}

// within is a uniform one of the g(g+1)/2 intervals of the points start..start+g-1. Of the g(g+1) pairs (a, b) with a < g and
// b <= g, exactly two give each interval [lo, hi]: (lo, hi+1) and (hi, lo).
func within(start, g uint64, r *rand.Rand) Range {
	a, b := r.Uint64N(g), r.Uint64N(g+1)
	if b > a {
		b--
	} else {
		a, b = b, a
	}
	return Interval(float64(start+a), float64(start+b))
}

// PermuteAndFlip implements Profile by thinning draws of the exponential mechanism.
//
// Let p = exp(-eps (err(h) - Min)/2). Permute-and-flip gives every h an arrival time uniform in (0, 1) and a coin that accepts with
// probability p; the answer is the first accepted arrival. On the clock t = -ln(1 - arrival), arrivals are Exp(1), and the accepted
// arrival of h has survival function 1 - p(1 - e^-t) and hazard
//
//	p e^-t / (1 - p + p e^-t) = p / (1 + (1-p)(e^t - 1)) <= p.
//
// The first accepted arrival of all is thus the first event of independent Poisson processes with these rates. Thinning gives it: events
// at rate Z, the sum of all p, each with an h drawn with probability p/Z, which is the exponential mechanism, and kept with probability
// hazard/p. An h with p = 1 is always kept, so the loop ends.
//
// The rates add up to at least 1 + (Z-1)e^-t, so the first kept event is later than t with probability at most
// e^-t exp(-(Z-1)(1-e^-t)), and the mean number of draws is at most Z times the integral of that, Z (1-e^-(Z-1))/(Z-1) < 1.3.
func (p *intervalProfile) PermuteAndFlip(eps float64, r *rand.Rand) Hypothesis {
	p.weigh(eps)
	for t := 0.0; ; {
		t -= math.Log(uniform(r)) / p.total()
		h, excess := p.draw(r)
		if uniform(r)*(1+float64((1-p.scale.decay(excess))*math.Expm1(t))) < 1 {
			return h
		}
	}
}

// first is the least i < n with ok(i), and n where there is none; ok must not turn false again.
func first(n int, ok func(int) bool) int {
	lo, hi := 0, n
	for lo < hi {
		if mid := (lo + hi) / 2; ok(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
