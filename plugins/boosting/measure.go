package boosting

import (
	"math"
	"slices"
)

// measure holds the weights of one round: min(1, c e^(s_i)) for log-weights s_i, with the one c > 0 that makes their sum a
// given mass. It is the Bregman projection onto the measures of that density (Bun, Carmosino and Sorrell 2020, Lemma 9, which
// asks for c >= 1: with noise some losses are negative and c < 1 is needed, or else neither the mass nor the sensitivity
// holds). The mass need not be an integer and is never rounded to one.
type measure struct {
	u    []float64 // e^(s_i + logc) for the logc with which project began, or the weights if it had to sort; of the length of s
	logc float64   // ln c of the last projection, and where the next one starts
}

// project returns the factor for which the weights are min(1, factor * u_i). It needs finite s and 0 < mass < len(s).
//
// It is Newton's method on the concave, piecewise linear F(c) = sum_i min(1, c e^(s_i)): after one step the iterates increase,
// the set of capped weights grows, and when it repeats the solution is exact. From the last round's c it takes two or three
// passes over u. Where the log-weights moved too far for numbers relative to the last c, it sorts instead.
func (m *measure) project(s []float64, mass float64) float64 {
	capped, tail := exponentials(m.u, s, m.logc)
	if factor, ok := newton(m.u, mass, capped, tail); ok {
		m.logc += math.Log(factor)
		return factor
	}
	m.sort(s, mass)
	return 1
}

// sort makes u the weights themselves, whatever came before. It takes log-weights relative to the largest that is not capped: they may be so
// large that adding ln c rounds it away, and the mass, on which privacy rests, would be another.
func (m *measure) sort(s []float64, mass float64) {
	copy(m.u, s)
	top, logtop, _ := sortedScale(m.u, mass)
	for i, v := range s {
		m.u[i] = v - top
	}
	exponentials(m.u, m.u, logtop)
	m.logc = logtop - top
}

// settle turns log-weights that were just projected into those of their projection, ln min(1, c e^(s_i)).
func (m *measure) settle(s []float64) {
	for i, v := range s {
		v += m.logc
		s[i] = masked(v, int64(math.Float64bits(v))>>63)
	}
}

// newton starts at factor 1, where so many u are capped and the rest sum to tail.
func newton(u []float64, mass float64, capped int, tail float64) (factor float64, ok bool) {
	if float64(capped) >= mass { // beyond the solution: begin on its other side, as if nothing were capped
		capped, tail = 0, total(u)
	}
	for range 100 {
		factor = (mass - float64(capped)) / tail
		if !(factor > 1e-280 && factor < 1e280) { // what underflowed in u may count
			return 0, false
		}
		next, rest := split(u, factor)
		if next == capped {
			return factor, true
		}
		if float64(next) >= mass { // only by rounding
			return 0, false
		}
		capped, tail = next, rest
	}
	return 0, false
}

// split returns how many factor * u_i reach 1 and the sum of the other u_i.
func split(u []float64, factor float64) (capped int, tail float64) {
	capped = len(u)
	for len(u) > 0 {
		block := u[:min(blockRows, len(u))]
		u = u[len(block):]
		sum := 0.0
		for _, v := range block {
			free := below1(factor * v)
			capped += int(free)
			sum += masked(v, free)
		}
		tail += sum
	}
	return capped, tail
}

func total(u []float64) float64 {
	sum := 0.0
	for len(u) > 0 {
		block := u[:min(blockRows, len(u))]
		u = u[len(block):]
		part := 0.0
		for _, v := range block {
			part += v
		}
		sum += part
	}
	return sum
}

// sortedScale returns the largest log-weight that is not capped, top, the logarithm of its weight, ln c + top, and the number of capped
// weights, for any finite log-weights. It sorts s.
//
// With the k largest capped, c_k = (mass - k) / tail_k. If the next largest fits under the cap at k it also does at k+1, so the
// least such k, found from above, is the solution. O(n log n), and exact: it is what newton is tested against.
func sortedScale(s []float64, mass float64) (top, logtop float64, capped int) {
	slices.Sort(s)
	n := len(s)
	last := int(math.Ceil(mass)) - 1 // at most so many are capped
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
		if mass-float64(k) > tail { // the largest of the rest would exceed 1
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
