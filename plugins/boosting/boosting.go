// Package boosting learns large-margin halfspaces privately, by boosting a noisy weak learner over
// smooth distributions (Bun, Carmosino and Sorrell, "Efficient, Noise-Tolerant, and Private
// Learning via Boosting", 2020, Algorithm 5: HS-StL). It also contains the algorithms that HS-StL
// is compared with:
//
//	boosting/hs-stl          lazy projection of the weights, noisy centering; private
//	boosting/centering       one round of HS-StL; private
//	boosting/drv             caps by the exponential mechanism, a majority of halfspaces; private
//	boosting/lazy-bregman    HS-StL without the noise
//	boosting/bregman         eager projection, without noise
//	boosting/smooth          SmoothBoost: no projection, no noise
//	boosting/m-eta           HS-StL on labels that the mechanism itself flips; private
//	boosting/boost           lazy projection with any weak learner, such as decision stumps, measured
//	boosting/private-stumps  the same with a private weak learner for stumps; private
//
// They differ in how a round weights the sample. The common part is in booster.
//
// A round makes two passes over the sample. Every sum has a fixed order and no fused products,
// hence float64(x*y). The privacy accounting of all noise is for neighbors that differ in one
// replaced example, with n public. Each bound states whether it is proved to suffice or only
// printed. The examples must be in the unit ball, with labels -1 and +1.
//
// The noise is seeded floating-point noise, suitable for experiments but not for the protection of
// real data.
//
// Start reading at learn for the algorithm, at resolve for the presets, and at schedule.proves and
// goal.reached for the proofs.
package boosting

import (
	"context"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Plugins returns the algorithms of this package.
func Plugins() []algo.Plugin {
	return []algo.Plugin{
		hsStL(), centering(), lazyBregman(), bregman(), smooth(), drv(), boost(), privateStumps(), noised(),
	}
}

// hsStL returns boosting/hs-stl.
func hsStL() algo.Algorithm[Params] {
	return algo.Algorithm[Params]{
		Name:    "boosting/hs-stl",
		Version: "1.0.0",
		Doc: "Halfspaces with a margin by lazy Bregman boosting of a noisy centering learner " +
			"(Bun, Carmosino and Sorrell 2020, HS-StL).",
		Defaults: Params{
			Preset: Calibrated,
			Weak:   Raw,
			Loss:   ByPreset,
		},
		Metrics: map[string]string{
			"sigma":           metricSigma,
			"training_error":  metricError,
			"margin_quantile": metricQuantile,
			"certificate":     metricRegret + "; loss linear only (not private) " + inBall,
		},
		Learn:     learn,
		Declares:  func(s *algo.Setting[Params]) bool { return !s.Params.byVotes() },
		Check:     resolve,
		Guarantee: guarantee,
		Bound:     bounds,
	}
}

// learn runs HS-StL: each round projects the weights, runs the weak learner and changes the
// log-weights. The state between rounds is the log-weights, which are a function of only the sample
// and the released vectors, and the sum of these vectors.
func learn(ctx context.Context, t *algo.Trial[Params], sample *algo.Data) (algo.Model, error) {
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

// Descriptions of metrics that several algorithms report.
const (
	metricSigma = "standard deviation, per coordinate, of the noise in each round " + inBall
	metricError = "examples that the hypothesis labels wrongly, compared with the given labels; a tie is wrong " +
		"(not private) [share of the sample]"
	metricQuantile = "largest m such that less than a kappa share of the sample has a margin y <w,x> below m (not " +
		"private) " +
		inBall
	metricBelow  = "largest m such that less than a kappa share of the sample has a margin y H(x) below m"
	metricRegret = "less than a kappa share of the sample has at most this margin, by the regret of the rounds"
	inBall       = "[radius of the ball]" // the unit of a margin y <w,x> for a unit vector w
)

// reportMargins reports training_error and margin_quantile. It ends the run of b.
func reportMargins[P any](t *algo.Trial[P], b *booster) {
	margins := b.margins()
	t.Report("training_error", numeric.ShareUpTo(margins, 0))
	// At most rank margins are strictly below, and rank <= ceil(kappa n) - 1 < kappa n.
	rank := max(0, int(math.Ceil(b.mass))-1)
	slices.Sort(margins)
	t.Report("margin_quantile", margins[rank])
}
