package boosting

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Values of [Params.Preset].
const (
	// PaperPreset is Algorithm 5 as printed: rounds, lambda, kappa and sigma follow from alpha,
	// beta, tau and c, the loss is that of Algorithm 4, measures that are already dense are not
	// scaled down (see booster.projectAsPrinted), and the privacy accounting is as printed. The
	// text does not specify c, ties (here +1) or the rounding of numbers that must be integers
	// (here the rounds are rounded up).
	PaperPreset = "paper"

	// PaperTight has the same parameters as PaperPreset, but this package's own loss (linear),
	// weights that always sum to kappa n, the exact sensitivity and the exact accounting.
	PaperTight = "paper-tight"

	// TheoremA has the parameters of Theorem A (see schedule.proves): lambda 1, rounds and sigma from
	// kappa, tau, beta and n.
	TheoremA = "theorem-a"

	// Calibrated accepts any rounds, lambda and kappa, and uses the least sigma that epsilon and
	// delta allow at this n.
	Calibrated = "calibrated"
)

// Values of [Params.Weak].
const (
	Raw  = "raw"  // the released vector z itself: h(x) = <z, x>
	Unit = "unit" // z/|z|, divided after the noise
)

// Values of [Params.Loss], for the margin m = y h(x).
const (
	ByPreset = "preset" // paper for preset paper, linear for all others

	Linear = "linear" // (1+m)/2: the paper's loss for |h| <= 1
	Paper  = "paper"  // 1 - |m-1|/2, literally as printed: it decreases again beyond m = 1
	Clip   = "clip"   // (1+m)/2 with h clipped to [-1, 1]; the result is a vote, not a halfspace
)

// Params holds the parameters of boosting/hs-stl. A number of 0 means the value of the preset;
// resolve sets it.
//
// A preset fixes some parameters. A setting may only repeat their fixed values:
//
//	paper               fixes rounds, lambda, kappa, sigma, weak = raw, loss = paper,
//	                    debias = false; tau and c are free
//	paper-tight         fixes the same except the loss, which is free too
//	theorem-a           fixes rounds, lambda, sigma, weak = raw, loss = linear, debias = false;
//	                    tau and kappa up to 1/e are free, and c does not apply
//	calibrated          fixes sigma; all others are free except c, which does not apply
type Params struct {
	Preset string  `doc:"source of the other parameters: paper (Algorithm 5 as printed, with its loss, projection and accounting), paper-tight (its parameters, with loss linear, weights that always sum to kappa n, and exact accounting), theorem-a (proved settings), calibrated (noise from epsilon, delta and n)" choices:"paper,paper-tight,theorem-a,calibrated"`
	Rounds int     `doc:"boosting rounds T; 0: by the preset (calibrated: 50, and 0.5/tau^2 for tau below 0.1)" min:"0"`
	Lambda float64 `doc:"learning rate of the log-weights, per unit of loss; 0: by the preset (calibrated: 8)" min:"0" max:"1e6"`
	Kappa  float64 `doc:"density of the smooth distributions, in (0,1); 0: by the preset (paper: alpha/4; theorem-a: alpha, at most 1/e; calibrated: 3 alpha, at most 1/2)" min:"0" max:"1"`
	Sigma  float64 `doc:"standard deviation of the noise per coordinate: always by the preset; 0 if it depends on n (see the metric sigma)" min:"0"`
	Weak   string  `doc:"weak learner: raw (paper) or unit (normalized, after the noise)" choices:"raw,unit"`
	Loss   string  `doc:"loss of an example with margin m: linear (1+m)/2, paper 1-|m-1|/2, clip (linear, hypotheses clipped to [-1,1]; improper); preset: paper for preset paper, linear for all others" choices:"preset,linear,paper,clip"`
	Debias bool    `doc:"divide the released vector by max(tau, sqrt(|z|^2 - sigma^2 d)), an estimate of its norm without the noise; requires weak raw and tau"`
	C      float64 `doc:"the constant c in the paper's sigma = tau/(8 c sqrt(ln(3072 ln(1/kappa)/(beta tau^2)))), which the text does not specify; 0: 1/sqrt(2), the least for which its tail bound holds; paper and paper-tight only" min:"0"`
	Tau    float64 `doc:"target margin; 0: the margin that the problem guarantees" min:"0" max:"1"`
}

// resolve returns an error for a setting that cannot run, and sets the values of the preset; those
// that depend on n only if N > 0. Resolving resolved parameters changes nothing.
func resolve(s *algo.Setting[Params]) error {
	if err := checkProblem("boosting/hs-stl", s.Problem, s.Epsilon, s.Delta); err != nil {
		return err
	}
	if err := resolveTau(s); err != nil {
		return err
	}
	if p := &s.Params; p.Loss == ByPreset {
		p.Loss = Linear
		if p.Preset == PaperPreset {
			p.Loss = Paper
		}
	}
	var err error
	switch s.Params.Preset {
	case PaperPreset, PaperTight:
		err = resolvePaper(s)
	case TheoremA:
		err = resolveTheoremA(s)
	case Calibrated:
		err = resolveCalibrated(s)
	}
	if err != nil {
		return err
	}
	if s.Params.Loss == Clip {
		if err := checkVotes(s.Params.Rounds, s.Problem.Dim, ", or use another loss"); err != nil {
			return err
		}
	}
	return checkNumbers(&s.Params)
}

// checkProblem returns an error for a problem or a budget that no private algorithm of this package
// can run on. name is the algorithm's.
func checkProblem(name string, p algo.Problem, epsilon, delta float64) error {
	if err := checkClass(name, p); err != nil {
		return err
	}
	switch {
	case !(epsilon > 0 && epsilon <= 1e100):
		return algo.Invalid("%s requires privacy.epsilon above 0 and at most 1e100, not %g", name, epsilon)
	case !(delta > 0 && delta < 1):
		return algo.Invalid("%s adds Gaussian noise, which is never pure: set privacy.delta in (0,1), not %g", name, delta)
	}
	return nil
}

// checkClass returns an error for a problem of another class than halfspaces.
func checkClass(name string, p algo.Problem) error {
	if p.Class != concept.Halfspace {
		return algo.Invalid("%s learns halfspaces, not class %q: omit it here, or set problem.class to %s",
			name, p.Class, concept.Halfspace)
	}
	return nil
}

// resolveTau sets tau, which debias and all presets except calibrated require.
func resolveTau(s *algo.Setting[Params]) error {
	p := &s.Params
	if err := setTau(&p.Tau, s.Problem); err != nil {
		return err
	}
	switch {
	case p.Tau == 0 && p.Debias:
		return algo.Invalid("debias requires a margin and the problem guarantees none: set tau, or set debias to false")
	case p.Tau == 0 && p.Preset != Calibrated:
		return algo.Invalid("preset %s requires a margin and the problem guarantees none: set tau, or use preset %s",
			p.Preset, Calibrated)
	}
	return nil
}

// leastMargin is the smallest target margin. Its number of rounds, about 1/tau^2, still fits an
// int.
const leastMargin = 1e-6

// setTau replaces a tau of 0 by the margin that the problem guarantees, which is 0 if there is
// none. It returns an error for a tau that is out of range.
func setTau(tau *float64, p algo.Problem) error {
	if *tau == 0 {
		*tau = p.Margin
	}
	if *tau != 0 && !(*tau >= leastMargin && *tau <= 1) {
		return algo.Invalid("tau must be between 1e-6 and 1, not %g", *tau)
	}
	return nil
}

// resolvePaper resolves the presets paper and paper-tight.
func resolvePaper(s *algo.Setting[Params]) error {
	p := &s.Params
	if p.C == 0 {
		p.C = math.Sqrt(0.5)
	}
	if !(p.C > 0 && p.C <= 1e6) {
		return algo.Invalid("c must be above 0 and at most 1e6, not %g", p.C)
	}
	f := presetFixer(p.Preset)
	plan := paperSchedule(s.Alpha, s.Beta, p.Tau, p.C)
	f.same("weak", p.Weak, Raw)
	if p.Preset == PaperPreset {
		f.same("loss", p.Loss, Paper)
	}
	f.same("debias", p.Debias, false)
	f.count("rounds", &p.Rounds, plan.rounds)
	f.number("lambda", &p.Lambda, plan.lambda)
	f.number("kappa", &p.Kappa, plan.kappa)
	f.number("sigma", &p.Sigma, plan.sigma(0))
	if f.err != nil {
		return f.err
	}
	return checkBudget(s, plan)
}

// resolveTheoremA resolves the preset theorem-a.
func resolveTheoremA(s *algo.Setting[Params]) error {
	p := &s.Params
	if p.Kappa == 0 {
		p.Kappa = min(s.Alpha, 1/math.E)
	}
	if !(p.Kappa > 0 && p.Kappa <= 1/math.E) {
		return algo.Invalid("preset %s needs kappa above 0 and at most 1/e = %.4g, not %g: lower it, or use preset %s",
			p.Preset, 1/math.E, p.Kappa, Calibrated)
	}
	f := presetFixer(p.Preset)
	plan := theoremASchedule(p.Kappa, effectiveMargin(p.Tau, s.Problem.NoiseRate), s.Beta)
	f.same("weak", p.Weak, Raw)
	f.same("loss", p.Loss, Linear)
	f.same("debias", p.Debias, false)
	f.zero("c", p.C)
	f.count("rounds", &p.Rounds, plan.rounds)
	f.number("lambda", &p.Lambda, plan.lambda)
	f.sigma(&p.Sigma, plan.sigma, s.N)
	if f.err != nil {
		return f.err
	}
	return checkBudget(s, plan)
}

// resolveCalibrated resolves the preset calibrated.
func resolveCalibrated(s *algo.Setting[Params]) error {
	p := &s.Params
	if p.Rounds == 0 {
		p.Rounds = 50
		if p.Tau > 0 && p.Tau < 0.1 {
			p.Rounds = int(math.Ceil(0.5 / (p.Tau * p.Tau)))
		}
	}
	if p.Lambda == 0 {
		p.Lambda = 8
	}
	if p.Kappa == 0 {
		p.Kappa = min(3*s.Alpha, 0.5)
	}
	if err := checkNumbers(p); err != nil {
		return err
	}
	if p.Debias && p.Weak == Unit {
		return algo.Invalid("debias and weak %q both normalize: set weak to %q, or debias to false", Unit, Raw)
	}
	f := presetFixer(p.Preset)
	f.zero("c", p.C)
	f.sigma(&p.Sigma, calibratedSchedule(p, s.Epsilon, s.Delta).sigma, s.N)
	if f.err != nil {
		return f.err
	}
	return checkSigma(p.Sigma)
}

// checkSigma returns an error for the noise of a budget so small that numbers would overflow.
func checkSigma(sigma float64) error {
	if !(sigma <= 1e100) {
		return algo.Infeasible("this budget requires noise of standard deviation %g, which hides all information: "+
			"raise epsilon, delta or n", sigma)
	}
	return nil
}

// checkNumbers returns an error for resolved numbers out of range.
func checkNumbers(p *Params) error {
	if !(p.Lambda >= 1e-9 && p.Lambda <= 1e6) {
		return algo.Invalid("lambda must be between 1e-9 and 1e6, not %g", p.Lambda)
	}
	return checkKappa(p.Kappa)
}

// checkKappa returns an error for a kappa out of range. Above 1e-12, kappa n far exceeds the amount
// that the weights lose by underflow.
func checkKappa(kappa float64) error {
	if !(kappa >= 1e-12 && kappa < 1) {
		return algo.Invalid("kappa must be at least 1e-12 and below 1, not %g", kappa)
	}
	return nil
}

// checkVotes returns an error for a vote that would keep more than 512 MiB of vectors in each
// trial. advice ends the message.
func checkVotes(rounds, dim int, advice string) error {
	const most = 1 << 26
	if rounds > most/max(1, dim) {
		return algo.Invalid("a vote of %d rounds in %d dimensions stores %.4g numbers, and %d are allowed: "+
			"lower rounds to %d%s", rounds, dim, float64(rounds)*float64(dim), most, most/max(1, dim), advice)
	}
	return nil
}

// checkBudget returns an error for a sample size at which the fixed noise of a preset spends more
// than the budget.
func checkBudget(s *algo.Setting[Params], plan schedule) error {
	if s.N == 0 {
		return nil
	}
	if least := plan.least(accounting(s)); float64(s.N) < least {
		return algo.Infeasible("preset %s fixes its noise, which is (%g, %g)-private only for n of at least %.0f, not "+
			"at %d: raise n, or use preset %s", s.Params.Preset, s.Epsilon, s.Delta, least, s.N, Calibrated)
	}
	return nil
}

// A fixer sets the parameters that a preset or an algorithm fixes. It stores an error about the
// first one with a different value.
type fixer struct {
	who    string // who fixes the parameters: "preset paper"
	advice string // end of the messages; may be empty
	err    error
}

// presetFixer returns the fixer of a preset.
func presetFixer(preset string) fixer {
	f := fixer{who: "preset " + preset}
	if preset != Calibrated {
		f.advice = ", or use preset " + Calibrated
	}
	return f
}

// refuse stores an Invalid error, unless there is one.
func (f *fixer) refuse(format string, args ...any) {
	if f.err == nil {
		f.err = algo.Invalid(format, args...)
	}
}

// fail stores an error about a value that differs from the fixed one.
func (f *fixer) fail(name string, want, got any) {
	f.refuse("%s fixes %s at %v, not %v: omit %s%s", f.who, name, want, got, name, f.advice)
}

// number fixes a number. It accepts a given number that differs only by rounding.
func (f *fixer) number(name string, given *float64, want float64) {
	if *given != 0 && !(math.Abs(*given-want) <= 1e-9*want) {
		f.fail(name, want, *given)
	}
	*given = want
}

// count fixes an integer.
func (f *fixer) count(name string, given *int, want int) {
	if *given != 0 && *given != want {
		f.fail(name, want, *given)
	}
	*given = want
}

// same fixes a string or a switch.
func (f *fixer) same(name string, given, want any) {
	if given != want {
		f.fail(name, want, given)
	}
}

// zero stores an error about a parameter that is not used but given.
func (f *fixer) zero(name string, given float64) {
	if given != 0 {
		f.refuse("%s is not used by %s: omit it, or use preset %s", name, f.who, PaperPreset)
	}
}

// sigma fixes noise that depends on n, and so is unknown if n is 0.
func (f *fixer) sigma(given *float64, want func(n float64) float64, n int) {
	if n > 0 {
		f.number("sigma", given, want(float64(n)))
	} else if *given != 0 {
		f.refuse("%s derives sigma from epsilon, delta and n: omit sigma", f.who)
	}
}
