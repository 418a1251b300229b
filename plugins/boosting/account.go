package boosting

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// guarantee returns the privacy of the budget or, if n and the noise are both fixed, the privacy
// that the noise spends.
func guarantee(s *algo.Setting[Params]) (algo.Guarantee, error) {
	a := accounting(s)
	g := algo.Guarantee{Epsilon: s.Epsilon, Delta: s.Delta, Source: a.source}
	mu := a.mu
	if s.N > 0 && s.Params.Preset != Calibrated {
		p := &s.Params
		mu = a.spent(float64(s.N), p.Rounds, p.Kappa, p.Sigma)
		g.Epsilon = min(s.Epsilon, a.epsilon(mu, s.Delta))
	}
	if s.Params.Preset == PaperPreset {
		g.Rho = mu * mu / 2
	} else {
		g.Mu = mu
	}
	return g, nil
}

// An account adds up the privacy spent by the noise of all rounds.
type account struct {
	sensitivity float64                         // sensitivity of the weak learner times kappa n
	mu          float64                         // the budget, in Gaussian DP: rho = mu^2/2
	epsilon     func(mu, delta float64) float64 // epsilon for a spent mu
	source      string                          // proof of the account
}

// spent returns the mu of all rounds together, sensitivity sqrt(T) / (kappa n sigma).
func (a account) spent(n float64, rounds int, kappa, sigma float64) float64 {
	return a.sensitivity * math.Sqrt(float64(rounds)) / (kappa * n * sigma)
}

// accounting returns the account for the preset of a setting.
func accounting(s *algo.Setting[Params]) account {
	if s.Params.Preset == PaperPreset {
		return printedAccount(s.Epsilon, s.Delta)
	}
	return exactAccount(s.Epsilon, s.Delta)
}

// exactAccount uses the exact sensitivity and the exact composition of Gaussian mechanisms.
func exactAccount(epsilon, delta float64) account {
	return account{
		sensitivity: 2,
		mu:          privacy.GaussianMu(epsilon, delta),
		epsilon:     privacy.GaussianEpsilon,
		source: "Gaussian differential privacy of T adaptive rounds (Dong, Roth and Su 2019), " +
			"each of sensitivity 2/(kappa n), for noise of real numbers",
	}
}

// printedAccount follows the paper as printed.
func printedAccount(epsilon, delta float64) account {
	return account{
		sensitivity: 4,
		mu:          math.Sqrt(2 * privacy.RhoFromEpsilon(epsilon, delta)),
		epsilon:     func(mu, delta float64) float64 { return privacy.EpsilonFromRho(mu*mu/2, delta) },
		source: source2020 + ", Theorem 27, Lemmas 14 and 15: " +
			"T rounds of 8/(kappa n sigma)^2-zCDP, for noise of real numbers",
	}
}
