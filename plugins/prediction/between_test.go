package prediction

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"
)

// below returns P(Lap(scale) < v).
func below(v, scale float64) float64 {
	if v < 0 {
		return math.Exp(v/scale) / 2
	}
	return 1 - math.Exp(-v/scale)/2
}

// chances returns the probabilities of left, right and hard for a query of value q, given the
// thresholds.
func (b between) chances(q float64) (l, r, h float64) {
	l = below(b.lo-q, b.scale)
	r = below(q-max(b.lo, b.hi), b.scale)
	// 1-l-r would suffer from cancellation.
	if b.lo < b.hi {
		if q < b.lo {
			h = below(q-b.lo, b.scale) - below(q-b.hi, b.scale)
		} else {
			h = below(b.hi-q, b.scale) - below(b.lo-q, b.scale)
		}
	}
	return l, r, h
}

// overMu integrates f over the unit Laplace number behind mu by Gauss-Legendre quadrature between
// all kinks. The result is exact except for rounding.
func overMu(eps0 float64, k int, qs []float64, f func(b between, weight float64)) {
	unit := eps0 * float64(k) / 2
	kinks := []float64{0, 0.125 * unit}
	for _, q := range qs {
		kinks = append(kinks, (q-lowThreshold)*unit, (highThreshold-q)*unit)
	}
	for u := -60.0; u <= 60; u += 1.5 {
		kinks = append(kinks, u)
	}
	slices.Sort(kinks)
	x, w := make([]float64, 12), make([]float64, 12)
	for i := 0; i+1 < len(kinks); i++ {
		if kinks[i+1] <= kinks[i] {
			continue
		}
		quad.Legendre{}.FixedLocations(x, w, kinks[i], kinks[i+1])
		for j, u := range x {
			f(newBetween(eps0, k, u), w[j]*math.Exp(-math.Abs(u))/2)
		}
	}
}

// distribution returns the probabilities of the transcripts of an instance on queries of the given
// values: first the transcripts that end with a hard query, then the others.
func distribution(eps0 float64, k int, qs, kinks []float64) []float64 {
	var p []float64
	overMu(eps0, k, kinks, func(b between, weight float64) {
		open, at := []float64{weight}, 0
		add := func(v float64) {
			if at == len(p) {
				p = append(p, 0)
			}
			p[at] += v
			at++
		}
		for _, q := range qs {
			l, r, h := b.chances(q)
			var next []float64
			for _, o := range open {
				add(o * h)
				next = append(next, o*l, o*r)
			}
			open = next
		}
		for _, o := range open {
			add(o)
		}
	})
	return p
}

// worst returns the largest P(E) - e^eps0 P'(E) over all events E, in both directions.
func worst(p, q []float64, eps0 float64) float64 {
	here, there := 0.0, 0.0
	for i := range p {
		here += max(0, p[i]-math.Exp(eps0)*q[i])
		there += max(0, q[i]-math.Exp(eps0)*p[i])
	}
	return max(here, there)
}

// totalOf returns the sum of the probabilities.
func totalOf(p []float64) float64 {
	total := 0.0
	for _, v := range p {
		total += v
	}
	return total
}

// At the least k of either mode, the exact distributions of whole transcripts of neighbors stay
// within (eps0, delta0), for queries with any values, each changed by up to one block in any
// direction.
func TestTranscriptsArePrivate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eps0 := rapid.SampledFrom([]float64{1, 0.5, 0.1}).Draw(t, "eps0")
		delta0 := rapid.SampledFrom([]float64{0.2, 0.01, 1e-4, 1e-7}).Draw(t, "delta0")
		mode := rapid.SampledFrom([]string{Paper, Own}).Draw(t, "mode")
		k := int(math.Ceil(leastBlocks(mode, eps0, delta0)))
		near := rapid.Bool().Draw(t, "near the thresholds")
		var s, n []float64
		for range rapid.IntRange(1, 4).Draw(t, "queries") {
			votes := rapid.IntRange(0, k).Draw(t, "votes")
			if near {
				votes = k*3/8 + rapid.IntRange(0, k/4+1).Draw(t, "votes above")
			}
			moved := min(max(votes+rapid.IntRange(-1, 1).Draw(t, "moved"), 0), k)
			s, n = append(s, float64(votes)/float64(k)), append(n, float64(moved)/float64(k))
		}
		p, q := distribution(eps0, k, s, append(s, n...)), distribution(eps0, k, n, append(s, n...))
		if math.Abs(totalOf(p)-1) > 1e-9 || math.Abs(totalOf(q)-1) > 1e-9 {
			t.Fatalf("distributions add up to %v and %v", totalOf(p), totalOf(q))
		}
		if d := worst(p, q, eps0); d > delta0 {
			t.Fatalf("eps0 %v, k %d, queries %v and %v: delta %v, above %v", eps0, k, s, n, d, delta0)
		}
	})
}
