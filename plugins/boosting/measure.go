package boosting

import (
	"math"
	"slices"
)

// A measure holds the weights of one round: min(1, c e^(s_i)) for log-weights s_i, with the unique
// c > 0 that makes their sum a given mass. It is the Bregman projection onto the measures of that
// density (Bun, Carmosino and Sorrell 2020, Lemma 9). The lemma requires c >= 1. With noise some
// losses are negative and c < 1 is needed, because otherwise neither the mass nor the sensitivity
// would be right. The mass need not be an integer and is never rounded.
type measure struct {
	u    []float64 // e^(s_i + logc) for the logc before project, or the weights if project sorted
	logc float64   // ln c of the last projection, the start of the next one
}

// project sets u, which has the length of s, and returns the factor for which the weights are
// min(1, factor * u_i). It requires finite s and 0 < mass < len(s).
//
// It uses Newton's method on the concave, piecewise linear F(c) = sum_i min(1, c e^(s_i)). After
// one step the iterates increase and the set of capped weights grows; once that set repeats, the
// solution is exact. Starting from the last round's c it takes two or three passes over u. If the
// log-weights have changed too much to be represented relative to the last c, it sorts instead.
func (m *measure) project(s []float64, mass float64) float64 {
	capped, tail := exponentials(m.u, s, m.logc)
	if factor, ok := newton(m.u, mass, capped, tail); ok {
		m.logc += math.Log(factor)
		return factor
	}
	m.sort(s, mass)
	return 1
}

// sort sets u to the weights themselves, for any logc. It uses log-weights relative to the largest
// one that is not capped: they may be so large that adding ln c to them would lose it in rounding,
// and with it the mass, which privacy relies on.
func (m *measure) sort(s []float64, mass float64) {
	copy(m.u, s)
	top, logtop, _ := sortedScale(m.u, mass)
	for i, v := range s {
		m.u[i] = v - top
	}
	exponentials(m.u, m.u, logtop)
	m.logc = logtop - top
}

// settle replaces log-weights that were just projected by those of their projection, ln min(1, c
// e^(s_i)).
func (m *measure) settle(s []float64) {
	for i, v := range s {
		s[i] = min(v+m.logc, 0)
	}
}

// newton returns the factor for which the min(1, factor * u_i) sum to mass; ok is false if it
// cannot be computed in floating point. capped and tail are the results of split for the factor 1.
func newton(u []float64, mass float64, capped int, tail float64) (factor float64, ok bool) {
	if float64(capped) >= mass { // beyond the solution: begin on its other side, with nothing capped
		capped, tail = 0, total(u)
	}
	for range 100 {
		factor = (mass - float64(capped)) / tail
		if !(factor > 1e-280 && factor < 1e280) { // numbers that underflowed in u may matter
			return 0, false
		}
		next, nextTail := split(u, factor)
		if next == capped {
			return factor, true
		}
		if float64(next) >= mass { // only because of rounding
			return 0, false
		}
		capped, tail = next, nextTail
	}
	return 0, false
}

// split returns the number of factor * u_i that are at least 1, and the sum of the other u_i.
func split(u []float64, factor float64) (capped int, tail float64) {
	t := tally{factor: factor, limit: 1}
	t.add(u)
	return t.capped, t.tail
}

// total returns the sum of u, summed block by block.
func total(u []float64) float64 {
	t := tally{factor: 1, limit: math.NaN()}
	t.add(u)
	return t.tail
}

// tally counts the numbers whose product with factor reaches limit, and sums the others block by
// block. No number reaches the limit NaN. All numbers must be nonnegative, and factor finite.
type tally struct {
	factor, limit float64
	capped        int
	tail          float64
}

// add adds the numbers of u. A new block starts with u.
func (t *tally) add(u []float64) {
	for block := range slices.Chunk(u, blockRows) {
		sum := 0.0
		for _, v := range block {
			if t.factor*v >= t.limit {
				t.capped++
			} else {
				sum += v
			}
		}
		t.tail += sum
	}
}

// sortedScale returns, for any finite log-weights, the largest one that is not capped, top, the
// logarithm of its weight, logtop = ln c + top, and the number of capped weights. It sorts s.
//
// With the k largest capped, c_k = (mass - k) / tail_k. If the next largest weight does not exceed
// the cap at k, it does not at k+1 either, so the least such k, searched from the largest k
// downwards, is the solution. It takes O(n log n) time and is exact: the tests compare newton with
// it.
func sortedScale(s []float64, mass float64) (top, logtop float64, capped int) {
	slices.Sort(s)
	n := len(s)
	last := int(math.Ceil(mass)) - 1 // maximum number of capped weights
	capped = last
	tail := 0.0 // sum of e^(s_i - s_k) over the smallest, in increasing order
	for i, v := range s {
		if i > 0 {
			tail = float64(tail * math.Exp(s[i-1]-v))
		}
		tail++
		k := n - 1 - i
		if k > last {
			continue
		}
		if mass-float64(k) > tail { // the largest of the others would exceed 1
			break
		}
		capped = k
	}
	tail = 0
	top = s[n-1-capped]
	for _, v := range s[:n-capped] {
		tail += math.Exp(v - top)
	}
	return top, math.Log(mass-float64(capped)) - math.Log(tail), capped
}
