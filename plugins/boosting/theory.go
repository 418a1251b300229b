package boosting

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// A schedule holds the parameters of HS-StL that bounds depend on.
type schedule struct {
	rounds        int
	lambda, kappa float64
	sigma         func(n float64) float64 // standard deviation of the noise per coordinate
	calibrated    bool                    // whether sigma spends the budget exactly, at any n
}

// paperSchedule returns the schedule of Algorithm 5 as printed, with the rounds rounded up.
func paperSchedule(alpha, beta, tau, c float64) schedule {
	kappa := alpha / 4
	l := math.Log(1 / kappa)
	sigma := tau / (8 * c * math.Sqrt(math.Log(3072*l/(beta*tau*tau))))
	return schedule{
		rounds: int(math.Ceil(1024 * l / (tau * tau))),
		lambda: tau / 8,
		kappa:  kappa,
		sigma:  func(float64) float64 { return sigma },
	}
}

// theoremASchedule returns the schedule of Theorem A (see proves), for kappa <= 1/e.
func theoremASchedule(kappa, tau, beta float64) schedule {
	rounds := int(math.Ceil(16 * math.Log(1/kappa) / (tau * tau)))
	return schedule{
		rounds: rounds,
		lambda: 1,
		kappa:  kappa,
		sigma: func(n float64) float64 {
			return tau / (2 * math.Sqrt(2*math.Log(4*n*float64(rounds)/beta)))
		},
	}
}

// calibratedSchedule returns the schedule with the least noise that the budget allows at each n.
func calibratedSchedule(p *Params, epsilon, delta float64) schedule {
	a := exactAccount(epsilon, delta)
	return schedule{
		rounds: p.Rounds,
		lambda: p.Lambda,
		kappa:  p.Kappa,
		sigma:  func(n float64) float64 { return a.spent(n, p.Rounds, p.Kappa, 1) / a.mu },

		calibrated: true,
	}
}

// scheduleOf returns the schedule of resolved parameters.
func scheduleOf(s *algo.Setting[Params]) schedule {
	p := &s.Params
	switch p.Preset {
	case PaperPreset, PaperTight:
		return paperSchedule(s.Alpha, s.Beta, p.Tau, p.C)
	case TheoremA:
		return theoremASchedule(p.Kappa, effectiveMargin(p.Tau, s.Problem.NoiseRate), s.Beta)
	default:
		return calibratedSchedule(p, s.Epsilon, s.Delta)
	}
}

// effectiveMargin returns the least norm of a smooth centering vector z: tau, or tau/2 if up to a
// kappa tau/4 share of the labels is corrupted, because then |z| >= (1 - tau/4) tau - tau/4.
func effectiveMargin(tau, noiseRate float64) float64 {
	if noiseRate > 0 {
		return tau / 2
	}
	return tau
}

// least returns the smallest n at and above which the schedule stays within the budget of a.
func (s schedule) least(a account) float64 {
	if s.calibrated {
		return 1
	}
	return numeric.LeastFrom(1, func(n float64) bool {
		return a.spent(n, s.rounds, s.kappa, s.sigma(n)) <= a.mu
	})
}

// A goal is the target of a proved sample size: an error of at most alpha against clean labels with
// probability 1 - beta.
type goal struct {
	alpha, beta float64
	margin      float64 // margin that the problem guarantees
	noise       string  // as in algo.Problem
	rate        float64 // rate of the noise
}

// corruption returns a bound on the share of wrong labels that leaves smooth distributions of
// density kappa half their margin, and beta minus the probability that the bound fails. ok is false
// if the rate is too high.
func (g goal) corruption(n, kappa float64) (share, beta float64, ok bool) {
	if g.rate == 0 {
		return 0, g.beta, true
	}
	beta = g.beta
	if g.noise == "random" {
		beta -= math.Exp(-kappa * g.margin * n / 24)
	}
	return kappa * g.margin / 4, beta, g.tolerates(kappa) && beta > 0
}

// tolerates reports whether the weak learner keeps its margin under label noise at this rate.
func (g goal) tolerates(kappa float64) bool { return g.rate == 0 || g.rate <= g.bearable(kappa) }

// bearable returns the largest rate of label noise under which the weak learner keeps its margin.
func (g goal) bearable(kappa float64) float64 {
	if g.noise == "random" {
		return kappa * g.margin / 8
	}
	return kappa * g.margin / 4
}

// reached reports whether a unit vector w is proved to reach the goal from n examples if, for all
// samples, fewer than kappa n of the examples, with their given labels, have y <w, x> below theta.
// By the Rademacher complexity of the unit ball, the error is at most the share of clean margins
// below theta, plus 2/(theta sqrt(n)) + sqrt(ln(1/beta)/(2n)).
func (g goal) reached(n, kappa, theta float64) bool {
	corrupted, beta, ok := g.corruption(n, kappa)
	gap := 2/(theta*math.Sqrt(n)) + math.Sqrt(math.Log(1/beta)/(2*n))
	return ok && theta > 0 && kappa+corrupted+gap <= g.alpha
}

// sufficient returns the smallest n, at or above a given one, at which proves holds; +Inf if there
// is none.
func (s schedule) sufficient(from float64, g goal) float64 {
	return numeric.LeastFrom(from, func(n float64) bool { return s.proves(n, g) })
}

// proves reports whether HS-StL with weak learner raw and loss linear is proved to reach the goal
// from n examples. In short, with L = ln(1/kappa), tau halved if labels are corrupted (see
// effectiveMargin), and b half of the part of beta that part 1 does not use:
//
//  1. At most a kappa tau/4 share of the labels is corrupted: by the rate or, for random noise at
//     rate kappa tau/8 and below, by Chernoff, which fails with probability exp(-kappa tau n/24).
//  2. Except with probability b, all |<v_i, noise_t>| <= M = sigma sqrt(2 ln(4nT/b)), and the mean
//     of <noise_t, z_t> is at least -(g/2)(s^2/tau + tau) with g = sigma sqrt(2 ln(2/b)/T), as
//     exp(-a<noise,z> - a^2 sigma^2 |z|^2/2) is a martingale. Here s^2 is the mean of
//     |z_t|^2 >= tau^2. By the regret of the rounds (see certificate, with half the spread bounded
//     by |z_t| + M) fewer than kappa n examples have a margin up to
//     theta(s) = s^2 - (g/2)(s^2/tau + tau) - (lambda/4)(s+M)^2 - 2L/(lambda T).
//  3. The hypothesis is z + N with |z| <= s and N, the mean noise, independent of the sample, and a
//     fixed translation changes no Rademacher complexity. So, except with probability b, the error
//     is at most the share of clean margins below theta, plus
//     2B/(theta sqrt(n)) + sqrt(ln(J/b)/(2n)), for s <= B on a grid of J points from tau to 1. As
//     s/theta(s) decreases, the first point is the worst.
//
// With lambda = 1, T = 16 L/tau^2 and sigma = tau/(2 sqrt(2 ln(4nT/beta))) part 2 is Theorem A:
// fewer than kappa n training examples have a margin up to (3/32) s^2, with probability 1 - beta.
func (s schedule) proves(n float64, g goal) bool {
	corrupted, beta, ok := g.corruption(n, s.kappa)
	if !ok {
		return false
	}
	tau := effectiveMargin(g.margin, g.rate)
	beta /= 2
	const step = 1.02 // ratio of neighboring grid points
	theta := s.trainingMargin(n, tau, beta)
	points := math.Ceil(math.Log(1/tau)/math.Log(step)) + 1
	gap := 2*step*tau/(theta*math.Sqrt(n)) + math.Sqrt(math.Log(points/beta)/(2*n))
	return theta > 0 && s.kappa+corrupted+gap <= g.alpha
}

// trainingMargin returns theta(tau) of proves, for the failure probability b. A value that is not
// positive gives no guarantee.
func (s schedule) trainingMargin(n, tau, b float64) float64 {
	rounds, sigma := float64(s.rounds), s.sigma(n)
	m := float64(sigma * math.Sqrt(2*math.Log(4*n*rounds/b)))
	drift := sigma * math.Sqrt(2*math.Log(2/b)/rounds)
	if 1-drift/(2*tau)-s.lambda/4 <= 0 { // s/theta(s) need not decrease in this case
		return 0
	}
	return float64(tau*tau) - float64(drift*tau) - float64(s.lambda/4*(tau+m)*(tau+m)) -
		2*math.Log(1/s.kappa)/(s.lambda*rounds)
}

// printedAccuracy returns the smallest n at which Theorem 28 implies error alpha/2 beyond the
// training error at margin tau/8, and f = fat(tau/128), which is 65536/tau^2 by Lemma 29. The
// square root of the theorem is read as sqrt((2/n)(f ln(34en/f) log2(578n) + ln(4/delta))) with
// delta = beta/3. In the printed version ln(4/delta) is not divided by n, so the bound is void.
func printedAccuracy(alpha, beta, tau float64) (n, fat float64) {
	fat = 65536 / (tau * tau)
	n = numeric.LeastFrom(math.Ceil(fat), func(n float64) bool {
		complexity := float64(fat*math.Log(34*math.E*n/fat)*math.Log2(578*n)) + math.Log(12/beta)
		return math.Sqrt(2/n*complexity) <= alpha/2
	})
	return n, fat
}

// maxInteger is the largest integer up to which float64 represents every integer.
const maxInteger = 1 << 53
