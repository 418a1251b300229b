// Package concepttest computes the exact distributions of the mechanisms of package concept,
// hypothesis by hypothesis. Tests compare draws with them and compute privacy from them. Only
// tests import this package.
package concepttest

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// Level is a set of hypotheses with the same number of errors on a sample.
type Level struct {
	Err   int
	Count int // at least 1
}

// ExponentialDistribution returns, for each level, the exact probability that the exponential
// mechanism answers one of its members. The levels make up the whole class; a hypothesis weighs
// exp(-eps err/2), with eps in [0, +Inf].
func ExponentialDistribution(levels []Level, eps float64) []float64 {
	distribution, total := make([]float64, len(levels)), 0.0
	for i, p := range accept(levels, eps) {
		distribution[i] = float64(float64(levels[i].Count) * p)
		total += distribution[i]
	}
	for i := range distribution {
		distribution[i] /= total
	}
	return distribution
}

// PermuteAndFlipDistribution returns, for each level, the exact probability that permute-and-flip
// answers one of its members. Given that h arrives at time u, uniform in (0, 1), it is the answer
// if its coin accepts and no other hypothesis has been accepted before:
//
//	P(h) = p_h * integral over u in (0, 1) of the product over g != h of (1 - u p_g)
//	p_h  = exp(-eps (err(h) - least err)/2)
//
// a polynomial of degree |H|-1 in u, for which Gauss-Legendre quadrature with |H|/2 nodes, rounded
// up, is exact. It takes O(|H| len(levels)^2): for classes of up to some thousands of hypotheses.
func PermuteAndFlipDistribution(levels []Level, eps float64) []float64 {
	p, size := accept(levels, eps), 0
	for _, l := range levels {
		size += l.Count
	}
	distribution := make([]float64, len(levels))
	for i, l := range levels {
		others := func(u float64) float64 {
			product := 1.0
			for j, m := range levels {
				count := m.Count
				if j == i {
					count--
				}
				product *= math.Pow(1-float64(u*p[j]), float64(count))
			}
			return product
		}
		distribution[i] = float64(l.Count) * p[i] * quad.Fixed(others, 0, 1, (size+1)/2, quad.Legendre{}, 0)
	}
	return distribution
}

// accept returns exp(-eps (err - least err)/2) for each level.
func accept(levels []Level, eps float64) []float64 {
	least := math.MaxInt
	for _, l := range levels {
		least = min(least, l.Err)
	}
	p := make([]float64, len(levels))
	for i, l := range levels {
		p[i] = 1 // also if eps is infinite
		if more := l.Err - least; more > 0 {
			p[i] = math.Exp(-float64(eps / 2 * float64(more)))
		}
	}
	return p
}
