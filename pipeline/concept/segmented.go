package concept

import (
	"math"
	"math/rand/v2"
	"sort"
)

// segment is a set of hypotheses with the same number of errors.
type segment struct {
	err   int
	count uint64 // at least 1
	first uint64 // parameter of its first member
}

// segmented is a class whose hypotheses fall into few segments: at most one more than the number
// of distinct values in the sample.
type segmented interface {
	// split fills p.list from the sample in p.tally, by ascending parameter.
	split(p *segments)
	// member is hypothesis number rank of segment i, rank below its count.
	member(p *segments, i int, rank uint64) Range
	base() *ordered
}

// levels holds the segments of a profile, from which an answer is drawn.
type levels struct {
	list   []segment
	min    int                                 // fewest errors
	member func(i int, rank uint64) Hypothesis // hypothesis number rank of segment i, rank below its count
}

// Min implements Profile.
func (p *levels) Min() int { return p.min }

// Exponential implements Profile. It draws a segment by the Gumbel trick, then a uniform member.
func (p *levels) Exponential(eps float64, r *rand.Rand) Hypothesis {
	return p.uniformMember(p.highest(eps, r, gumbel), r)
}

// PermuteAndFlip implements Profile. It draws a segment by exponential noise, then a uniform
// member.
func (p *levels) PermuteAndFlip(eps float64, r *rand.Rand) Hypothesis {
	return p.uniformMember(p.highest(eps, r, exponential), r)
}

// highest returns the first segment with the largest score, given the number of its hypotheses, the
// penalty of their errors and a uniform number.
func (p *levels) highest(eps float64, r *rand.Rand, score func(count, behind, u float64) float64) int {
	best, top := 0, math.Inf(-1)
	for i, s := range p.list {
		u, behind := uniform(r), penalty(eps, s.err-p.min)
		if behind > hopeless {
			continue
		}
		if v := score(float64(s.count), behind, u); v > top {
			best, top = i, v
		}
	}
	return best
}

// uniformMember returns a uniform member of segment i.
func (p *levels) uniformMember(i int, r *rand.Rand) Hypothesis {
	return p.member(i, r.Uint64N(p.list[i].count)) // integer rejection: no rounding
}

// byErrors fills the list with one segment for each number of errors that a hypothesis makes.
func (p *levels) byErrors(counts []uint64) {
	for err, count := range counts {
		if count > 0 {
			p.list = append(p.list, segment{err: err, count: count})
		}
	}
	p.min = p.list[0].err
}

// segments is the profile of a segmented class.
type segments struct {
	tally
	levels
	class segmented
}

func newSegments(c segmented) *segments {
	p := &segments{class: c}
	p.member = func(i int, rank uint64) Hypothesis { return c.member(p, i, rank) }
	return p
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

// gumbel is the score of a segment whose maximum is drawn with probability proportional to count
// exp(-eps err/2): its log-weight plus Gumbel noise, because the maximum of c independent Gumbels is
// a Gumbel plus ln c.
func gumbel(count, behind, u float64) float64 {
	return math.Log(count) - behind - math.Log(-math.Log(u))
}

// exponential is the score of a segment whose maximum is the answer of permute-and-flip, which
// returns the hypothesis with the largest -eps err/2 plus standard exponential noise (Ding, Kifer et
// al. 2021). The maximum of c independent exponentials has the distribution function (1 - e^-z)^c:
// at u it is -ln(1 - u^(1/c)).
func exponential(count, behind, u float64) float64 {
	return -math.Log(-math.Expm1(math.Log(u)/count)) - behind
}

// hopeless is a penalty that noise cannot compensate: with the numbers of uniform and counts
// below 2^64, a score without penalty lies between -4 and 82, in gumbel and in exponential.
const hopeless = 90

// penalty returns eps d/2, and 0 at d = 0 even if eps is infinite.
func penalty(eps float64, d int) float64 {
	if d == 0 {
		return 0
	}
	return float64(eps / 2 * float64(d)) // rounded, never fused into a sum
}

// uniform returns one of the 2^52 odd multiples of 2^-53: never 0 and never 1, so that the
// logarithms of u and of 1-u are finite.
func uniform(r *rand.Rand) float64 { return (float64(r.Uint64()>>12) + 0.5) * 0x1p-52 }

// missing returns number rank, from 0, of the integers that are not among the ascending distinct
// values.
func missing(values []uint64, rank uint64) uint64 {
	below := func(i int) uint64 { return values[i] - uint64(i) } // the missing integers below values[i]
	return rank + uint64(sort.Search(len(values), func(i int) bool { return below(i) > rank }))
}
