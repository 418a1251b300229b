package boosting

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Values of [Params.Preset].
const (
	// PaperPreset is Algorithm 5 as printed: rounds, lambda, kappa and sigma follow from alpha, beta,
	// tau and c, the loss is that of Algorithm 4, measures that are already dense are not scaled down
	// (see booster.projectAsPrinted), and privacy is accounted for as printed. The text leaves open c,
	// ties, which go to +1, and what is not whole: the rounds are rounded up.
	PaperPreset = "paper"

	// PaperTight has the same parameters, and differs from PaperPreset in what is this package's own:
	// the loss linear, weights that always sum to kappa n, the exact sensitivity and the exact
	// accounting.
	PaperTight = "paper-tight"

	// TheoremA has the parameters of Theorem A (see schedule.proves): lambda 1, rounds and sigma from
	// kappa, tau, beta and n.
	TheoremA = "theorem-a"

	// Calibrated takes any rounds, lambda and kappa, and the least sigma that epsilon and delta allow
	// at this n.
	Calibrated = "calibrated"
)

// Values of [Params.Weak].
const (
	Raw  = "raw"  // the released vector z as it is: h(x) = <z, x>
	Unit = "unit" // z/|z|, divided after the noise
)

// Values of [Params.Loss], for the margin m = y h(x).
const (
	ByPreset = "preset" // paper with preset paper, and linear with all others

	Linear = "linear" // (1+m)/2: the paper's for |h| <= 1
	Paper  = "paper"  // 1 - |m-1|/2, literally as printed: it falls again beyond m = 1
	Clip   = "clip"   // (1+m)/2 with h clipped to [-1, 1]; the result is a vote, not a halfspace
)

// Params holds the parameters of boosting/hs-stl. The zero value of a number stands for "by the
// preset"; resolve replaces it.
//
// A preset fixes some parameters. These may be given with the very value that it gives them, and
// with no other:
//
//	paper               fixes rounds, lambda, kappa, sigma, weak = raw, loss = paper,
//	                    debias = false; tau and c are free
//	paper-tight         fixes the same but for the loss, which is free too
//	theorem-a           fixes rounds, lambda, sigma, weak = raw, loss = linear, debias = false;
//	                    tau and kappa up to 1/e are free, and c does not apply
//	calibrated          fixes sigma; all others are free but c, which does not apply
type Params struct {
	Preset string  `doc:"where the other parameters come from: paper (Algorithm 5 as printed, with its loss, projection and accounting), paper-tight (its parameters, with loss linear, weights that always sum to kappa n, and exact accounting), theorem-a (proved settings), calibrated (noise from epsilon, delta and n)" choices:"paper,paper-tight,theorem-a,calibrated"`
	Rounds int     `doc:"boosting rounds T; 0: by the preset (calibrated: 50, and 0.5/tau^2 for tau below 0.1)" min:"0"`
	Lambda float64 `doc:"learning rate of the log-weights, per unit of loss; 0: by the preset (calibrated: 8)" min:"0" max:"1e6"`
	Kappa  float64 `doc:"density of the smooth distributions, in (0,1); 0: by the preset (paper: alpha/4; theorem-a: alpha, at most 1/e; calibrated: 3 alpha, at most 1/2)" min:"0" max:"1"`
	Sigma  float64 `doc:"standard deviation of the noise per coordinate: always by the preset; 0 where it depends on n (see the metric sigma)" min:"0"`
	Weak   string  `doc:"weak learner: raw (paper) or unit (normalised, after the noise)" choices:"raw,unit"`
	Loss   string  `doc:"loss of an example with margin m: linear (1+m)/2, paper 1-|m-1|/2, clip (linear, hypotheses clipped to [-1,1]; improper); preset: paper with preset paper, and linear with all others" choices:"preset,linear,paper,clip"`
	Debias bool    `doc:"divide the released vector by max(tau, sqrt(|z|^2 - sigma^2 d)), an estimate of its norm without the noise; needs weak raw and tau"`
	C      float64 `doc:"the constant c in the paper's sigma = tau/(8 c sqrt(ln(3072 ln(1/kappa)/(beta tau^2)))), which the text leaves open; 0: 1/sqrt(2), the least for which its tail bound holds; paper and paper-tight only" min:"0"`
	Tau    float64 `doc:"margin to build for; 0: the margin that the problem promises" min:"0" max:"1"`
}

// resolve refuses a setting that cannot run, and writes the values that the preset gives; those
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
	default:
		err = algo.Invalid("unknown preset %q: take paper, paper-tight, theorem-a or calibrated", s.Params.Preset)
	}
	if err != nil {
		return err
	}
	if s.Params.Loss == Clip {
		if err := checkVotes(s.Params.Rounds, s.Problem.Dim, ", or take another loss"); err != nil {
			return err
		}
	}
	return checkNumbers(&s.Params)
}

// checkProblem refuses a problem or a budget that no private algorithm of this package can run on.
// name is the algorithm's.
func checkProblem(name string, p algo.Problem, epsilon, delta float64) error {
	if err := checkClass(name, p); err != nil {
		return err
	}
	switch {
	case !(epsilon > 0 && epsilon <= 1e100):
		return algo.Invalid("%s needs privacy.epsilon above 0 and at most 1e100, not %g", name, epsilon)
	case !(delta > 0 && delta < 1):
		return algo.Invalid("%s adds Gaussian noise, which is never pure: give privacy.delta in (0,1), not %g", name, delta)
	}
	return nil
}

// checkClass refuses a problem of another class than halfspaces.
func checkClass(name string, p algo.Problem) error {
	if p.Class != concept.Halfspace {
		return algo.Invalid("%s learns halfspaces, not class %q: leave it out here, or set problem.class to %s",
			name, p.Class, concept.Halfspace)
	}
	return nil
}

// resolveTau sets tau, which all presets but calibrated, and debias, need.
func resolveTau(s *algo.Setting[Params]) error {
	p := &s.Params
	if err := setTau(&p.Tau, s.Problem); err != nil {
		return err
	}
	switch {
	case p.Tau == 0 && p.Debias:
		return algo.Invalid("debias needs a margin and the problem promises none: give tau, or set debias to false")
	case p.Tau == 0 && p.Preset != Calibrated:
		return algo.Invalid("preset %s needs a margin and the problem promises none: give tau, or take preset %s",
			p.Preset, Calibrated)
	}
	return nil
}

// leastMargin is the smallest margin to build for. The rounds, about 1/tau^2, then still fit an
// int.
const leastMargin = 1e-6

// setTau replaces a tau of 0 by the margin that the problem promises, which may be 0 for none. It
// refuses a tau that is out of range.
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
	f.text("weak", p.Weak, Raw)
	if p.Preset == PaperPreset {
		f.text("loss", p.Loss, Paper)
	}
	f.off("debias", p.Debias)
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
		return algo.Invalid("preset %s needs kappa above 0 and at most 1/e = %.4g, not %g: lower it, or take preset %s",
			p.Preset, 1/math.E, p.Kappa, Calibrated)
	}
	f := presetFixer(p.Preset)
	plan := theoremASchedule(p.Kappa, effectiveMargin(p.Tau, s.Problem.NoiseRate), s.Beta)
	f.text("weak", p.Weak, Raw)
	f.text("loss", p.Loss, Linear)
	f.off("debias", p.Debias)
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
		return algo.Invalid("debias and weak %q both normalise: set weak to %q, or debias to false", Unit, Raw)
	}
	f := presetFixer(p.Preset)
	f.zero("c", p.C)
	f.sigma(&p.Sigma, calibratedSchedule(p, s.Epsilon, s.Delta).sigma, s.N)
	if f.err != nil {
		return f.err
	}
	return checkSigma(p.Sigma)
}

// checkSigma refuses the noise of a budget so small that numbers would overflow.
func checkSigma(sigma float64) error {
	if !(sigma <= 1e100) {
		return algo.Infeasible("this budget asks for noise of standard deviation %g, which leaves nothing to learn from: "+
			"raise epsilon, delta or n", sigma)
	}
	return nil
}

// checkNumbers refuses parameters out of range, also from callers that did not go through the
// checks of package algo.
func checkNumbers(p *Params) error {
	switch {
	case p.Rounds < 1:
		return algo.Invalid("rounds must be at least 1, not %d", p.Rounds)
	case !(p.Lambda >= 1e-9 && p.Lambda <= 1e6):
		return algo.Invalid("lambda must be between 1e-9 and 1e6, not %g", p.Lambda)
	case p.Weak != Raw && p.Weak != Unit:
		return algo.Invalid("unknown weak learner %q: take %s or %s", p.Weak, Raw, Unit)
	case p.Loss != Linear && p.Loss != Paper && p.Loss != Clip:
		return algo.Invalid("unknown loss %q: take %s, %s or %s", p.Loss, Linear, Paper, Clip)
	}
	return checkKappa(p.Kappa)
}

// checkKappa refuses a kappa out of range. Above 1e-12, kappa n is far above what the weights lose
// by underflow.
func checkKappa(kappa float64) error {
	if !(kappa >= 1e-12 && kappa < 1) {
		return algo.Invalid("kappa must be at least 1e-12 and below 1, not %g", kappa)
	}
	return nil
}

// checkVotes refuses a vote that would keep more than 512 MiB of vectors in each trial. advice ends
// the message.
func checkVotes(rounds, dim int, advice string) error {
	const most = 1 << 26
	if rounds > most/max(1, dim) {
		return algo.Invalid("a vote of %d rounds in %d dimensions keeps %.4g numbers, and %d are allowed: "+
			"lower rounds to %d%s", rounds, dim, float64(rounds)*float64(dim), most, most/max(1, dim), advice)
	}
	return nil
}

// checkBudget refuses a sample size at which the fixed noise of a preset spends more than the
// budget.
func checkBudget(s *algo.Setting[Params], plan schedule) error {
	if s.N == 0 {
		return nil
	}
	if least := plan.least(accounting(s)); float64(s.N) < least {
		return algo.Infeasible("preset %s fixes its noise, which is (%g, %g)-private only from n = %.0f on, not at %d: "+
			"raise n, or take preset %s", s.Params.Preset, s.Epsilon, s.Delta, least, s.N, Calibrated)
	}
	return nil
}

// fixer sets the parameters that a preset or an algorithm fixes, and keeps an error about the first
// one that was given another value.
type fixer struct {
	who    string // fixes them: "preset paper"
	advice string // ends messages; may be empty
	err    error
}

// presetFixer returns the fixer of a preset.
func presetFixer(preset string) fixer {
	f := fixer{who: "preset " + preset}
	if preset != Calibrated {
		f.advice = ", or take preset " + Calibrated
	}
	return f
}

// refuse keeps an Invalid error, unless there is one.
func (f *fixer) refuse(format string, args ...any) {
	if f.err == nil {
		f.err = algo.Invalid(format, args...)
	}
}

// fail refuses a value that differs from the fixed one.
func (f *fixer) fail(name string, want, got any) {
	f.refuse("%s fixes %s at %v, not %v: leave %s out%s", f.who, name, want, got, name, f.advice)
}

// number fixes a number. It takes a given one that differs by rounding alone as equal.
func (f *fixer) number(name string, given *float64, want float64) {
	if *given != 0 && !(math.Abs(*given-want) <= 1e-9*want) {
		f.fail(name, want, *given)
	}
	*given = want
}

// count fixes a whole number.
func (f *fixer) count(name string, given *int, want int) {
	if *given != 0 && *given != want {
		f.fail(name, want, *given)
	}
	*given = want
}

// text fixes a string.
func (f *fixer) text(name, given, want string) {
	if given != want {
		f.fail(name, want, given)
	}
}

// off fixes a switch at false.
func (f *fixer) off(name string, given bool) {
	if given {
		f.fail(name, false, true)
	}
}

// zero refuses a parameter that is not used.
func (f *fixer) zero(name string, given float64) {
	if given != 0 {
		f.refuse("%s has no meaning in %s: leave it out, or take preset %s", name, f.who, PaperPreset)
	}
}

// sigma fixes noise that depends on n, and so has no value while n is 0.
func (f *fixer) sigma(given *float64, want func(n float64) float64, n int) {
	if n > 0 {
		f.number("sigma", given, want(float64(n)))
	} else if *given != 0 {
		f.refuse("%s takes sigma from epsilon, delta and n: leave sigma out", f.who)
	}
}
