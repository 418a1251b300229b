package boosting

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/matrix"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

const blockRows = 256 // number of examples whose weights and margins are held at once

// booster is the state of one run of boosting over a sample of n examples in d dimensions. All
// algorithms of this package use its rounds. In each round a weak learner computes a vector from
// weighted examples (center), adds noise to it (release), and reweights the examples by how well
// the released vector predicts them (reweight).
type booster struct {
	Params
	x, y  []float64 // the sample, borrowed
	mass  float64   // kappa n, the sum of the weights
	eager bool      // whether each round projects the last projection, not the sum of all losses

	s         []float64          // log-weights by example, up to a common constant
	weights   measure            // weights of the current round
	weak      []float64          // the weak learner's vector of this round, before noise
	released  []float64          // the weak learner's vector after noise and normalization, as released
	sum       []float64          // sum of all released vectors
	votes     ensemble           // the hypotheses of all rounds; nil unless the model is their majority
	part      []float64          // contribution of one block to weak
	block     [blockRows]float64 // weights or answers of one block of examples
	done      int                // number of completed rounds
	gain      float64            // sum over rounds of <weak, released>
	sumSpread float64            // sum over rounds of (largest - smallest y <released, x>)^2
}

// newBooster returns a booster before its first round, in which all weights are equal. It takes
// resolved parameters.
func newBooster(p Params, sample *algo.Data) *booster {
	n, d := sample.Len(), sample.Dim()
	b := &booster{
		Params: p, x: sample.Xs(), y: sample.Ys(), mass: p.Kappa * float64(n),
		s:       make([]float64, n),
		weights: measure{u: make([]float64, n), logc: math.Log(p.Kappa)},
		weak:    make([]float64, d), released: make([]float64, d), sum: make([]float64, d), part: make([]float64, d),
	}
	return b
}

// run runs all rounds, or until ctx ends. gauss draws standard normals.
func (b *booster) run(ctx context.Context, gauss func() float64) error {
	for range b.Rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.round(gauss)
	}
	return nil
}

// round runs one round on the projection of the weights. Lazy projection projects the result of all
// losses on uniform weights; eager projection projects the result of the last loss on the last
// projection.
func (b *booster) round(gauss func() float64) {
	factor, mass := b.weights.project(b.s, b.mass), b.mass
	if b.Preset == PaperPreset {
		factor, mass = b.projectAsPrinted(factor)
	}
	b.center(factor, mass)
	if b.eager {
		b.weights.settle(b.s)
	}
	b.step(gauss)
}

// projectAsPrinted returns the factor and the mass of the projection that Algorithm 4 prints, given
// the factor of the projection of mass kappa n. By Lemma 9, c is at least 1: a measure kappa
// e^(-lambda sum of losses) that is already dense is only capped, and keeps its mass. That requires
// losses below 0, and so |h(x)| > 1; otherwise the two projections are equal.
//
// The weights are divided by their own mass, and the sensitivity remains 2/(kappa n): no weight
// exceeds 1/(kappa n), and if one example is replaced, all other weights still change in one
// direction: those that are scaled by a larger factor and divided by a smaller mass increase.
func (b *booster) projectAsPrinted(factor float64) (atLeast1, mass float64) {
	// c e^(s_i) = c' kappa e^(-lambda sum of losses), where the losses of d rounds sum to d/2 +
	// margins/2.
	raise := math.Log(b.Kappa) - float64(b.Lambda/2*float64(b.done)) - b.weights.logc
	if raise <= 0 {
		return factor, b.mass
	}
	atLeast1 = factor * math.Exp(raise)
	capped, tail := split(b.weights.u, atLeast1)
	return atLeast1, float64(capped) + float64(atLeast1*tail)
}

// step completes a round after weak has been computed.
func (b *booster) step(gauss func() float64) {
	b.release(gauss)
	smallest, largest := b.reweight()
	b.count(numeric.Dot(b.weak, b.released), largest-smallest)
}

// count counts a round with this edge of its hypothesis and this spread of y h(x).
func (b *booster) count(edge, spread float64) {
	b.done++
	b.gain += edge
	b.sumSpread += float64(spread * spread)
}

// noiseless replaces the source of normals in algorithms that are not private.
func noiseless() float64 { return 0 }

// center runs the weak learner: weak = (1/mass) sum_i mu_i y_i x_i with mu_i = min(1, factor *
// u_i).
//
// If the mu_i are a lazy projection, of mass kappa n, replacing one example moves weak by at most
// 2/(kappa n) in Euclidean norm, and this maximum is attained. For all other weights change in one
// direction, so that together they change by |mu_i - mu'_i|, and mu_i + mu'_i + |mu_i - mu'_i| <=
// 2.
func (b *booster) center(factor, mass float64) {
	clear(b.weak)
	d := len(b.weak)
	for lo := 0; lo < len(b.y); lo += blockRows {
		y := b.y[lo:min(lo+blockRows, len(b.y))]
		mu := b.block[:len(y)]
		capWeights(mu, b.weights.u[lo:lo+len(y)], y, factor)
		clear(b.part)
		matrix.AddRows(b.part, b.x[lo*d:], mu)
		for j, v := range b.part {
			b.weak[j] += v
		}
	}
	for j := range b.weak {
		b.weak[j] /= mass
	}
}

// release adds the noise to weak and normalizes the result. As post-processing, normalization costs
// no privacy.
func (b *booster) release(gauss func() float64) {
	for j, v := range b.weak {
		b.released[j] = v + float64(b.Sigma*gauss())
	}
	if length := b.length(); length > 0 {
		for j := range b.released {
			b.released[j] /= length
		}
	}
	for j, v := range b.released {
		b.sum[j] += v
	}
	if b.byVotes() {
		b.votes = append(b.votes, bent{slices.Clone(b.released), b.Loss})
	}
}

// length returns the divisor of the released vector.
func (b *booster) length() float64 {
	square := numeric.Dot(b.released, b.released)
	switch {
	case b.Debias:
		added := float64(b.Sigma * b.Sigma * float64(len(b.released))) // mean squared norm of the noise
		return max(b.Tau, math.Sqrt(max(0, square-added)))
	case b.Weak == Unit:
		return math.Sqrt(square)
	default:
		return 1
	}
}

// reweight lowers the log-weight of each example by lambda times the loss, up to a constant, of the
// released hypothesis h(x) = <released, x>, transformed as the loss requires. It returns the
// extremes of y h(x).
func (b *booster) reweight() (smallest, largest float64) {
	smallest, largest = math.Inf(1), math.Inf(-1)
	half := b.Lambda / 2
	for lo := 0; lo < len(b.s); lo += blockRows {
		h, y := b.answersFrom(lo, b.released)
		bend(h, y, b.Loss)
		smallest, largest = lower(b.s[lo:lo+len(h)], h, y, half, smallest, largest)
	}
	return smallest, largest
}

// answersFrom returns <v, x_i> and y_i for the block of examples that begins at lo. The next call
// overwrites the answers.
func (b *booster) answersFrom(lo int, v []float64) (h, y []float64) {
	y = b.y[lo:min(lo+blockRows, len(b.y))]
	h = b.block[:len(y)]
	matrix.MultiplyRows(h, b.x[lo*len(v):], v)
	return h, y
}

// bend changes each answer h to an example of label y so that its loss is (1 + y h)/2.
func bend(h, y []float64, loss string) {
	switch loss {
	case Paper: // the loss is 1 - |h - y|/2, which decreases again beyond y h = 1
		for i, v := range h {
			h[i] = y[i] * (1 - math.Abs(float64(v*y[i])-1))
		}
	case Clip:
		for i, v := range h {
			h[i] = max(-1, min(1, v))
		}
	case vote:
		signs(h)
	}
}

// margins returns y_i H(x_i) for all examples, where H, the mean of all rounds, is the final
// hypothesis. It ends the run, because it overwrites the weights.
func (b *booster) margins() []float64 {
	out := b.weights.u
	if b.Loss == Paper || b.eager { // the margins do not follow from the log-weights
		for lo := 0; lo < len(out); lo += blockRows {
			h, y := b.answersFrom(lo, b.sum)
			for i, v := range h {
				out[lo+i] = v * y[i]
			}
		}
		return scaled(out, 1/float64(b.Rounds))
	}
	copy(out, b.s)
	return scaled(out, -2/(b.Lambda*float64(b.Rounds)))
}

// certificate returns a value such that fewer than kappa n examples have at most that margin. It
// requires loss linear.
//
// Write v_i = y_i x_i, and p_t . v for the mean of the v_i under the weights p_t. The certificate
// is the average edge <p_t . v, z_t> of the released vectors z_t minus the regret of the weights
// p_t. Against any smooth distribution their total regret is at most
//
//	ln(1/kappa)/lambda + (lambda/2) sum_t b_t^2
//
// where [c-b_t, c+b_t] holds the losses of round t, because the weights are the gradient of a
// function that is 1-smooth in the largest norm. With loss linear, b_t is a quarter of the spread
// of <v_i, z_t>.
//
// Eager projection has the same regret against a smooth p. Let q be the weights after the loss l_t
// and before the projection. Then KL(p, p_t) - KL(p, q) >= lambda <p_t - p, l_t> - lambda^2 b_t^2/2
// by Hoeffding's lemma, and KL(p, p_(t+1)) <= KL(p, q), as for every projection.
func (b *booster) certificate() float64 {
	regret := math.Log(1/b.Kappa)/b.Lambda + float64(b.Lambda/32*b.sumSpread)
	return (b.gain - 2*regret) / float64(b.Rounds)
}

// model returns the final hypothesis: the mean of all rounds, or their majority.
func (b *booster) model() algo.Model {
	if b.votes != nil {
		return b.votes
	}
	return algo.Halfspace(scaled(b.sum, 1/float64(b.Rounds)), 0)
}

// scaled multiplies v by factor in place, and returns it.
func scaled(v []float64, factor float64) []float64 {
	for i := range v {
		v[i] *= factor
	}
	return v
}

// checkBall returns an error if an example is outside the unit ball, which the named property of
// boosting requires. It allows 1e-9 for rounding in the data; the sensitivity, and mu with it, may
// exceed its stated value by as much.
func checkBall(sample *algo.Data, property string) error {
	const most = (1 + 1e-9) * (1 + 1e-9)
	for i := range sample.Len() {
		if square := numeric.Dot(sample.X(i), sample.X(i)); !(square <= most) {
			return fmt.Errorf("check the sample: row %d has norm %g: the %s of boosting requires at most 1 "+
				"(scale the data by a public bound)", i, math.Sqrt(square), property)
		}
	}
	return nil
}

// capWeights writes mu_i = min(1, factor * u_i) y_i.
func capWeights(mu, u, y []float64, factor float64) {
	for i, v := range u {
		mu[i] = min(1, factor*v) * y[i]
	}
}

// lower lowers each s_i by half * y_i h_i. It returns the smallest and the largest of the y_i h_i
// and of the given numbers. It may return either of 0 and -0.
func lower(s, h, y []float64, half, smallest, largest float64) (float64, float64) {
	for i, v := range h {
		m := v * y[i]
		if m < smallest { // false if m is NaN
			smallest = m
		}
		if m > largest {
			largest = m
		}
		s[i] -= float64(half * m)
	}
	return smallest, largest
}
