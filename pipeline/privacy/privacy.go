// Package privacy accounts for privacy and makes noise.
//
// It promises: conversions between (epsilon, delta), zero-concentrated and Gaussian differential privacy, and composition of
// (epsilon, delta)-private mechanisms, that are accurate to about 11 digits and err, where they must, on the safe side; noise
// for experiments that is a function of seeded uniforms alone; and samplers that draw from their distributions exactly, without
// floating point.
//
// It needs nothing but the standard library. Noise made from a seed is for experiments and protects nobody: floating-point
// Gaussian, Gumbel and Laplace noise leaks through its support (Mironov, "On significance of the least significant bits for
// differential privacy", 2012). Whoever releases an answer about real people uses the exact samplers with [Secure].
//
// Neighbouring data sets differ by the replacement of one example; the number of examples is public.
//
// Start at [GaussianSigma] for calibrated noise, [RhoFromEpsilon] for concentrated privacy, [Composition] for a budget shared among
// mechanisms, [Uniform] for seeded noise and [PermuteAndFlip] for an exact mechanism.
package privacy

import "math"

// EpsilonFromRho gives the epsilon at which rho-zCDP is (epsilon, delta)-differentially private:
// rho + 2 sqrt(rho ln(1/delta)) (Bun, Carmosino and Sorrell 2020, Lemma 15).
//
// rho in [0, +Inf], delta in [0, 1]. At rho = 0 it is 0, even for delta = 0; otherwise delta = 0 gives +Inf. At delta = 1 it
// is rho, which the lemma says and nobody needs. NaN outside these ranges.
func EpsilonFromRho(rho, delta float64) float64 {
	if !(rho >= 0) || !isProbability(delta) {
		return math.NaN()
	}
	if rho == 0 || delta == 1 {
		return rho
	}
	return rho + 2*math.Sqrt(rho)*math.Sqrt(-math.Log(delta))
}

// RhoFromEpsilon gives the largest rho for which Lemma 15 makes rho-zCDP (epsilon, delta)-differentially private. It is the
// inverse of [EpsilonFromRho], written without cancellation: (epsilon / (sqrt(l + epsilon) + sqrt(l)))^2 with l = ln(1/delta).
//
// epsilon in [0, +Inf], delta in [0, 1]. epsilon = 0 gives 0, epsilon = +Inf gives +Inf, delta = 0 gives 0 for any finite
// epsilon, delta = 1 gives epsilon. NaN outside these ranges.
func RhoFromEpsilon(epsilon, delta float64) float64 {
	if !(epsilon >= 0) || !isProbability(delta) {
		return math.NaN()
	}
	if math.IsInf(epsilon, 1) {
		return epsilon
	}
	l := -math.Log(delta)
	root := epsilon / (math.Sqrt(l+epsilon) + math.Sqrt(l))
	if epsilon == 0 {
		return 0 // also at delta = 1, where the quotient is 0/0
	}
	return root * root
}

// GaussianRho gives the rho of one answer with Gaussian noise of standard deviation sigma per coordinate, when neighbouring
// data move the answer by at most sensitivity in Euclidean norm: (sensitivity/sigma)^2 / 2. Rounds add up, also adaptive ones.
//
// The weak learner of boosting with smooth distributions of density kappa has sensitivity 2/(kappa n), tight; the analysis
// printed in Bun, Carmosino and Sorrell 2020 uses 4/(kappa n).
func GaussianRho(sensitivity, sigma float64) float64 {
	ratio := sensitivity / sigma
	return ratio * ratio / 2
}

// GaussianSigma gives the least standard deviation per coordinate at which that many adaptive rounds of Gaussian noise, each
// of the given sensitivity, are together (epsilon, delta)-differentially private: sensitivity sqrt(rounds) / GaussianMu.
//
// It is exact: rounds of Gaussian noise compose to Gaussian differential privacy with mu = sensitivity sqrt(rounds) / sigma
// (Dong, Roth and Su 2019). +Inf where no noise is enough (delta = 0 with a finite epsilon, or epsilon = delta = 0), 0 where none is needed.
func GaussianSigma(sensitivity float64, rounds int, epsilon, delta float64) float64 {
	return sensitivity * math.Sqrt(float64(rounds)) / GaussianMu(epsilon, delta)
}

func isProbability(p float64) bool { return p >= 0 && p <= 1 }
