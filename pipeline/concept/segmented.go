package concept

import (
	"math"
	"math/bits"
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
// number for each: the one whose log-weight plus Gumbel noise is largest, because the maximum of c
// independent Gumbels is a Gumbel plus ln c.
func gumbel(list []segment, least int, eps float64, u []float64) int {
	return largest(list, least, eps, u, func(behind float64, count uint64, u float64) float64 {
		return math.Log(float64(count)) - behind - math.Log(-math.Log(u))
	})
}

// flip picks the segment of permute-and-flip's answer, given a uniform number for each segment.
// Permute-and-flip answers the hypothesis whose -eps err/2 plus standard exponential noise is
// largest (Ding, Kifer et al. 2021), and the maximum of c independent exponentials has the
// distribution function (1 - e^-z)^c: at u it is -ln(1 - u^(1/c)).
func flip(list []segment, least int, eps float64, u []float64) int {
	return largest(list, least, eps, u, func(behind float64, count uint64, u float64) float64 {
		return -math.Log(-math.Expm1(math.Log(u)/float64(count))) - behind
	})
}

// largest returns the segment with the largest score, given a uniform number for each: the first of
// equal ones. It looks at one with the fewest errors first, because scores are dear and few others
// can then be larger.
func largest(
	list []segment, least int, eps float64, u []float64, score func(behind float64, count uint64, u float64) float64,
) int {
	best := 0
	for list[best].err != least {
		best++
	}
	top := score(0, list[best].count, u[best])
	for i, s := range list {
		behind := penalty(eps, s.err-least)
		if behind > hopeless || ceiling(s.count, u[i])-behind < top {
			continue
		}
		if v := score(behind, s.count, u[i]); v > top || v == top && i < best {
			best, top = i, v
		}
	}
	return best
}

// ceiling returns a number above the score of a segment without penalty, at a fraction of its price: ln c - ln(-ln u) and -ln(1 - u^(1/c)) are at most ln c - ln(1-u), because
// -ln u >= 1-u and u^(1/c) <= 1 - (1-u)/c, and the logarithms are at most those of the next powers
// of two.
func ceiling(count uint64, u float64) float64 {
	const slack = 1e-6                             // more than what rounding adds to any score
	below := 1023 - int(math.Float64bits(1-u)>>52) // 1-u >= 2^-below, which is exact
	return float64(bits.Len64(count)+below)*math.Ln2 + slack
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
