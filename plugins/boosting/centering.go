package boosting

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// CenteringParams holds the parameters of boosting/centering. All of them are fixed.
type CenteringParams struct {
	Sigma float64 `doc:"standard deviation of the noise per coordinate: always 2/(n mu), from epsilon, delta and n; 0 before n is fixed (see the metric sigma)" min:"0"`
}

// centering returns boosting/centering, which learns the mean of y x plus calibrated noise: the
// first round of boosting, whose weights are uniform, at density 1. It works well if all examples
// agree on a direction and fails on a minority that does not.
func centering() algo.Algorithm[CenteringParams] {
	return algo.Algorithm[CenteringParams]{
		Name:    "boosting/centering",
		Version: "1.0.0",
		Doc: "Halfspaces by the noisy mean of y x, calibrated to epsilon, delta and n: " +
			"one round of boosting, as a baseline for it.",
		Metrics: map[string]string{
			"sigma":          "standard deviation, per coordinate, of the noise " + inBall,
			"training_error": metricError,
		},
		Learn: learnCentering, Declares: algo.Always[CenteringParams],
		Check: resolveCentering,
		Guarantee: func(s *algo.Setting[CenteringParams]) (algo.Guarantee, error) {
			return algo.Guarantee{Epsilon: s.Epsilon, Delta: s.Delta, Mu: exactAccount(s.Epsilon, s.Delta).mu,
				Source: "Gaussian mechanism of sensitivity 2/n, exact " +
					"(Balle and Wang 2018; Dong, Roth and Su 2019), for noise of real numbers"}, nil
		},
	}
}

// resolveCentering checks a setting and sets sigma if N > 0.
func resolveCentering(s *algo.Setting[CenteringParams]) error {
	if err := checkProblem("boosting/centering", s.Problem, s.Epsilon, s.Delta); err != nil {
		return err
	}
	f := fixer{who: "boosting/centering"}
	f.sigma(&s.Params.Sigma, calibratedSchedule(&Params{Rounds: 1, Kappa: 1}, s.Epsilon, s.Delta).sigma, s.N)
	if f.err != nil {
		return f.err
	}
	return checkSigma(s.Params.Sigma)
}

// learnCentering runs boosting/centering.
func learnCentering(_ context.Context, t *algo.Trial[CenteringParams], sample *algo.Data) (algo.Model, error) {
	if err := checkBall(sample, "privacy"); err != nil {
		return nil, err
	}
	b := newBooster(Params{Rounds: 1, Lambda: 1, Kappa: 1, Sigma: t.Params.Sigma, Weak: Raw, Loss: Linear}, sample)
	for i := range b.weights.u {
		b.weights.u[i] = 1
	}
	b.center(1, b.mass)
	b.release(t.Rand.NormFloat64)
	b.reweight()
	t.Report("sigma", t.Params.Sigma)
	t.Report("training_error", numeric.ShareUpTo(b.margins(), 0))
	return b.model(), nil
}
