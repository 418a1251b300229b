package concept

import (
	"math"
	"math/rand/v2"
)

// segment is a set of hypotheses with the same number of errors.
type segment struct {
	err   int
	count uint64 // at least 1
	first uint64 // parameter of its first member
}

// segmented is a class whose hypotheses fall into few segments: at most one more than the sample
// has values.
type segmented interface {
	// split fills p.list from the sample in p.tally, by ascending parameter.
	split(p *segments)
	// member is hypothesis number rank of segment i, rank below its count.
	member(p *segments, i int, rank uint64) Range
	base() *ordered
}

// segments is the profile of a segmented class.
type segments struct {
	tally
	class segmented
	list  []segment
	min   int
	noise noise
}

// Reset implements Profile.
func (p *segments) Reset(x, y []float64) error {
	p.list = p.list[:0]
	if err := p.reset(p.class.base(), x, y); err != nil {
		return err
	}
	p.class.split(p)
	p.min = p.list[0].err
	for _, s := range p.list {
		p.min = min(p.min, s.err)
	}
	return nil
}

// Min implements Profile.
func (p *segments) Min() int { return p.min }

// Exponential implements Profile: a segment by the Gumbel trick, then a uniform member.
func (p *segments) Exponential(eps float64, r *rand.Rand) Hypothesis {
	return p.uniformMember(gumbel(p.list, p.min, eps, p.noise.fill(len(p.list), r)), r)
}

// PermuteAndFlip implements Profile: a segment by exponential noise, then a uniform member.
func (p *segments) PermuteAndFlip(eps float64, r *rand.Rand) Hypothesis {
	return p.uniformMember(flip(p.list, p.min, eps, p.noise.fill(len(p.list), r)), r)
}

// noise is scratch memory for one uniform number for each segment.
type noise []float64

// fill draws n numbers.
func (u *noise) fill(n int, r *rand.Rand) []float64 {
	*u = (*u)[:0]
	for range n {
		*u = append(*u, uniform(r))
	}
	return *u
}

// uniformMember returns a uniform member of segment i.
func (p *segments) uniformMember(i int, r *rand.Rand) Hypothesis {
	return p.class.member(p, i, r.Uint64N(p.list[i].count)) // by rejection on integers: no float's rounding
}

// gumbel picks a segment with probability proportional to count exp(-eps err/2), given a uniform
// number for each: the one whose log-weight plus Gumbel noise is largest (the first of equal ones),
// because the maximum of c independent Gumbels is a Gumbel plus ln c.
func gumbel(list []segment, least int, eps float64, u []float64) int {
	best, top := 0, math.Inf(-1)
	for i, s := range list {
		behind := penalty(eps, s.err-least)
		if behind > hopeless {
			continue
		}
		if score := math.Log(float64(s.count)) - behind - math.Log(-math.Log(u[i])); score > top {
			best, top = i, score
		}
	}
	return best
}

// flip picks the segment of permute-and-flip's answer, given a uniform number for each segment.
// Permute-and-flip answers the hypothesis whose -eps err/2 plus standard exponential noise is
// largest (Ding, Kifer et al. 2021), and the maximum of c independent exponentials has the
// distribution function (1 - e^-z)^c: at u it is -ln(1 - u^(1/c)).
func flip(list []segment, least int, eps float64, u []float64) int {
	best, top := 0, math.Inf(-1)
	for i, s := range list {
		behind := penalty(eps, s.err-least)
		if behind > hopeless {
			continue
		}
		if score := -math.Log(-math.Expm1(math.Log(u[i])/float64(s.count))) - behind; score > top {
			best, top = i, score
		}
	}
	return best
}

// hopeless is a penalty that no noise makes up for: with the numbers of uniform and counts below
// 2^64, a score without penalty lies between -4 and 82, in gumbel and in flip.
const hopeless = 90

// penalty returns eps d/2, and 0 at d = 0 also where eps is infinite.
func penalty(eps float64, d int) float64 {
	if d == 0 {
		return 0
	}
	return float64(eps / 2 * float64(d)) // rounded here, never fused into a sum
}

// uniform returns one of the 2^52 odd multiples of 2^-53: never 0 and never 1, so that the
// logarithms of u and of 1-u are finite.
func uniform(r *rand.Rand) float64 { return (float64(r.Uint64()>>12) + 0.5) * 0x1p-52 }

// missing returns number rank, from 0, of the integers that are not among the ascending distinct
// values.
func missing(values []uint64, rank uint64) uint64 {
	lo, hi := 0, len(values) // values[i] - i integers are missing below values[i]
	for lo < hi {
		mid := (lo + hi) / 2
		if values[mid]-uint64(mid) <= rank {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return rank + uint64(lo)
}
