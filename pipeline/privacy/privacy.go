// Package privacy accounts for differential privacy and generates noise for experiments.
//
// It converts between (epsilon, delta)-, zero-concentrated and Gaussian differential privacy, and
// composes (epsilon, delta)-private mechanisms. The results are accurate to about 11 digits, and
// rounding errors are on the safe side. Noise is a function of seeded uniforms alone.
//
// The package depends only on the standard library and pipeline/numeric. Noise generated from a
// seed protects no one, and floating-point Gaussian, Gumbel and Laplace noise leaks through its
// support even with a secret seed (Mironov, "On significance of the least significant bits for
// differential privacy", 2012): this package is for experiments, not for releasing answers about
// real people.
//
// Neighboring data sets differ by the replacement of one example; the number of examples is
// public.
//
// Start at [GaussianSigma] for calibrated noise, [RhoFromEpsilon] for concentrated privacy,
// [Composition] for a budget shared among mechanisms, and [Uniform] for seeded noise.
package privacy

import "math"

// EpsilonFromRho returns the epsilon at which rho-zCDP is (epsilon, delta)-differentially private:
// rho + 2 sqrt(rho ln(1/delta)) (Bun, Carmosino and Sorrell 2020, Lemma 15).
//
// rho is in [0, +Inf], delta in [0, 1]; outside these ranges the result is NaN. At rho = 0 it is 0,
// even for delta = 0; otherwise delta = 0 gives +Inf. At delta = 1 it is rho, as the lemma says.
func EpsilonFromRho(rho, delta float64) float64 {
	if !(rho >= 0) || !isProbability(delta) {
		return math.NaN()
	}
	if rho == 0 || delta == 1 {
		return rho
	}
	return rho + 2*math.Sqrt(rho)*math.Sqrt(-math.Log(delta))
}

// RhoFromEpsilon returns the largest rho for which Lemma 15 of Bun, Carmosino and Sorrell 2020
// makes rho-zCDP (epsilon, delta)-differentially private. It is the inverse of [EpsilonFromRho],
// written without cancellation: (epsilon / (sqrt(l + epsilon) + sqrt(l)))^2 with l = ln(1/delta).
//
// epsilon is in [0, +Inf], delta in [0, 1]; outside these ranges the result is NaN. epsilon = 0
// gives 0 and epsilon = +Inf gives +Inf; for any other epsilon, delta = 0 gives 0 and delta = 1
// gives epsilon.
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

// GaussianSigma returns the least standard deviation per coordinate at which that many adaptive
// rounds of Gaussian noise, each answering with the given sensitivity (the largest distance in
// Euclidean norm between the answers on neighboring data sets), are together
// (epsilon, delta)-differentially private: sensitivity sqrt(rounds) / GaussianMu(epsilon, delta).
//
// The result is exact: rounds of Gaussian noise compose to Gaussian differential privacy with mu
// = sensitivity sqrt(rounds) / sigma (Dong, Roth and Su 2019). It is +Inf if no noise is enough
// (delta = 0 with a finite epsilon), and 0 if none is required.
func GaussianSigma(sensitivity float64, rounds int, epsilon, delta float64) float64 {
	return sensitivity * math.Sqrt(float64(rounds)) / GaussianMu(epsilon, delta)
}

func isProbability(p float64) bool { return p >= 0 && p <= 1 }
