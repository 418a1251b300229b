package privacy

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// GaussianDelta returns the least delta at which mu-Gaussian differential privacy is
// (epsilon, delta)-differentially private (Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2019,
// Corollary 2.13):
//
//	delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)
//
// mu and epsilon are in [0, +Inf]; outside this range the result is NaN. mu = 0 and epsilon =
// +Inf give 0; otherwise mu = +Inf gives 1. The relative error is about 1e-15 (1 + epsilon/mu^2),
// down to the smallest delta that float64 can represent.
func GaussianDelta(mu, epsilon float64) float64 {
	switch {
	case !(mu >= 0 && epsilon >= 0):
		return math.NaN()
	case mu == 0 || math.IsInf(epsilon, 1):
		return 0
	case math.IsInf(mu, 1):
		return 1
	}
	// e^epsilon phi(b) = phi(a) for the normal density phi: it converts each difference below
	// into a difference of similar quantities.
	a := (epsilon/mu - mu/2) / math.Sqrt2
	b := (epsilon/mu + mu/2) / math.Sqrt2
	switch {
	case a > 0:
		return math.Exp(-a*a) * (erfcx(a) - erfcx(b)) / 2
	case epsilon < 1:
		return (math.Erf(b) + math.Erf(-a) - math.Expm1(epsilon)*math.Erfc(b)) / 2
	default:
		return (math.Erfc(a) - math.Exp(-a*a)*erfcx(b)) / 2
	}
}

// GaussianMu returns the largest mu for which mu-Gaussian differential privacy is
// (epsilon, delta)-differentially private. It is rounded down: GaussianDelta(mu, epsilon) <= delta
// holds for the number returned.
//
// epsilon is in [0, +Inf], delta in [0, 1]; outside these ranges the result is NaN. delta = 1 and
// epsilon = +Inf give +Inf; otherwise delta = 0 gives 0.
func GaussianMu(epsilon, delta float64) float64 {
	switch {
	case !(epsilon >= 0) || !isProbability(delta):
		return math.NaN()
	case delta == 1 || math.IsInf(epsilon, 1):
		return math.Inf(1)
	case delta == 0:
		return 0
	}
	return gaussianMu([2]float64{epsilon, delta})
}

// gaussianMu returns GaussianMu of a budget of epsilon and delta if it has no simple form. It
// caches results, because a sweep uses a few budgets very often.
var gaussianMu = numeric.Remember(func(budget [2]float64) float64 {
	epsilon, delta := budget[0], budget[1]
	low := 0.0
	// This first guess is within a small factor of the answer, and above 0.
	high := math.Sqrt(2*RhoFromEpsilon(epsilon, delta)) + delta
	for GaussianDelta(high, epsilon) <= delta {
		low, high = high, 2*high
	}
	low, _ = numeric.Bisect(low, high, func(mu float64) bool { return GaussianDelta(mu, epsilon) <= delta })
	return low
})

// GaussianEpsilon returns the least epsilon for which mu-Gaussian differential privacy is
// (epsilon, delta)-differentially private. It is rounded up: GaussianDelta(mu, epsilon) <= delta
// holds for the number returned.
//
// mu is in [0, +Inf], delta in [0, 1]; outside these ranges the result is NaN. mu = 0 and delta = 1
// give 0; otherwise mu = +Inf and delta = 0 give +Inf.
func GaussianEpsilon(mu, delta float64) float64 {
	switch {
	case !(mu >= 0) || !isProbability(delta):
		return math.NaN()
	case mu == 0 || delta == 1:
		return 0
	case math.IsInf(mu, 1) || delta == 0:
		return math.Inf(1)
	case GaussianDelta(mu, 0) <= delta:
		return 0
	}
	high := EpsilonFromRho(mu*mu/2, delta)
	for GaussianDelta(mu, high) > delta {
		high *= 2
	}
	_, high = numeric.Bisect(0, high, func(epsilon float64) bool { return GaussianDelta(mu, epsilon) > delta })
	return high
}

// PureMu returns the least mu for which every (epsilon, 0)-differentially private mechanism is
// mu-Gaussian differentially private: 2 z, where z is the standard normal quantile at
// e^epsilon/(1 + e^epsilon). There the trade-off curve of mu meets the only corner of that of
// epsilon, and it is convex.
//
// epsilon is in [0, +Inf]; outside this range the result is NaN.
func PureMu(epsilon float64) float64 {
	switch {
	case !(epsilon >= 0):
		return math.NaN()
	case epsilon < 1:
		return 2 * math.Sqrt2 * math.Erfinv(math.Tanh(epsilon/2))
	case math.IsInf(epsilon, 1):
		return epsilon
	}
	tail := 1 / (1 + math.Exp(epsilon))
	_, mu := numeric.Bisect(0, 2*math.Sqrt(2*epsilon), func(mu float64) bool {
		return math.Erfc(mu/(2*math.Sqrt2))/2 > tail
	})
	return mu
}

// erfcx returns e^(x^2) erfc(x) for x >= 0: beyond 5 by its continued fraction, whose 60 levels
// are exact to the last digits there.
func erfcx(x float64) float64 {
	if x < 5 {
		return math.Exp(x*x) * math.Erfc(x)
	}
	tail := x
	for level := 60; level >= 1; level-- {
		tail = x + float64(level)/2/tail
	}
	return 1 / (math.Sqrt(math.Pi) * tail)
}
