package boosting

import (
	"maps"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// Sources of bounds and guarantees.
const (
	source2020  = "Bun, Carmosino and Sorrell 2020"
	sourceExact = "Theorem 30 with sensitivity 2/(kappa n) and exact Gaussian accounting; privacy alone"

	sourceTheoremA = "Theorem A (plugins/boosting, proves: lambda 1, T = 16 ln(1/kappa)/tau^2, kappa = alpha); " +
		"privacy and training error below alpha alone"
	sourceMargin = "Rademacher complexity at relative margin tau/4 " +
		"(boosting without noise, lambda 2, T = 4 ln(1/kappa)/tau^2, kappa = alpha/2); generalization alone"
	sourceProof = "HS-StL with preset theorem-a and the best kappa: " +
		"Theorem A and Rademacher complexity (plugins/boosting, proves); privacy and population error"
	sourceBregman = "regret of the rounds and Rademacher complexity at the margin that it leaves " +
		"(plugins/boosting, relativeMargin and reached); population error"
	sourceSmooth = "end of SmoothBoost and Rademacher complexity at its margin gamma/(2+gamma) " +
		"(plugins/boosting, newFading and reached); population error"
	sourceOwn = "HS-StL with this row's own parameters: " +
		"the proof of Theorem A and Rademacher complexity (plugins/boosting, proves); privacy and population error"
)

// bounds returns what theory says about HS-StL and this problem. A bound marked proved means that
// at this n, with the parameters that the source names, HS-StL is private and reaches alpha with
// probability 1 - beta. A half of that, privacy or generalization alone, is not marked proved,
// though its own statement may be.
func bounds(s *algo.Setting[Params]) ([]algo.Bound, error) {
	if err := resolve(s); err != nil {
		return nil, err
	}
	g, ok := goalOf(s)
	if !ok {
		return nil, nil
	}
	all := append(printedBounds(s, g), theoremABounds(s, g)...)
	if own, ok := ownBound(s, g); ok {
		all = append(all, own)
	}
	return all, nil
}

// goalOf returns the goal of a setting. It is not ok if the target promises no margin to build for,
// which every statement needs.
func goalOf[P any](s *algo.Setting[P]) (g goal, ok bool) {
	p := s.Problem
	g = goal{alpha: s.Alpha, beta: s.Beta, margin: p.Margin, noise: p.Noise, rate: p.NoiseRate}
	return g, p.Margin >= leastMargin && p.Realizable
}

// printedBounds returns the paper's bounds, or none if it does not claim to tolerate the noise.
// Their proofs need an advantage of tau/8 from the weak learner as printed, which has tau^2/2, and
// a margin of tau/8 that it cannot reach.
func printedBounds(s *algo.Setting[Params], g goal) []algo.Bound {
	c := s.Params.C
	if c == 0 {
		c = math.Sqrt(0.5)
	}
	plan := paperSchedule(g.alpha, g.beta, g.margin, c)
	if !g.tolerates(plan.kappa) || g.noise == "adversarial" {
		return nil
	}
	printed, exact := printedAccount(s.Epsilon, s.Delta), exactAccount(s.Epsilon, s.Delta)
	private := plan.least(printed)
	accuracy, fat := printedAccuracy(g.alpha, g.beta, g.margin)
	if g.rate > 0 {
		accuracy = max(accuracy, math.Ceil(24*math.Log(3/g.beta)/(plan.kappa*g.margin)))
	}
	with := map[string]float64{
		"rounds": float64(plan.rounds), "lambda": plan.lambda, "kappa": plan.kappa, "sigma": plan.sigma(0), "c": c,
	}
	tight := plan.least(exact)
	formal, spent := randomNoiseBound(s, g, plan)
	return []algo.Bound{
		{Name: "theorem-30", Source: source2020 + ", Theorem 30: the larger of privacy and accuracy",
			Value: max(private, accuracy), With: map[string]float64{"privacy": private, "accuracy": accuracy}},
		{Name: "theorem-30-privacy", Source: source2020 + ", Theorem 30: sqrt(8T/rho)/(kappa sigma); privacy alone",
			Value: private, With: merged(with, map[string]float64{"rho": printed.mu * printed.mu / 2})},
		{Name: "theorem-30-accuracy",
			Source: source2020 + ", Theorem 30 by Theorem 28 (misprint corrected) and Lemma 29; accuracy alone",
			Value:  accuracy, With: map[string]float64{"fat": fat, "kappa": plan.kappa}},
		{Name: "theorem-33", Source: source2020 + ", Theorem 33: random label noise, generalization from privacy",
			Value: formal, With: merged(with, spent)},
		{Name: "theorem-30-privacy-tight", Source: sourceExact,
			Value: tight, With: merged(with, map[string]float64{"mu": exact.mu})},
	}
}

// randomNoiseBound returns the n of Theorem 33, in the limit of its strict inequalities: the final
// hypothesis must be (epsilon_t, delta_t)-private with epsilon_t < min(epsilon, alpha/36), so that
// privacy gives generalization. It also returns epsilon_t and delta_t.
func randomNoiseBound(s *algo.Setting[Params], g goal, plan schedule) (n float64, spent map[string]float64) {
	phi := min(s.Epsilon, g.alpha/36)
	epsilon := min(phi, 1.0/3)
	delta := min(s.Delta, phi*g.beta/4, epsilon/4)
	private := plan.least(printedAccount(epsilon, delta))
	general := math.Log(4*epsilon/delta) / (epsilon * epsilon)
	corrupted := 96 * math.Log(4/g.beta) / (g.alpha * g.margin)
	n = max(private, math.Ceil(general), math.Ceil(corrupted))
	return n, map[string]float64{"epsilon_t": epsilon, "delta_t": delta}
}

// theoremABounds returns the halves of Theorem A at kappa = alpha and alpha/2, and the n that it
// proves with the best kappa.
func theoremABounds(s *algo.Setting[Params], g goal) []algo.Bound {
	exact := exactAccount(s.Epsilon, s.Delta)
	tau := effectiveMargin(g.margin, g.rate)
	var all []algo.Bound
	if plan := theoremASchedule(min(g.alpha, 1/math.E), tau, g.beta); g.tolerates(plan.kappa) {
		n := plan.least(exact)
		all = append(all, algo.Bound{
			Name: "theorem-a-privacy", Source: sourceTheoremA, Value: n, With: plan.values(n, exact.mu),
		})
	}
	if g.rate == 0 {
		root := (8/tau + math.Sqrt(math.Log(3/g.beta)/2)) / (g.alpha / 2)
		all = append(all, algo.Bound{Name: "generalization", Source: sourceMargin, Value: math.Ceil(root * root),
			With: map[string]float64{"margin": tau / 4, "kappa": g.alpha / 2}})
	}
	best, plan := math.Inf(1), schedule{}
	for step := 1; step <= 32; step++ {
		try := theoremASchedule(g.alpha*math.Pow(2, -float64(step)/4), tau, g.beta)
		if try.kappa > 1/math.E {
			continue
		}
		if n := try.sufficient(try.least(exact), g); n < best {
			best, plan = n, try
		}
	}
	if !math.IsInf(best, 1) {
		all = append(all, algo.Bound{
			Name: "theorem-a", Source: sourceProof, Value: best, Proved: true, With: plan.values(best, exact.mu),
		})
	}
	return all
}

// ownBound returns what the proof of Theorem A gives for the parameters of a setting. It is not ok
// if that is nothing.
func ownBound(s *algo.Setting[Params], g goal) (algo.Bound, bool) {
	p := &s.Params
	if p.Weak != Raw || p.Loss != Linear || p.Debias {
		return algo.Bound{}, false
	}
	plan, a := scheduleOf(s), accounting(s)
	n := plan.sufficient(plan.least(a), g)
	if math.IsInf(n, 1) {
		return algo.Bound{}, false
	}
	return algo.Bound{
		Name: "own-parameters", Source: sourceOwn, Value: n, Proved: true, With: plan.values(n, a.mu),
	}, true
}

// provedBound returns the n from which on the goal is reached by a w of which fewer than kappa n
// examples have a margin below theta, relative to |w|; no bound if there is none. It adds kappa and
// theta to with.
func provedBound(g goal, kappa, theta float64, source string, with map[string]float64) []algo.Bound {
	n := leastFrom(1, func(n float64) bool { return g.reached(n, kappa, theta) })
	if math.IsInf(n, 1) {
		return nil
	}
	with["kappa"], with["margin"] = kappa, theta
	return []algo.Bound{{Name: "own-parameters", Source: source, Value: n, Proved: true, With: with}}
}

// values returns the schedule at n, and the budget mu, as intermediate values of a bound.
func (s schedule) values(n, mu float64) map[string]float64 {
	return map[string]float64{
		"rounds": float64(s.rounds), "lambda": s.lambda, "kappa": s.kappa, "sigma": s.sigma(n), "mu": mu,
	}
}

// merged returns a map with the entries of both.
func merged(a, b map[string]float64) map[string]float64 {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
