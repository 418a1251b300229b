package boosting

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Sources of bounds and guarantees.
const (
	source2020  = "Bun, Carmosino and Sorrell 2020"
	sourceExact = "Theorem 30 with sensitivity 2/(kappa n) and exact Gaussian accounting"

	sourceTheoremA = "Theorem A, Shatter's own (plugins/boosting, proves: lambda 1, T = 16 ln(1/kappa)/tau^2, " +
		"kappa = alpha)"
	sourceMargin = "Shatter's own: Rademacher complexity at relative margin tau/4 " +
		"(boosting without noise, lambda 2, T = 4 ln(1/kappa)/tau^2, kappa = alpha/2)"
	sourceProof = "Theorem A, Shatter's own, and Rademacher complexity (plugins/boosting, proves), " +
		"with preset theorem-a and the best kappa; privacy and population error"
	sourceBregman = "Shatter's own: regret of the rounds and Rademacher complexity at the resulting margin " +
		"(plugins/boosting, relativeMargin and reached); population error"
	sourceSmooth = "Shatter's own: end of SmoothBoost and Rademacher complexity at its margin gamma/(2+gamma) " +
		"(plugins/boosting, newFading and reached); population error"
	sourceOwn = "the proof of Theorem A, Shatter's own, and Rademacher complexity (plugins/boosting, proves), " +
		"with this row's parameters; privacy and population error"
)

// bounds returns the bounds for HS-StL and this problem. A bound that does not fail states that at
// this n the row itself is private and reaches alpha with probability 1 - beta. Statements about
// HS-StL with other parameters, and partial statements such as privacy alone, follow it and fail.
func bounds(s *algo.Setting[Params]) ([]algo.Bound, error) {
	g := goalOf(s)
	if g.margin < leastMargin {
		return []algo.Bound{own(g, math.Inf(1), 0, 0, sourceOwn, nil)}, nil
	}
	all := append([]algo.Bound{ownBound(s, g), theoremABound(s, g)}, printedBounds(s, g)...)
	return append(all, halvesOfTheoremA(s, g)...), nil
}

// goalOf returns the goal of a setting: the error to reach and its conditions.
func goalOf[P any](s *algo.Setting[P]) goal {
	alpha, beta := s.Proof()
	return goal{alpha: alpha, beta: beta, margin: s.Problem.Margin, noise: s.Problem.Noise, rate: s.Problem.NoiseRate}
}

// asStated returns the goal with the alpha and beta of the setting, which determine the parameters
// in statements for every alpha and beta.
func (g goal) asStated(s *algo.Setting[Params]) goal {
	g.alpha, g.beta = s.Alpha, s.Beta
	return g
}

// printedBounds returns the paper's bounds, which are about Algorithm 5 as printed. Their proofs
// require an advantage of tau/8 from the printed weak learner, which has tau^2/2, and a margin of
// tau/8 that it cannot reach.
func printedBounds(s *algo.Setting[Params], g goal) []algo.Bound {
	g = g.asStated(s)
	c := s.Params.C
	if c == 0 {
		c = math.Sqrt(0.5)
	}
	plan := paperSchedule(g.alpha, g.beta, g.margin, c)
	printed, exact := printedAccount(s.Epsilon, s.Delta), exactAccount(s.Epsilon, s.Delta)
	private, tight := plan.least(printed), plan.least(exact)
	accuracy, fat := printedAccuracy(g.alpha, g.beta, g.margin)
	if g.rate > 0 {
		accuracy = max(accuracy, math.Ceil(24*math.Log(3/g.beta)/(plan.kappa*g.margin)))
	}
	formal, spent := randomNoiseBound(s, g, plan)
	with := map[string]float64{
		"rounds": float64(plan.rounds), "lambda": plan.lambda, "kappa": plan.kappa, "sigma": plan.sigma(0), "c": c,
	}
	premises := []algo.Premise{algo.TargetInClass, algo.IndependentNoise, algo.ExactError}
	fails := cmp.Or(g.tooNoisy(plan.kappa), plan.differs(s, PaperPreset, PaperTight))
	return []algo.Bound{
		{Name: "theorem-30", Source: source2020 + ", Theorem 30: the larger of privacy and accuracy",
			Value: max(private, accuracy), With: map[string]float64{"privacy": private, "accuracy": accuracy},
			Premises: premises, Fails: fails},
		{Name: "theorem-30-privacy", Source: source2020 + ", Theorem 30: sqrt(8T/rho)/(kappa sigma)",
			Value: private, With: merged(with, map[string]float64{"rho": printed.mu * printed.mu / 2}),
			Premises: premises, Fails: "it covers only privacy"},
		{Name: "theorem-30-accuracy",
			Source: source2020 + ", Theorem 30 by Theorem 28 (misprint corrected) and Lemma 29",
			Value:  accuracy, With: map[string]float64{"fat": fat, "kappa": plan.kappa},
			Premises: premises, Fails: "it covers only accuracy"},
		{Name: "theorem-33", Source: source2020 + ", Theorem 33: random label noise, generalization from privacy",
			Value: formal, With: merged(with, spent),
			Premises: premises, Fails: fails},
		{Name: "theorem-30-privacy-tight", Source: sourceExact,
			Value: tight, With: merged(with, map[string]float64{"mu": exact.mu}),
			Premises: premises, Fails: "it covers only privacy"},
	}
}

// randomNoiseBound returns the n of Theorem 33, in the limit of its strict inequalities: the final
// hypothesis must be (epsilon_t, delta_t)-private with epsilon_t < min(epsilon, alpha/36), so that
// privacy implies generalization. It also returns epsilon_t and delta_t.
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

// halvesOfTheoremA returns the halves of Theorem A at kappa = alpha and alpha/2.
func halvesOfTheoremA(s *algo.Setting[Params], g goal) []algo.Bound {
	g = g.asStated(s)
	exact := exactAccount(s.Epsilon, s.Delta)
	plan := theoremASchedule(min(g.alpha, 1/math.E), effectiveMargin(g.margin, g.rate), g.beta)
	n := plan.least(exact)
	root := (8/g.margin + math.Sqrt(math.Log(3/g.beta)/2)) / (g.alpha / 2)
	return []algo.Bound{
		{Name: "theorem-a-privacy", Source: sourceTheoremA, Value: n, With: plan.values(n, exact.mu),
			Premises: []algo.Premise{algo.TargetInClass, algo.ExactError},
			Fails:    "it covers only privacy and the training error"},
		{Name: "generalization", Source: sourceMargin, Value: math.Ceil(root * root),
			With:     map[string]float64{"margin": g.margin / 4, "kappa": g.alpha / 2},
			Premises: []algo.Premise{algo.TargetInClass, algo.CleanLabels, algo.ExactError},
			Fails:    "it covers only generalization"},
	}
}

// A proofA holds the inputs of the best schedule of Theorem A.
type proofA struct {
	goal
	budget       [2]float64 // epsilon, delta
	trainingBeta float64    // beta of the schedule
}

// A planA is a schedule of Theorem A with the n that it proves, +Inf if it proves none.
type planA struct {
	schedule
	n float64
}

// bestA returns the best of the schedules of Theorem A, which do not depend on the parameters of a
// setting.
var bestA = numeric.Remember(func(p proofA) planA {
	exact := exactAccount(p.budget[0], p.budget[1])
	tau := effectiveMargin(p.margin, p.rate)
	best := planA{n: math.Inf(1)}
	for step := 1; step <= 32; step++ {
		kappa := p.alpha * math.Pow(2, -float64(step)/4)
		if kappa > 1/math.E {
			continue
		}
		try := theoremASchedule(kappa, tau, p.trainingBeta)
		if n := try.sufficient(try.least(exact), p.goal); n < best.n {
			best = planA{try, n}
		}
	}
	return best
})

// theoremABound returns the n that Theorem A proves for preset theorem-a with the best kappa.
func theoremABound(s *algo.Setting[Params], g goal) algo.Bound {
	exact := exactAccount(s.Epsilon, s.Delta)
	plan := bestA(proofA{g, [2]float64{s.Epsilon, s.Delta}, s.Beta})
	best := plan.n
	b := algo.Bound{
		Name: "theorem-a", Source: sourceProof, Value: best, Proved: true, Premises: []algo.Premise{algo.TargetInClass},
	}
	if math.IsInf(best, 1) {
		b.Fails = cmp.Or(g.tooNoisy(g.alpha), "no sample size is proved to be enough for any kappa")
		return b
	}
	b.With, b.Fails = plan.values(best, exact.mu), plan.differs(s, TheoremA)
	return b
}

// ownBound returns the bound that the proof of Theorem A yields for the parameters of a setting.
func ownBound(s *algo.Setting[Params], g goal) algo.Bound {
	plan, a := scheduleOf(s), accounting(s)
	if why := unproved(&s.Params); why != "" {
		b := own(g, math.Inf(1), plan.kappa, 0, sourceOwn, nil)
		b.Fails = why
		return b
	}
	n := plan.sufficient(plan.least(a), g)
	theta := plan.trainingMargin(min(n, maxInteger), effectiveMargin(g.margin, g.rate), g.beta/2)
	return own(g, n, plan.kappa, theta, sourceOwn, plan.values(n, a.mu))
}

// unproved returns the reason why Theorem A does not apply to these parameters, or "".
func unproved(p *Params) string {
	if p.Weak == Raw && p.Loss == Linear && !p.Debias {
		return ""
	}
	return fmt.Sprintf("the proof is for weak raw, loss linear and debias false; "+
		"this row has weak %s, loss %s and debias %v", p.Weak, p.Loss, p.Debias)
}

// provedBound returns the n at and above which the goal is reached by a w for which fewer than
// kappa n examples have a margin below theta, relative to |w|. It adds kappa and theta to with.
func provedBound(g goal, kappa, theta float64, source string, with map[string]float64) algo.Bound {
	n := numeric.LeastFrom(1, func(n float64) bool { return g.reached(n, kappa, theta) })
	with["kappa"], with["margin"] = kappa, max(0, theta)
	return own(g, n, kappa, theta, source, with)
}

// own returns a bound with the n proved for the parameters of a row, for which less than a kappa
// share of the sample has a margin below theta. If n is not finite, the bound fails and names the
// reason.
func own(g goal, n, kappa, theta float64, source string, with map[string]float64) algo.Bound {
	b := algo.Bound{
		Name: "own-parameters", Source: source, Value: n, Proved: true, With: with,
		Premises: []algo.Premise{algo.TargetInClass},
	}
	switch {
	case !math.IsInf(n, 1):
	case g.margin < leastMargin:
		b.Fails = fmt.Sprintf("the problem guarantees a margin of %g, and the proof requires %g", g.margin, leastMargin)
	case g.tooNoisy(kappa) != "":
		b.Fails = g.tooNoisy(kappa)
	case kappa >= g.alpha:
		b.Fails = fmt.Sprintf("a kappa share of the sample may be wrong, and kappa = %.4g is not below the error %.4g",
			kappa, g.alpha)
	case !(theta > 0):
		b.Fails = "no positive margin is proved for the sample after these rounds: change rounds and lambda"
	default:
		b.Fails = fmt.Sprintf("no sample size is proved to be enough for the error %.4g", g.alpha)
	}
	return b
}

// tooNoisy returns the reason why the label noise is too high for statements with this kappa, or
// "".
func (g goal) tooNoisy(kappa float64) string {
	if g.tolerates(kappa) {
		return ""
	}
	return fmt.Sprintf("%s label noise at rate %.4g exceeds %.4g, the largest rate that the proof allows at kappa = %.4g",
		g.noise, g.rate, g.bearable(kappa), kappa)
}

// differs returns the reason why a statement about s, the schedule of one of some presets, does not
// apply to a row that runs HS-StL with another schedule, or "".
func (s schedule) differs(row *algo.Setting[Params], presets ...string) string {
	p, other := &row.Params, scheduleOf(row)
	equal := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*b }
	if slices.Contains(presets, p.Preset) &&
		s.rounds == other.rounds && equal(s.lambda, other.lambda) && equal(s.kappa, other.kappa) {
		return ""
	}
	return fmt.Sprintf("it covers preset %s with %v; this row has preset %s with %v", presets[0], s, p.Preset, other)
}

// String returns the parameters of the schedule, for messages.
func (s schedule) String() string {
	return fmt.Sprintf("rounds = %d, lambda = %.4g, kappa = %.4g", s.rounds, s.lambda, s.kappa)
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
