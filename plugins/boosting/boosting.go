// Package boosting learns large-margin halfspaces privately by boosting a noisy weak learner over smooth distributions
// (Bun, Carmosino and Sorrell, "Efficient, Noise-Tolerant, and Private Learning via Boosting", 2020, Algorithm 5: HS-StL), and has its rivals:
//
//	boosting/hs-stl        lazy projection of the weights, noisy centering: private
//	boosting/centering     one round of that
//	boosting/drv           caps chosen by the exponential mechanism, a majority of halfspaces: private
//	boosting/lazy-bregman  HS-StL without the noise
//	boosting/bregman       eager projection
//	boosting/smooth        SmoothBoost, no projection
//
// They differ in how a round weighs the sample, and share the rest, booster.
//
// It promises: a round of two passes over the sample, with nothing allocated and one order for every sum; all noise accounted for
// neighbours that differ in one replaced example, n public; and for each bound whether it is proved to suffice or only printed.
// It needs examples in the unit ball, labels -1 and +1.
//
// The noise is floating-point and seeded: it is for experiments, and no release of real data.
//
// Start at learn for the algorithm, at resolve for the presets, at proves and goal.reached for what is proved.
package boosting

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// Plugins returns the algorithms of this package.
func Plugins() []algo.Plugin {
	return []algo.Plugin{hsStL(), centering(), lazyBregman(), bregman(), smooth(), drv()}
}

func hsStL() algo.Algorithm[Params] {
	return algo.Algorithm[Params]{
		Name:    "boosting/hs-stl",
		Version: "1.0.0",
		Doc:     "Halfspaces with a margin by lazy Bregman boosting of a noisy centering learner (Bun, Carmosino and Sorrell 2020, HS-StL).",
		Defaults: Params{
			Preset: Calibrated,
			Weak:   Raw,
			Loss:   Linear,
		},
		Metrics: map[string]string{
			"sigma":           metricSigma,
			"training_error":  metricError,
			"margin_quantile": metricQuantile,
			"certificate":     metricRegret + "; loss linear only (not private)",
		},
		Learn:     learn,
		Check:     resolve,
		Guarantee: guarantee,
		Bound:     bounds,
	}
}

// learn is HS-StL: rounds of project, weak learner, new log-weights. Between rounds it keeps the log-weights, which are a
// function of the sample and of released vectors alone, and the sum of these vectors.
func learn(ctx context.Context, t *algo.Trial[Params], sample *algo.Data) (algo.Model, error) {
	if t.Params.Sigma == 0 {
		t.N = sample.Len()
		if err := resolve(&t.Setting); err != nil {
			return nil, err
		}
	}
	if err := checkBall(sample, "privacy"); err != nil {
		return nil, err
	}
	b := newBooster(t.Params, sample)
	if err := b.run(ctx, t.Rand.NormFloat64); err != nil {
		return nil, err
	}
	t.Report("sigma", t.Params.Sigma)
	if b.Loss == Linear {
		t.Report("certificate", b.certificate())
	}
	reportMargins(t, b)
	return b.model(), nil
}

// What the metrics of several algorithms mean.
const (
	metricSigma    = "standard deviation, per coordinate, of the noise in each round"
	metricError    = "share of the sample, as labelled, that the hypothesis gets wrong; a tie is wrong (not private)"
	metricQuantile = "largest margin y <w,x> that fewer than a kappa share of the sample stays below (not private)"
	metricRegret   = "fewer than a kappa share of the sample has a margin up to this, by the regret of the rounds"
)

// reportMargins reports training_error and margin_quantile. It ends the run.
func reportMargins[P any](t *algo.Trial[P], b *booster) {
	margins := b.margins()
	t.Report("training_error", shareUpTo(margins, 0))
	// At this rank at most ceil(kappa n) - 1 < kappa n margins lie strictly below.
	rank := max(0, int(math.Ceil(b.mass))-1)
	t.Report("margin_quantile", selectRank(margins, rank))
}
