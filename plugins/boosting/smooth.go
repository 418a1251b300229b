package boosting

import (
	"context"
	"fmt"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// SmoothParams holds the parameters of boosting/smooth.
type SmoothParams struct {
	Kappa float64 `doc:"share of the sample that may be wrong, in (0,1); also the density of the distributions; 0: alpha/2" min:"0" max:"1"`
	Tau   float64 `doc:"target margin, by an advantage gamma of tau/2 (tau/4 if labels are noisy); 0: the margin that the problem guarantees" min:"0" max:"1"`
}

// smooth returns boosting/smooth.
func smooth() algo.Algorithm[SmoothParams] {
	return algo.Algorithm[SmoothParams]{
		Name:    "boosting/smooth",
		Version: "1.0.0",
		Doc: "Halfspaces with a margin by SmoothBoost (Servedio 2003) of the normalized mean of y x; not private: " +
			"its end and the divisor of the weights depend on the data.",
		Metrics: map[string]string{
			"rounds":          "boosting rounds until the weight fell below a kappa share [rounds]",
			"training_error":  metricError,
			"margin_quantile": metricQuantile,
		},
		Learn: learnSmooth,
		Check: resolveSmooth,
		Bound: func(s *algo.Setting[SmoothParams]) ([]algo.Bound, error) {
			return []algo.Bound{smoothBound(s)}, nil
		},
	}
}

// resolveSmooth checks a setting and sets the parameters that are zero.
func resolveSmooth(s *algo.Setting[SmoothParams]) error {
	if err := checkClass("boosting/smooth", s.Problem); err != nil {
		return err
	}
	p := &s.Params
	if err := setTau(&p.Tau, s.Problem); err != nil {
		return err
	}
	if p.Tau == 0 {
		return algo.Invalid("boosting/smooth requires a margin and the problem guarantees none: set tau")
	}
	if p.Kappa == 0 {
		p.Kappa = s.Alpha / 2
	}
	return checkKappa(p.Kappa)
}

// learnSmooth runs boosting/smooth.
func learnSmooth(ctx context.Context, t *algo.Trial[SmoothParams], sample *algo.Data) (algo.Model, error) {
	if err := checkBall(sample, "round bound"); err != nil {
		return nil, err
	}
	f := newFading(effectiveMargin(t.Params.Tau, t.Problem.NoiseRate)/2, t.Params.Kappa, sample)
	if err := f.run(ctx); err != nil {
		return nil, fmt.Errorf("boost for the margin %g: %w", t.Params.Tau, err)
	}
	t.Report("rounds", float64(f.Rounds))
	reportMargins(t, f.booster)
	return f.model(), nil
}

// fading is a run of SmoothBoost. An example whose margins y h(x) exceed theta per round, by N > 0
// in total, has the weight (1-gamma)^(N/2), and any other example has the weight 1. So the weights
// follow from the log-weights of the booster, with all of them raised by the same number each
// round.
type fading struct {
	*booster         // its Rounds counts the rounds so far
	raise    float64 // increase of the log-weights per round
	limit    float64 // limit on the number of rounds
}

// newFading returns a run for a weak learner of advantage gamma, in (0, 1/2].
//
// The run ends before 2/(kappa gamma^2 sqrt(1-gamma)) rounds (Servedio 2003). In short, let f(N) =
// min(1, e^(-cN)) be the weight, c = -ln(1-gamma)/2, and F(N) the integral of f from 0 to N, which
// is at most 1/c. If a round changes N by a, where |a| <= 1 + theta, then
//
//	f(N) a <= F(N+a) - F(N) + r f(N) with r = (e^(c|a|) - 1 - c|a|)/c
//
// So over all rounds and examples the sum of f(N) a is at most n/c plus r times the sum of f(N). By
// the advantage it is at least 2 gamma - theta times the sum of f(N), which is at least kappa n in
// each round. Hence there are at most 1/(c kappa (2 gamma - theta - r)) rounds, which is less.
func newFading(gamma, kappa float64, sample *algo.Data) *fading {
	lambda := -math.Log1p(-gamma)
	return &fading{
		booster: newBooster(Params{Lambda: lambda, Kappa: kappa, Weak: Unit, Loss: Linear}, sample),
		raise:   lambda / 2 * smoothMargin(gamma),
		limit:   2 / (kappa * gamma * gamma * math.Sqrt(1-gamma)),
	}
}

// smoothMargin returns theta. At the end fewer than kappa n examples have a margin of at most
// theta, because each of those still has weight 1.
func smoothMargin(gamma float64) float64 { return gamma / (2 + gamma) }

// run runs rounds until the weights sum to less than kappa n, or ctx ends.
func (f *fading) run(ctx context.Context) error {
	for left := f.weigh(); left >= f.mass; left = f.weigh() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if float64(f.Rounds) >= f.limit {
			return fmt.Errorf("no end after %d rounds, so the sample does not have this margin: "+
				"lower tau, or raise kappa for more wrong labels", f.Rounds)
		}
		f.center(1, left)
		f.step(noiseless)
		f.Rounds++
	}
	return nil
}

// weigh computes the weights and returns their sum. As long as that is kappa n or more, no example
// has more than a 1/(kappa n) share of it.
func (f *fading) weigh() float64 {
	capped, tail := exponentials(f.weights.u, f.s, f.raise*float64(f.Rounds))
	return float64(capped) + tail
}

// smoothBound returns the n that is proved to suffice for the parameters of a setting.
func smoothBound(s *algo.Setting[SmoothParams]) algo.Bound {
	g, p := goalOf(s), s.Params
	gamma := effectiveMargin(p.Tau, g.rate) / 2
	b := provedBound(g, p.Kappa, smoothMargin(gamma), sourceSmooth, map[string]float64{"gamma": gamma})
	if p.Tau > g.margin { // the weak learner may not have the advantage
		b.Value = math.Inf(1)
		b.Fails = fmt.Sprintf("the proof is for a margin of tau = %g, and the problem guarantees %g", p.Tau, g.margin)
	}
	return b
}
