package privacy

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// A Composition names a theorem about v adaptively chosen mechanisms, each
// (eps0, delta0)-differentially private.
type Composition string

// The composition theorems, and the best of them.
const (
	// Basic composition adds: together the mechanisms are (v eps0, v delta0)-differentially
	// private.
	Basic Composition = "basic"

	// Advanced is the theorem of Dwork, Rothblum and Vadhan 2010, with the smaller second term of
	// Kairouz, Oh and Viswanath 2015, Theorem 3.4: (e, v delta0 + delta') with
	// e = sqrt(2 v ln(1/delta')) eps0 + v eps0 (e^eps0 - 1)/(e^eps0 + 1).
	Advanced Composition = "advanced"

	// Optimal is exact (Kairouz, Oh and Viswanath 2015, Theorem 3.3): see [OptimalDelta].
	Optimal Composition = "optimal"

	// Best is the best of the three. Its Epsilon is the least of the three. Its Share is the
	// share with the largest eps0/ln(1/delta0), which determines the noise of a mechanism; for
	// few mechanisms that is the share of Basic, which leaves each of them the largest delta0.
	Best Composition = "best"
)

// OptimalDelta returns the least delta for which v mechanisms are together
// (epsilon, delta)-differentially private (Kairouz, Oh and Viswanath 2015, Theorem 3.3). With
// p = e^eps0/(1 + e^eps0) it is
//
//	1 - (1-delta0)^v (1 - sum over l of C(v,l) max(0, p^l (1-p)^(v-l) - e^epsilon p^(v-l) (1-p)^l))
//
// v is at least 0, eps0 and epsilon are in [0, +Inf), delta0 is in [0, 1]; outside these ranges the
// result is NaN. Its rounding error is about v ln(v) 2^-52 of the sum. It takes O(sqrt(v)) steps.
func OptimalDelta(v int, eps0, delta0, epsilon float64) float64 {
	if !(v >= 0 && eps0 >= 0 && epsilon >= 0) || math.IsInf(eps0, 1) || math.IsInf(epsilon, 1) || !isProbability(delta0) {
		return math.NaN()
	}
	if delta0 == 1 && v > 0 {
		return 1
	}
	n := float64(v)
	logP := -math.Log1p(math.Exp(-eps0))
	all, _ := math.Lgamma(n + 1)
	// The summand is C(v,l) p^l (1-p)^(v-l) (1 - e^(epsilon - eps0 (2l-v))), and positive for
	// large l only. Further than spread from the mean of l it is below e^-800 (Hoeffding 1963),
	// which is 0 in float64.
	mean, spread := n*math.Exp(logP), math.Ceil(20*math.Sqrt(n))
	sum := 0.0
	for l := int(min(n, math.Ceil(mean)+spread)); l >= 0 && float64(l) >= math.Floor(mean)-spread; l-- {
		loss := float64(eps0*float64(2*l-v)) - epsilon
		if loss <= 0 {
			break
		}
		in, _ := math.Lgamma(float64(l) + 1)
		out, _ := math.Lgamma(n - float64(l) + 1)
		sum -= float64(math.Exp(all-in-out+float64(n*logP)-float64(eps0*(n-float64(l)))) * math.Expm1(-loss))
	}
	return -math.Expm1(float64(n*math.Log1p(-delta0)) + math.Log1p(-min(1, sum)))
}

// AdvancedEpsilon returns the epsilon of [Advanced], which holds at delta = v delta0 + slack.
//
// v is at least 0, eps0 in [0, +Inf], slack in (0, 1).
func AdvancedEpsilon(v int, eps0, slack float64) float64 {
	n := float64(v)
	return float64(math.Sqrt(-2*n*math.Log(slack))*eps0) + float64(n*eps0*math.Tanh(eps0/2))
}

// Epsilon returns the least epsilon for which the theorem makes v mechanisms together (epsilon,
// delta)-differentially private. For Basic, Optimal and Best it is never above v eps0 if v delta0
// <= delta (in exact arithmetic; delta0 = delta/v satisfies this). It is +Inf if the theorem does
// not apply, and NaN for an unknown theorem.
//
// v is at least 1, eps0 in [0, +Inf), delta0 and delta in [0, 1).
func (c Composition) Epsilon(v int, eps0, delta0, delta float64) float64 {
	const rounding = 1 + 1e-12 // rounding may make v (delta/v) slightly larger than delta
	n := float64(v)
	switch c {
	case Basic:
		if n*delta0 <= delta*rounding {
			return n * eps0
		}
		return math.Inf(1)
	case Advanced:
		if slack := delta - float64(n*delta0); slack > 0 {
			return AdvancedEpsilon(v, eps0, slack)
		}
		return math.Inf(1)
	case Optimal:
		private := func(epsilon float64) bool { return OptimalDelta(v, eps0, delta0, epsilon) <= delta*rounding }
		if private(0) {
			return 0
		}
		if !private(n * eps0) {
			return math.Inf(1)
		}
		_, epsilon := numeric.Bisect(0, n*eps0, func(epsilon float64) bool { return !private(epsilon) })
		return epsilon
	case Best:
		return min(
			Basic.Epsilon(v, eps0, delta0, delta),
			Advanced.Epsilon(v, eps0, delta0, delta),
			Optimal.Epsilon(v, eps0, delta0, delta),
		)
	}
	return math.NaN()
}

// Share returns (eps0, delta0) such that v mechanisms with it are together
// (epsilon, delta)-differentially private. delta0 is delta/v for Basic and delta/(2v) for Advanced
// and Optimal, and eps0 is the largest up to epsilon that the theorem then allows, rounded down.
// Best chooses among the three. For an unknown theorem both are NaN.
//
// v is at least 1, epsilon in [0, +Inf), delta in [0, 1).
func (c Composition) Share(v int, epsilon, delta float64) (eps0, delta0 float64) {
	n := float64(v)
	delta0 = delta / (2 * n)
	switch c {
	case Basic:
		return epsilon / n, delta / n
	case Advanced:
		if delta == 0 {
			return 0, 0
		}
		high := min(epsilon, epsilon/math.Sqrt(-2*n*math.Log(delta/2)))
		eps0, _ = numeric.Bisect(0, math.Nextafter(high, math.Inf(1)), func(eps0 float64) bool {
			return AdvancedEpsilon(v, eps0, delta/2) <= epsilon
		})
		return eps0, delta0
	case Optimal:
		if OptimalDelta(v, epsilon, delta0, epsilon) <= delta {
			return epsilon, delta0
		}
		eps0, _ = numeric.Bisect(0, epsilon, func(eps0 float64) bool {
			return OptimalDelta(v, eps0, delta0, epsilon) <= delta
		})
		return eps0, delta0
	case Best:
		eps0, delta0 = Basic.Share(v, epsilon, delta)
		for _, other := range []Composition{Advanced, Optimal} {
			e, d := other.Share(v, epsilon, delta)
			// Equivalent to e/ln(1/d) > eps0/ln(1/delta0).
			if delta > 0 && e*math.Log(delta0) < eps0*math.Log(d) {
				eps0, delta0 = e, d
			}
		}
		return eps0, delta0
	}
	return math.NaN(), math.NaN()
}

// Subsampled returns the privacy of an (epsilon, delta)-private mechanism on a random subset with a
// fraction of the examples, drawn without replacement: (ln(1 + fraction (e^epsilon - 1)), fraction
// delta) (Balle, Barthe and Gaboardi 2018, Theorem 9).
//
// epsilon is in [0, +Inf), delta and fraction in [0, 1].
func Subsampled(epsilon, delta, fraction float64) (float64, float64) {
	return math.Log1p(fraction * math.Expm1(epsilon)), fraction * delta
}
