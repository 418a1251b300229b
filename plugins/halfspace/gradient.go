package halfspace

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// maxSteps is the largest accepted number of steps.
const maxSteps = 10_000_000

// GradientParams holds the parameters of halfspace/noisy-gradient.
type GradientParams struct {
	Gamma   float64 `doc:"margin below which the hinge loss max(0, 1 - y <w,x>/gamma) is positive; 0: the margin that the problem guarantees" min:"0" max:"1"`
	Steps   int     `doc:"number of gradient steps, each over the whole sample" min:"1" max:"10000000"`
	Rate    float64 `doc:"learning rate: the factor of the noisy gradient in a step" min:"0" max:"1e6"`
	Project int     `doc:"dimension of a public Johnson-Lindenstrauss projection of the examples, which are clipped to the unit ball afterwards; 0: no projection" min:"0"`
}

// noisyGradient returns halfspace/noisy-gradient, the efficient algorithm of Nguyen, Ullman and
// Zakynthinou: it minimizes the hinge loss of the sample over the unit ball by projected gradient
// descent, with noise in each gradient.
func noisyGradient() algo.Algorithm[GradientParams] {
	return algo.Algorithm[GradientParams]{
		Name:    "halfspace/noisy-gradient",
		Version: "1.0.0",
		Doc: "Halfspaces with a margin by noisy projected gradient descent on the hinge loss, " +
			"calibrated to epsilon, delta and n (Nguyen, Ullman and Zakynthinou 2019).",
		Defaults: GradientParams{Steps: 400, Rate: 0.01},
		Metrics: map[string]string{
			"sigma":          "standard deviation, per coordinate, of the noise in each gradient [loss per radius of the ball]",
			"hinge_loss":     "mean hinge loss of the sample (not private) [loss per example]",
			"training_error": trainingErrorDoc,
		},
		Learn: learnGradient, Declares: algo.Always[GradientParams],
		Check: resolveGradient,
		Guarantee: func(s *algo.Setting[GradientParams]) (algo.Guarantee, error) {
			return algo.Guarantee{
				Epsilon: s.Epsilon, Delta: s.Delta, Mu: privacy.GaussianMu(s.Epsilon, s.Delta),
				Source: "Gaussian differential privacy of adaptive steps (Dong, Roth and Su 2019), " +
					"each of sensitivity 2/(gamma n), for noise of real numbers",
			}, nil
		},
		Bound: gradientBounds,
	}
}

// resolveGradient sets gamma. Its error is the reason why the setting cannot run. Resolving
// resolved parameters changes nothing.
func resolveGradient(s *algo.Setting[GradientParams]) error {
	p := &s.Params
	if err := checkProblem("halfspace/noisy-gradient", s.Problem, p.Project); err != nil {
		return err
	}
	if p.Gamma == 0 {
		p.Gamma = s.Problem.Margin
	}
	if err := checkMargin("gamma", p.Gamma); err != nil {
		return err
	}
	switch {
	case !(s.Epsilon > 0 && s.Epsilon <= 1e100):
		return algo.Invalid("halfspace/noisy-gradient requires privacy.epsilon above 0 and at most 1e100, not %g", s.Epsilon)
	case !(s.Delta > 0 && s.Delta < 1):
		return algo.Invalid("halfspace/noisy-gradient adds Gaussian noise, which is never pure: "+
			"set privacy.delta in (0,1), not %g", s.Delta)
	case p.Steps < 1 || p.Steps > maxSteps:
		return algo.Invalid("steps must be between 1 and %d, not %d", maxSteps, p.Steps)
	case !(p.Rate > 0 && p.Rate <= 1e6):
		return algo.Invalid("rate must be above 0 and at most 1e6, not %g", p.Rate)
	}
	if s.N == 0 {
		return nil
	}
	if sigma := p.sigma(float64(s.N), s.Epsilon, s.Delta); !(sigma <= 1e100) { // prevents overflow
		return algo.Infeasible("this budget requires noise of standard deviation %g, which hides all information: "+
			"raise epsilon, delta or n", sigma)
	}
	return nil
}

// sigma returns the least standard deviation of the noise that the budget allows at n. Replacing
// one example changes a gradient by at most 2/(gamma n).
func (p *GradientParams) sigma(n, epsilon, delta float64) float64 {
	return privacy.GaussianSigma(2/(p.Gamma*n), p.Steps, epsilon, delta)
}

// learnGradient runs one trial. It draws the projection and then the noise, step by step.
func learnGradient(ctx context.Context, t *algo.Trial[GradientParams], sample *algo.Data) (algo.Model, error) {
	p := &t.Params
	phi, examples, err := projected(ctx, t.Rand, sample, p.Project)
	if err != nil {
		return nil, err
	}
	d := newDescent(examples, p.Gamma, p.Rate, p.sigma(float64(sample.Len()), t.Epsilon, t.Delta))
	for range p.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.step(t.Rand.NormFloat64)
	}
	w := d.mean(p.Steps)
	margins := examples.margins(w)
	t.Report("sigma", d.sigma)
	t.Report("hinge_loss", hingeLoss(margins, p.Gamma))
	t.Report("training_error", numeric.ShareUpTo(margins, 0))
	return algo.Halfspace(phi.lift(w), 0), nil
}

// A descent is the state of one run.
type descent struct {
	examples           *table
	gamma, rate, sigma float64
	w                  []float64 // current vector, in the unit ball; initially 0
	gradient           []float64 // gradient at w, without noise
	sum                []float64 // sum of all vectors after the first
}

// newDescent returns the start of a run of this rate on the hinge loss at gamma, with noise of
// standard deviation sigma in each coordinate.
func newDescent(examples *table, gamma, rate, sigma float64) *descent {
	d := examples.dim
	return &descent{
		examples: examples, gamma: gamma, rate: rate, sigma: sigma,
		w: make([]float64, d), gradient: make([]float64, d), sum: make([]float64, d),
	}
}

// step moves w against the noisy gradient and back to the unit ball. It calls gauss, which draws
// standard normals, once for each coordinate.
func (d *descent) step(gauss func() float64) {
	d.examples.hingeGradient(d.gradient, d.w, d.gamma)
	for j, g := range d.gradient {
		d.w[j] -= float64(d.rate * (g + float64(d.sigma*gauss())))
	}
	clip(d.w)
	for j, v := range d.w {
		d.sum[j] += v
	}
}

// mean returns the average of the start and the vectors after each of the given number of steps,
// which gradientBounds assumes. It ends the run.
func (d *descent) mean(steps int) []float64 {
	scale(d.sum, 1/float64(steps+1))
	return d.sum
}

// hingeGradient writes a subgradient at w of the mean of max(0, 1 - <w, v_i>/gamma): -1/(gamma n)
// times the sum of the v_i with inner products below gamma. Replacing one v_i in the unit ball
// adds, drops or replaces one of them, for every w. It changes the gradient by at most 2/(gamma n)
// in Euclidean norm, which is attained by v_i and -v_i both below gamma.
func (t *table) hingeGradient(gradient, w []float64, gamma float64) {
	t.sumBelow(gradient, w, gamma)
	scale(gradient, -1/(gamma*float64(t.n)))
}

// hingeLoss returns the mean of max(0, 1 - m/gamma) over the margins m.
func hingeLoss(margins []float64, gamma float64) float64 {
	sum := 0.0
	for _, m := range margins {
		sum += max(0, 1-m/gamma)
	}
	return sum / float64(len(margins))
}
