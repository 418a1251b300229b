package halfspace

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Sources of bounds.
const (
	sourceNet = "Nguyen, Ullman and Zakynthinou 2019, pure: (8/(epsilon alpha)) (ln |net| + ln(2/beta)) " +
		"for a net of (1 + 2/radius)^k unit vectors in k dimensions; constants rederived"
	sourceGrid = "Shatter's own: exponential moment of the charges of a bad point of the grid " +
		"(plugins/halfspace, exponentialBounds, proves)"
	sourceHinge = "Shatter's own: regret of noisy gradients and Rademacher complexity, gamma the margin, " +
		"the best steps and rate (plugins/halfspace, gradientBounds, proves); privacy and population error"
	sourceOwn = "Shatter's own: regret of noisy gradients and Rademacher complexity, with this row's parameters " +
		"(plugins/halfspace, gradientBounds, proves); privacy and population error"
)

// exponentialBounds returns the printed size and, for a grid without a projection, a proved one:
//
// Let g = gamma', and let m(w) = y* <w, x> be the margin of w on an example with clean label y*.
// The margin tau of the target u and the grid imply a point w* of the net within the radius of u,
// so that always m(w*) >= tau - radius >= g, by |x| <= 1. Call a point w bad if d = P(m(w) < g)
// exceeds alpha; all others err with probability at most alpha, as g > 0. For a bad w let X_i be
// the charge of example i to w minus that to w*, and Y = (epsilon/2) sum X_i. The mechanism answers
// w with probability at most e^-Y, because w* alone weighs e^Y times as much, and at most 1, so
// with probability at most e^(-theta Y) for all theta in [0, 1]. With s = theta epsilon/2,
// independent examples and M points,
//
//	P(the answer is bad) <= (M-1) (max over bad w of E e^(-s X))^n <= beta
//	for n >= (ln(M-1) - ln beta) / rate(s), any s in (0, epsilon/2].
//
// Clean labels: X = 1 with probability d > alpha, else 0, so rate(s) = -ln(1 - alpha (1 - e^-s)),
// best at s = epsilon/2.
//
// Labels flipped with probability r, independently: w* is charged for exactly the flipped examples.
// An example that is not flipped has X = 1 if m(w) < g, else 0; a flipped one has X = -1 if m(w) <=
// -g, else 0. The worst distribution has m(w) <= -g whenever m(w) < g, so 1 - E e^(-sX) is at least
// d(1 - (1-r) e^-s - r e^s), which increases with d if the bracket is positive.
//
// At most a share a of the sample's labels flipped by an adversary: each changes its X, from 0 or 1
// to 0 or -1, by at most 2, a factor of at most e^(2sa) per example.
func exponentialBounds(s *algo.Setting[ExponentialParams]) ([]algo.Bound, error) {
	p := &s.Params
	alpha, beta := s.Proof()
	fails := uncovered(p, s.Problem.Margin)
	k := dimension(s.Problem, p.Project)
	lnM := float64(float64(k) * math.Log(1+2/p.Radius))
	list := []algo.Bound{{
		Name: "nuz-pure", Source: sourceNet,
		Value:    math.Ceil(8 / (s.Epsilon * alpha) * (lnM + math.Log(2/beta))),
		With:     map[string]float64{"ln_net": lnM, "dimension": float64(k), "radius": p.Radius},
		Premises: []algo.Premise{algo.TargetInClass, algo.CleanLabels}, Fails: fails,
	}, {
		Name: "grid", Source: sourceGrid, Value: math.Inf(1), Proved: true,
		Premises: []algo.Premise{algo.TargetInClass}, Fails: fails,
	}}
	if fails != "" {
		return list, nil
	}
	c, grid := chargesOf(s.Problem, alpha), &list[1]
	exponent := min(c.best(), s.Epsilon/2)
	if rate := c.rate(exponent); exponent > 0 && rate > 0 {
		need := math.Log(float64(p.Points-1)) - math.Log(beta)
		grid.Value = max(1, math.Ceil(need/rate))
		grid.With = map[string]float64{"points": float64(p.Points), "gamma": p.level(), "rate": rate, "s": exponent}
	} else {
		grid.Fails = fmt.Sprintf("no sample size is proved to be sufficient at epsilon %g, %s label noise at rate %g and "+
			"the error %.4g", s.Epsilon, s.Problem.Noise, s.Problem.NoiseRate, alpha)
	}
	return list, nil
}

// uncovered returns the reason why a target with the given margin may have no point of the net with
// a positive margin, or "".
func uncovered(p *ExponentialParams, margin float64) string {
	switch {
	case !(margin >= p.Tau):
		return fmt.Sprintf("the proof is for a margin of tau = %g, and the problem guarantees %g", p.Tau, margin)
	case p.Project > 0:
		return fmt.Sprintf("a projection to %d dimensions may not preserve the margin", p.Project)
	case p.Net != Grid:
		return fmt.Sprintf("%d random points may not cover the sphere to the radius %g", p.Points, p.Radius)
	}
	return ""
}

// charges describes the distribution of X for the worst bad point.
type charges struct {
	alpha     float64
	random    float64 // rate of independent label noise
	adversary float64 // share of the sample that an adversary with access to it may relabel or replace
}

// chargesOf returns the distribution for a problem and the error above which a point is bad.
func chargesOf(p algo.Problem, alpha float64) charges {
	switch c := (charges{alpha: alpha}); p.Noise {
	case "random":
		c.random = p.NoiseRate
		return c
	case "adversarial", "malicious":
		c.adversary = p.NoiseRate
		return c
	default:
		return c
	}
}

// rate returns minus the logarithm of the largest E e^(-s X), minus the adversary's contribution,
// for a finite s.
func (c charges) rate(s float64) float64 {
	fall := -math.Expm1(-s) - float64(2*c.random*math.Sinh(s))
	return -math.Log1p(-c.alpha*fall) - float64(2*s*c.adversary)
}

// best returns the s at which rate is largest, +Inf with clean labels. It is not positive if rate
// never is.
func (c charges) best() float64 {
	if a := c.adversary; a > 0 {
		return math.Log(c.alpha * (1 - 2*a) / (2 * a * (1 - c.alpha)))
	}
	return math.Log((1-c.random)/c.random) / 2
}

// gradientBounds returns the sizes that plan.proves, for the setting's own parameters and for the
// best plan that bestPlan finds.
func gradientBounds(s *algo.Setting[GradientParams]) ([]algo.Bound, error) {
	p, pr := s.Params, s.Problem
	alpha, beta := s.Proof()
	g := goal{
		alpha: alpha, beta: beta, margin: pr.Margin, noise: pr.Noise, rate: pr.NoiseRate,
		dim: float64(pr.Dim), mu: privacy.GaussianMu(s.Epsilon, s.Delta),
	}
	row := plan{gamma: p.Gamma, steps: float64(p.Steps), rate: p.Rate}
	own := row.bound("own-parameters", sourceOwn, row.sufficient(g), g)
	if !(pr.Margin > 0) {
		own.Value, own.Fails = math.Inf(1), "the problem guarantees no margin"
		return []algo.Bound{own}, nil
	}
	best, n := g.bestPlan()
	hinge := best.bound("hinge", sourceHinge, n, g)
	if hinge.Fails == "" && !best.equal(row) {
		hinge.Fails = fmt.Sprintf("it covers %v; this row has %v", best, row)
	}
	if p.Project > 0 {
		own.Fails = fmt.Sprintf("the proof is for no projection, and this row has project = %d", p.Project)
		hinge.Fails = own.Fails
	}
	return []algo.Bound{own, hinge}, nil
}

// A goal is the target of a sample size: error at most alpha against clean labels with probability
// 1 - beta.
type goal struct {
	alpha, beta float64
	margin      float64 // margin of the problem
	noise       string  // label noise of the problem
	rate        float64 // rate of the label noise
	dim         float64 // d
	mu          float64 // the budget as the mu of the Gaussian mechanism
}

// A plan holds the parameters of halfspace/noisy-gradient that bounds depend on.
type plan struct {
	gamma, steps float64
	rate         float64 // 0: the best rate at each n
}

// String returns the parameters of the plan, for messages.
func (p plan) String() string {
	return fmt.Sprintf("gamma = %.4g, steps = %.0f, rate = %.4g", p.gamma, p.steps, p.rate)
}

// equal reports whether two plans are equal except for rounding.
func (p plan) equal(q plan) bool {
	return p.gamma == q.gamma && p.steps == q.steps && math.Abs(p.rate-q.rate) <= 1e-9*p.rate
}

// proves reports whether this argument shows that noisy gradient descent reaches the goal from n
// examples. Let T be the steps, G = 1/gamma the largest norm of a gradient, eta the rate, sigma the
// noise, u the target, F the mean hinge loss of the sample, and b = beta over the number of events
// below.
//
//  1. A step applies a contraction to w_t - eta (g_t + noise_t). So with |w_0 - u| = 1 and a
//     hypothetical last step without noise, sum_t F(w_t) - F(u) over t = 0..T is at most
//     1/(2 eta) + (eta/2) ((T+1) G^2 + sum |noise_t|^2) + sum <noise_t, eta g_t + u - w_t>.
//     Except with probability 2b, sum |noise_t|^2 is at most sigma^2 (dT + 2 sqrt(dT l) + 2l) for
//     l = ln(1/b) (Laurent and Massart 2000, Lemma 1), and the last sum, a martingale with normal
//     increments of deviation at most sigma (2 + eta G), is at most sigma (2 + eta G) sqrt(2 T l).
//     Divided by T+1 this bounds F(w) - F(u) for the mean w of w_0..w_T, because F is convex.
//  2. If a share a of the labels is flipped, F(u) <= max(0, 1 - tau/gamma) + a (1 + 1/gamma). An
//     adversary has a = r; flips at rate r have a <= r + sqrt(l/(2n)) except with probability b
//     (Hoeffding).
//  3. The ramp loss min(1, hinge) of the clean sample at w is at most F(w) + a. It is
//     1/gamma-Lipschitz in the margin, so, except with probability b, the population error, at most the
//     mean ramp loss, exceeds that by at most 2G/sqrt(n) + sqrt(l/(2n)) for all w in the unit ball
//     (Bartlett and Mendelson 2002).
func (p plan) proves(n float64, g goal) bool { return p.error(n, g) <= g.alpha }

// error returns the error that the argument proves for n examples; for n = +Inf the smallest
// possible error.
func (p plan) error(n float64, g goal) float64 {
	l := g.level()
	a := g.rate
	if g.noise == "random" && a > 0 {
		a += math.Sqrt(l / (2 * n))
	}
	comparator := max(0, 1-g.margin/p.gamma) + float64(a*(1+1/p.gamma))
	general := 2/(p.gamma*math.Sqrt(n)) + math.Sqrt(l/(2*n))
	return comparator + p.excess(n, g) + a + general
}

// level returns l = ln(1/b).
func (g goal) level() float64 {
	if g.noise == "random" && g.rate > 0 {
		return math.Log(4 / g.beta)
	}
	return math.Log(3 / g.beta)
}

// excess returns the bound on F(w) - F(u) of part 1, A/eta + B eta + C for the terms A, B and C.
func (p plan) excess(n float64, g goal) float64 {
	a, b, c := p.terms(n, g)
	eta := p.rateAt(n, g)
	return a/eta + float64(b*eta) + c
}

// terms returns the A, B and C of excess.
func (p plan) terms(n float64, g goal) (a, b, c float64) {
	l, sigma, largest, t := g.level(), p.sigma(n, g), 1/p.gamma, p.steps
	noise := float64(g.dim*t) + 2*math.Sqrt(g.dim*t*l) + 2*l
	drift := float64(sigma * math.Sqrt(2*t*l))
	a = 1 / (2 * (t + 1))
	b = largest*largest/2 + (sigma*sigma*noise/2+float64(drift*largest))/(t+1)
	return a, b, 2 * drift / (t + 1)
}

// sigma returns the standard deviation of the noise in each gradient at n examples.
func (p plan) sigma(n float64, g goal) float64 { return 2 * math.Sqrt(p.steps) / (p.gamma * n * g.mu) }

// rateAt returns the rate, or the best one for n if none is fixed.
func (p plan) rateAt(n float64, g goal) float64 {
	if p.rate > 0 {
		return p.rate
	}
	a, b, _ := p.terms(n, g)
	return math.Sqrt(a / b)
}

// sufficient returns the smallest n that proves shows to suffice, and with it every larger one. It
// is +Inf if there is none.
func (p plan) sufficient(g goal) float64 {
	return numeric.LeastFrom(1, func(n float64) bool { return p.proves(n, g) })
}

// bestPlan returns the plan with the smallest sufficient n among several, and that n. It tries
// numbers of steps from 1/(gamma alpha)^2 on, because with fewer steps F(w) - F(u) cannot be alpha.
// The plan's rate is the best one for n.
func (g goal) bestPlan() (plan, float64) {
	best, least := plan{}, math.Inf(1)
	for step := range 7 {
		try := plan{gamma: g.margin, steps: math.Ceil(math.Ldexp(1/(g.margin*g.margin*g.alpha*g.alpha), step))}
		if try.steps > maxSteps {
			break
		}
		if n := try.sufficient(g); n < least {
			best, least = try, n
			best.rate = try.rateAt(n, g)
		}
	}
	return best, least
}

// bound returns the proved size n of a plan as a bound of that name. It fails if n is not finite.
func (p plan) bound(name, source string, n float64, g goal) algo.Bound {
	b := algo.Bound{
		Name: name, Source: source, Value: n, Proved: true, Premises: []algo.Premise{algo.TargetInClass},
	}
	switch {
	case p.steps == 0:
		b.Fails = fmt.Sprintf("no sample size is proved to be sufficient for the error %.4g with up to %d steps",
			g.alpha, maxSteps)
	case math.IsInf(n, 1):
		b.Fails = fmt.Sprintf("with %v the proof yields an error of %.4g at best, and the goal is %.4g",
			p, p.error(math.Inf(1), g), g.alpha)
	default:
		b.With = map[string]float64{
			"gamma": p.gamma, "steps": p.steps, "rate": p.rate, "sigma": p.sigma(n, g), "mu": g.mu,
		}
	}
	return b
}
