package online

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The regret of follow-the-perturbed-leader, for losses in [0, 1]: let L_t be the cumulative losses
// after round t, l_t the losses in round t, N the noise, drawn again in every round, f_t the
// minimizer of L_{t-1} + eta N that is played, and g_t the minimizer of L_t + eta N for the same
// noise.
//
// By the be-the-leader lemma (Kalai and Vempala 2005), sum l_t(g_t) + eta N(g_0) <= L_T(f) + eta
// N(f) for every f, so that
//
//	sum E l_t(g_t) <= L* + eta G    with    G >= E max_f (N(f*) - N(f)) for a fixed f*.
//
// If P(f_t in O) <= e^eps P(g_t in O) + delta for every set O, as differential privacy of one round
// would imply, then E l_t(f_t) <= e^eps E l_t(g_t) + delta, and in total
//
//	E Reg <= eta G + (e^eps - 1)(L* + eta G) + T delta.                        (1)
//
// The distribution of f_t depends on the rounds before t only through L_{t-1}. So (1) bounds the
// sum of the expected losses for each actual sequence, with the L* of that sequence: if the noise
// is fresh and a truth does not depend on the noise of its round, the mean of the regret minus the
// bound is at most 0 also for an adaptive adversary, whose L* is random. Noise that is drawn once
// has the same distribution in each round, but earlier rounds reveal it unless the sequence was
// fixed beforehand.
//
// Such an eps comes from a shift: if u_f exists with eta <u_f, v_g - v_f> >= l_t(g) - l_t(f) for
// all g, where the noise is N(f) = <xi, v_f>, then xi + u_f makes f the minimizer after round t
// whenever xi made it the minimizer before. The two differ only by l_t, hence:
//
//   - unit vectors v_f at squared distances of rho^2 or more: u_f = -lambda v_f with lambda =
//     2/(eta rho^2), because <-v_f, v_g - v_f> = |v_f - v_g|^2/2. Normal densities at xi and xi +
//     u_f differ by at most e^(lambda w + lambda^2/2) outside of an event of probability delta, for
//     w = Phi^-1(1 - delta/|F|). (Lemma 1 of Block and Shetty 2025 claims this with other constants
//     and for real values; its proof does not hold there, and {-1, 0, 1} is a counterexample.)
//   - independent noise for every f: v_f are orthonormal, rho^2 = 2. With Laplace noise, or with
//     exponential noise that is subtracted, u_f moves one coordinate by 1/eta against f, and eps =
//     1/eta without a delta.
//   - Laplace noise of scale b on 0/1 labels at m points, of which any two hypotheses differ on h:
//     u_f = (1 - 2 F_f)/h, and eps = m/(h b). Where every point that the adversary can choose is
//     among them, l_t itself is linear in the labels and u is one coordinate: eps = 1/b.
//   - uniform noise on [-A, A] has no such eps. There the label of f at each of the m points
//     changes with probability 1/(2A) at most, and the rounds cost T m/(2A) in all.

// A price holds the terms of (1) for a kind of noise, and drift/eta for uniform noise. eta is in
// the units of the algorithm.
type price struct {
	complexity float64                     // G
	stability  func(scale float64) float64 // eps
	slack      float64                     // T delta
	drift      float64
}

// bound returns a bound on the expected regret of a sequence whose best hypothesis loses lstar. It
// is +Inf without noise, because nothing is proved then.
func (p price) bound(scale, lstar float64) float64 {
	if scale == 0 {
		return math.Inf(1)
	}
	noise := float64(scale * p.complexity)
	return noise + float64(math.Expm1(p.stability(scale))*(lstar+noise)) + p.slack + p.drift/scale
}

// least returns the scale with the least bound. It searches between e^-3 and e^20, where the bound
// first falls and then rises.
func (p price) least(lstar float64) float64 {
	return math.Exp(numeric.Golden(func(ln float64) float64 { return p.bound(math.Exp(ln), lstar) }, -3, 20, 100))
}

// normalPrice returns the price of standard normal noise under shifts of length shift/eta. A round
// may fail with probability share/T.
func normalPrice(complexity, shift, lnF float64, rounds int, share float64) price {
	t := float64(max(1, rounds))
	w := -mathext.NormalQuantile(math.Exp(math.Log(min(0.5, share/t)) - lnF))
	return price{complexity: complexity, slack: share, stability: func(scale float64) float64 {
		lambda := shift / scale
		return float64(lambda*w) + float64(lambda*lambda/2)
	}}
}

// unitPrice returns the price of Gaussian noise on unit vectors at squared distances of at least
// rho2.
func unitPrice(rho2, lnF float64, rounds int, share float64) price {
	return normalPrice(math.Sqrt(2*lnF), 2/rho2, lnF, rounds, share)
}

// purePrice returns the price of noise with eps = shift/scale and no delta.
func purePrice(complexity, shift float64) price {
	return price{complexity: complexity, stability: func(scale float64) float64 { return shift / scale }}
}

// laplaceComplexity bounds E max_f of the sums +-a_j/2 of m Laplace variables of scale 1: the sum
// of all |a_j|/2 has mean m/2, and by E e^(s a/2) = 1/(1 - s^2/4) and Jensen every s in (0, 2)
// gives (ln|F| - m ln(1 - s^2/4))/s, a convex function over a linear one.
func laplaceComplexity(m int, lnF float64) float64 {
	k := float64(m)
	value := func(s float64) float64 { return (lnF - float64(k*math.Log1p(-s*s/4))) / s }
	return min(k/2, value(numeric.Golden(value, 0, 2, 100)))
}

// harmonic returns H_n = 1 + 1/2 + ... + 1/n for n = e^lnN, the mean of the largest of n
// exponential variables.
func harmonic(lnN float64) float64 {
	n := math.Round(math.Exp(min(lnN, 30)))
	if n > 1e4 {
		return lnN + 0.5772156649015329 + 1/(2*math.Exp(lnN)) // above H_n by less than 1/(8 n^2)
	}
	sum := 0.0
	for k := n; k >= 1; k-- {
		sum += 1 / k
	}
	return sum
}

// maxLaplace bounds the mean of the largest of n Laplace variables. The mean of its positive part
// is the integral of (1 - (1-u)^n)/u over 0..1/2, which is H_n - ln 2 up to an error of at most
// 2^-n/(n+1).
func maxLaplace(lnN float64) float64 {
	n := math.Exp(lnN)
	return harmonic(lnN) - math.Ln2 + math.Exp2(-n)/(n+1)
}

// The functions below return the numbers as printed in Block and Shetty 2025, Theorem 1, for a
// separation rho in 0/1 labels, where rho^2 = h/m. Noise of eta on 0/1 labels is noise of eta/2 on
// -1/+1 labels, except for a part that is the same for all hypotheses.

// printedScale returns the eta of the proof of Theorem 1, in 0/1 labels.
func printedScale(rho01, lnF, lstar float64, rounds int) float64 {
	return max(2*math.Sqrt(lstar+lnF)/rho01, 64/(rho01*rho01)*math.Sqrt(lnTF(lnF, rounds)))
}

// printedRegret returns the bound of Theorem 1, (2): 1 + 16 sqrt(L* ln(2T|F|))/rho + 64
// ln(2T|F|)/rho^2.
func printedRegret(rho01, lnF, lstar float64, rounds int) float64 {
	ln := lnTF(lnF, rounds)
	return 1 + 16*math.Sqrt(ln*lstar)/rho01 + 64*ln/(rho01*rho01)
}

// printedDisplay returns the last display of the proof of Theorem 1 at an eta in 0/1 labels, before
// eta is chosen. It restores the factor eta that is missing from the Gaussian complexity, for which
// the proof writes sqrt(ln|F|): 2 eta sqrt(ln|F|) + 64 sqrt(ln(2T|F|))/(eta rho^2) (L* + 2 eta
// sqrt(ln|F|)) + 1.
func printedDisplay(rho01, lnF, lstar, eta01 float64, rounds int) float64 {
	noise := 2 * eta01 * math.Sqrt(lnF)
	return noise + float64(64*math.Sqrt(lnTF(lnF, rounds))/(eta01*rho01*rho01)*(lstar+noise)) + 1
}

// lnTF returns ln(2T|F|).
func lnTF(lnF float64, rounds int) float64 { return math.Log(2*float64(max(1, rounds))) + lnF }

// printedApproximable returns (3) of the same paper, which is Theorem 1 of Wang et al. 2022, with
// its unspecified constants set to 1.
func printedApproximable(m int, gamma, lnF, lstar float64) float64 {
	spread := lnF + math.Sqrt(float64(m)*lnF)
	return 1 + float64((spread+gamma)*math.Sqrt(lstar)) + float64(gamma*gamma) + float64(gamma*spread)
}

// printedUniform returns the rate of Dudik et al. 2020 that Block and Shetty 2025 compare with, m
// sqrt(T), for values that differ by 0 or 1.
func printedUniform(m, rounds int) float64 { return float64(m) * math.Sqrt(float64(rounds)) }

// printedLaplace returns the rate of Syrgkanis, Krishnamurthy and Schapire 2016 that Block and
// Shetty 2025 compare with: m^(1/4) times their own sqrt(m T ln|F|).
func printedLaplace(m int, lnF float64, rounds int) float64 {
	return math.Pow(float64(m), 0.75) * math.Sqrt(float64(rounds)*lnF)
}

// printedCorollary returns Corollary 1 of Block and Shetty 2025 with its unspecified constants set
// to 1.
func printedCorollary(m int, gamma, lnF, lstar float64, rounds int) float64 {
	ln := lnTF(lnF, rounds) - math.Ln2
	return 1 + float64(gamma*math.Sqrt(float64(m)*ln*lstar)) + float64(float64(m)*gamma*gamma*ln)
}
