package boosting

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// BoostParams holds the parameters of boosting/boost. A number of 0 means that it follows from the
// other parameters.
type BoostParams struct {
	Weak      string  `doc:"weak learner: stump (the best cut of one coordinate), unit (the normalized mean of y x), raw (the mean itself), constant (the more frequent label)" choices:"stump,unit,raw,constant"`
	Advantage float64 `doc:"advantage gamma that the weak learner must have on all weights: a round with less ends the trial with an error, because no guarantee holds then; 0: it must only be above 0, or with noise (sigma) may have any value" min:"0" max:"0.5"`
	Rounds    int     `doc:"boosting rounds T; 0: 2 ln(1/kappa)/gamma^2; without gamma, its value here is tau/2 for unit and tau^2/2 for raw on points of margin tau, halved if labels are noisy, or else 0.1" min:"0" max:"1000000"`
	Lambda    float64 `doc:"learning rate of the log-weights, per unit of loss; 0: 2 gamma, with the gamma of rounds" min:"0" max:"1e6"`
	Kappa     float64 `doc:"density of the smooth distributions, in (0,1): the share of the sample that may be wrong; 0: alpha/2" min:"0" max:"1"`
	Sigma     float64 `doc:"standard deviation, per coordinate, of noise on the vector of unit (before it is normalized) and raw; no privacy is claimed for it" min:"0" max:"1e6"`
}

// boost returns boosting/boost, Algorithms 1 and 2 with the measures of Algorithm 4 and any of
// weakKinds. With a weak learner of advantage gamma, fewer than kappa n examples have a margin of
// at most 2 gamma - lambda/4 - 2 ln(1/kappa)/(lambda T) (see booster.certificate), which is gamma
// for the rounds and lambda that resolveBoost sets; Theorem 24 requires eight times as many rounds.
func boost() algo.Algorithm[BoostParams] {
	return algo.Algorithm[BoostParams]{
		Name:    "boosting/boost",
		Version: "1.0.0",
		Doc: "Lazy Bregman boosting with any weak learner (Bun, Carmosino and Sorrell 2020, Algorithms 1, 2 and 4); " +
			"measures the weak learner's advantage and the slickness of the weights; not private.",
		Defaults: BoostParams{Weak: "stump"},
		Metrics: map[string]string{
			"advantage": "mean over the rounds of the weak learner's advantage (1/2) sum_i p_i y_i h(x_i) " +
				"under the weights p of its round [probability]",
			"advantage_min": "least advantage of a round [probability]",
			"slickness": "kappa n times the largest statistical distance of the final weights from those of a sample " +
				"with one example replaced by one of its points with either label; by Lemma 25 at most 1 [ratio]",
			"training_error":  metricError,
			"margin_quantile": metricBelow + " [mean answer of h]",
			"certificate":     metricRegret + " [mean answer of h]",
		},
		Learn: learnBoost,
		Check: resolveBoost,
	}
}

// resolveBoost checks a setting and sets the parameters that are zero.
func resolveBoost(s *algo.Setting[BoostParams]) error {
	p := &s.Params
	weak := weakKindOf(p.Weak)
	if weak.ball {
		if err := checkClass("weak learner "+p.Weak+" of boosting/boost", s.Problem); err != nil {
			return err
		}
	}
	if p.Sigma != 0 && !weak.ball {
		return algo.Invalid("sigma is noise on the vector of weak learner unit or raw, and %s has none: omit sigma",
			p.Weak)
	}
	if p.Kappa == 0 {
		p.Kappa = s.Alpha / 2
	}
	if err := checkKappa(p.Kappa); err != nil {
		return err
	}
	gamma := p.Advantage
	if gamma == 0 {
		gamma = weak.advantage(effectiveMargin(s.Problem.Margin, s.Problem.NoiseRate))
	}
	if !(gamma >= leastMargin && gamma <= 0.5) {
		return algo.Invalid("advantage must be between 1e-6 and 0.5, not %g", gamma)
	}
	if p.Lambda == 0 {
		p.Lambda = 2 * gamma
	}
	const most = 1_000_000
	if p.Rounds == 0 {
		rounds := math.Ceil(-2 * math.Log(p.Kappa) / (gamma * gamma))
		if rounds > most {
			return algo.Invalid("an advantage of %g requires %.4g rounds, and %d are allowed: set rounds, or raise advantage",
				gamma, rounds, most)
		}
		p.Rounds = int(rounds)
	}
	if p.Rounds > most {
		return algo.Invalid("rounds must be at most %d, not %d", most, p.Rounds)
	}
	resolved := p.forBooster()
	return checkNumbers(&resolved)
}

// forBooster returns the parameters of the booster.
func (p BoostParams) forBooster() Params {
	return Params{Rounds: p.Rounds, Lambda: p.Lambda, Kappa: p.Kappa, Weak: Raw, Loss: Linear}
}

// learnBoost runs boosting/boost.
func learnBoost(ctx context.Context, t *algo.Trial[BoostParams], sample *algo.Data) (algo.Model, error) {
	weak := weakKindOf(t.Params.Weak)
	if weak.ball {
		if err := checkBall(sample, "round bound"); err != nil {
			return nil, err
		}
	}
	b := newBooster(t.Params.forBooster(), sample)
	learn := weak.begin(sample, func() float64 { return t.Params.Sigma * t.Rand.NormFloat64() })
	found, advantages, err := b.assemble(ctx, learn, t.Params.required())
	if err != nil {
		return nil, err
	}
	t.Report("advantage", b.gain/float64(2*b.Rounds))
	t.Report("advantage_min", slices.Min(advantages))
	t.Report("certificate", b.certificate())
	t.Report("slickness", b.slickness())
	reportMargins(t, b)
	return found, nil
}

// required returns the least advantage of a round: gamma up to rounding if it is given, otherwise
// any positive value. Without gamma it allows any value if there is noise, because noise can
// remove all of the advantage.
func (p BoostParams) required() float64 {
	const rounding = 1e-9
	switch {
	case p.Advantage > 0:
		return p.Advantage - rounding
	case p.Sigma > 0:
		return math.Inf(-1)
	default:
		return rounding
	}
}

// assemble runs all rounds with a weak learner and returns the hypotheses and the advantage of each
// round. The error is ctx's, or names an advantage below the required one.
func (b *booster) assemble(
	ctx context.Context, learn func(signed []float64) hypothesis, required float64,
) (found ensemble, advantages []float64, err error) {
	for round := range b.Rounds {
		if err := ctx.Err(); err != nil {
			return ensemble{}, nil, err
		}
		signed := b.signedWeights()
		h := learn(signed)
		advantage := b.adopt(h, signed) / 2
		if !(advantage >= required) {
			return ensemble{}, nil, fmt.Errorf("end boosting in round %d: the weak learner has an advantage of %.4g under the "+
				"weights of this round, and at least %.4g is required: use another weak learner, lower advantage, or raise kappa",
				round+1, advantage, required)
		}
		found, advantages = append(found, h), append(advantages, advantage)
	}
	return found, advantages, nil
}

// signedWeights projects the weights and returns p_i y_i for the distribution p of this round.
func (b *booster) signedWeights() []float64 {
	signed := make([]float64, len(b.y))
	capWeights(signed, b.weights.u, b.y, b.weights.project(b.s, b.mass))
	return scaled(signed, 1/b.mass)
}

// adopt ends a round with the hypothesis h, learned with the signed weights p_i y_i: it lowers the
// log-weights by the losses (1 + y h(x))/2, up to a constant. It returns sum_i p_i y_i h(x_i).
func (b *booster) adopt(h hypothesis, signed []float64) (edge float64) {
	d := len(b.weak)
	smallest, largest := math.Inf(1), math.Inf(-1)
	for lo := 0; lo < len(b.y); lo += blockRows {
		y := b.y[lo:min(lo+blockRows, len(b.y))]
		answers := b.block[:len(y)]
		h.answer(answers, b.x[lo*d:(lo+len(y))*d], d)
		edge += numeric.Dot(answers, signed[lo:lo+len(y)])
		smallest, largest = lower(b.s[lo:lo+len(y)], answers, y, b.Lambda/2, smallest, largest)
	}
	b.count(edge, largest-smallest)
	return edge
}

// slickness returns kappa n times the largest statistical distance between the weights after all
// rounds and those of a sample with one example replaced by a point of the sample with either
// label. It is the change of the weight of the replaced example, because all other weights change
// in one direction and compensate for it. The largest change is that of the example of the largest
// weight if it becomes the easiest one, or that of the smallest weight if it becomes the hardest.
func (b *booster) slickness() float64 {
	hardest, easiest, reach := 0, 0, 0.0
	for i, v := range b.s {
		if v > b.s[hardest] {
			hardest = i
		}
		if v < b.s[easiest] {
			easiest = i
		}
		reach = max(reach, math.Abs(v)) // a point with the other label has the log-weight -v
	}
	return max(b.changeOfWeight(hardest, -reach), b.changeOfWeight(easiest, reach))
}

// changeOfWeight returns the change of the weight of example i if its log-weight becomes v.
func (b *booster) changeOfWeight(i int, v float64) float64 {
	m := measure{u: make([]float64, len(b.s)), logc: b.weights.logc}
	weight := func() float64 { return min(1, m.project(b.s, b.mass)*m.u[i]) }
	was, old := weight(), b.s[i]
	b.s[i] = v
	change := math.Abs(weight() - was)
	b.s[i] = old
	return change
}
