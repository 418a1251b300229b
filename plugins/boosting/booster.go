package boosting

import (
	"context"
	"fmt"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// booster is the state of one run over a sample of n rows.
type booster struct {
	Params
	x, y  []float64 // the sample, borrowed
	mass  float64   // kappa n
	eager bool      // carry on from the projected weights, not from the losses alone

	s         []float64 // log-weights, up to a common constant
	weights   measure
	weak      []float64          // the weak learner's vector of this round, before noise
	released  []float64          // the same as released
	sum       []float64          // of all released vectors
	kept      []float64          // all released vectors, row-major; loss clip only
	part      []float64          // of weak, one block's
	block     [blockRows]float64 // weights or margins of one block
	gain      float64            // sum over rounds of <weak, released>
	sumSpread float64            // sum over rounds of (largest - smallest y <released, x>)^2
}

// newBooster takes resolved parameters.
func newBooster(p Params, sample *algo.Data) *booster {
	n, d := sample.Len(), sample.Dim()
	numbers := make([]float64, 2*n+4*d)
	cut := func(k int) []float64 {
		v := numbers[:k:k]
		numbers = numbers[k:]
		return v
	}
	b := &booster{Params: p, x: sample.Xs(), y: sample.Ys(), mass: p.Kappa * float64(n)}
	b.s = cut(n) // all 0: the first round is uniform
	b.weights = measure{u: cut(n), logc: math.Log(p.Kappa)}
	b.weak, b.released, b.sum, b.part = cut(d), cut(d), cut(d), cut(d)
	if p.Loss == Clip || p.Loss == vote {
		b.kept = make([]float64, 0, p.Rounds*d)
	}
	return b
}

// run boosts all rounds, or until ctx ends. gauss draws standard normals.
func (b *booster) run(ctx context.Context, gauss func() float64) error {
	for range b.Rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.round(gauss)
	}
	return nil
}

// round boosts once, on the projection of the weights: lazily, of what all losses make of the uniform weights, or else of what
// the last loss makes of the last projection.
func (b *booster) round(gauss func() float64) {
	b.center(b.weights.project(b.s, b.mass), b.mass)
	if b.eager {
		b.weights.settle(b.s)
	}
	b.step(gauss)
}

// step ends a round whose weak vector stands.
func (b *booster) step(gauss func() float64) {
	b.release(gauss)
	smallest, largest := b.reweight()
	b.gain += dot(b.weak, b.released)
	b.sumSpread += float64((largest - smallest) * (largest - smallest))
}

// noiseless takes the place of a source of normals where nothing is to be hidden.
func noiseless() float64 { return 0 }

// center is the weak learner: weak = (1/mass) sum_i mu_i y_i x_i with mu_i = min(1, factor * u_i).
//
// With the lazy projection, of mass kappa n, replacing one example moves it by at most 2/(kappa n) in Euclidean norm, and that is
// attained: all other weights move the same way, so that together they move by |mu_i - mu'_i|, and mu_i + mu'_i + |mu_i - mu'_i| <= 2.
func (b *booster) center(factor, mass float64) {
	clear(b.weak)
	d := len(b.weak)
	for lo := 0; lo < len(b.y); lo += blockRows {
		y := b.y[lo:min(lo+blockRows, len(b.y))]
		mu := b.block[:len(y)]
		for i, u := range b.weights.u[lo : lo+len(y)] {
			mu[i] = atMost1(factor*u) * y[i]
		}
		clear(b.part)
		gather(b.part, b.x[lo*d:], mu)
		for j, v := range b.part {
			b.weak[j] += v
		}
	}
	for j := range b.weak {
		b.weak[j] /= mass
	}
}

// release adds the noise; normalising comes after it and is free of privacy cost.
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
	if b.kept != nil {
		b.kept = append(b.kept, b.released...)
	}
}

// length is what the released vector is divided by.
func (b *booster) length() float64 {
	square := dot(b.released, b.released)
	switch {
	case b.Debias: // the noise adds sigma^2 d to the square, on average
		return max(b.Tau, math.Sqrt(max(0, square-float64(b.Sigma*b.Sigma*float64(len(b.released))))))
	case b.Weak == Unit:
		return math.Sqrt(square)
	default:
		return 1
	}
}

// reweight charges each example the loss of the released hypothesis h(x) = <released, x>, bent as the loss asks for, and returns the
// extremes of y h(x).
func (b *booster) reweight() (smallest, largest float64) {
	smallest, largest = math.Inf(1), math.Inf(-1)
	half := b.Lambda / 2
	for lo := 0; lo < len(b.s); lo += blockRows {
		h, y := b.answersFrom(lo, b.released)
		bend(h, y, b.Loss)
		s := b.s[lo : lo+len(h)]
		for i, v := range h {
			m := v * y[i]
			if m < smallest {
				smallest = m
			}
			if m > largest {
				largest = m
			}
			s[i] -= float64(half * m)
		}
	}
	return smallest, largest
}

// answersFrom returns <v, x_i> and y_i of the block of rows that begins at lo; the next call overwrites the former.
func (b *booster) answersFrom(lo int, v []float64) (h, y []float64) {
	y = b.y[lo:min(lo+blockRows, len(b.y))]
	h = b.block[:len(y)]
	inner(h, b.x[lo*len(v):], v)
	return h, y
}

// bend makes the loss l of each answer h to an example of label y linear, l = (1 + y h)/2.
func bend(h, y []float64, loss string) {
	switch loss {
	case Paper: // l = 1 - |h - y|/2, which falls again beyond y h = 1
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

// margins returns y_i H(x_i) of the whole sample for the final hypothesis H, the mean of all rounds. It ends the run: it
// takes the place of the weights.
func (b *booster) margins() []float64 {
	out := b.weights.u
	if b.Loss == Paper || b.eager { // the log-weights hold something else
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

// certificate is a margin that fewer than kappa n examples can have or stay below: the average edge <p_t . v, z_t> of the
// released vectors z_t less the regret of the weights p_t, which against any smooth distribution is, in total, at most
// ln(1/kappa)/lambda + (lambda/2) sum_t b_t^2, where [c-b_t, c+b_t] holds the losses of round t (the weights are the gradient of
// a function that is 1-smooth in the largest norm). With loss linear b_t is a quarter of the spread of <v_i, z_t>.
//
// Eager projection has the same regret against a smooth p: with q the weights after the loss and before the projection, KL(p, p_t) -
// KL(p, q) >= lambda <p_t - p, l_t> - lambda^2 b_t^2/2 (Hoeffding's lemma), and KL(p, p_(t+1)) <= KL(p, q), as for every projection.
func (b *booster) certificate() float64 {
	regret := math.Log(1/b.Kappa)/b.Lambda + float64(b.Lambda/32*b.sumSpread)
	return (b.gain - 2*regret) / float64(b.Rounds)
}

func (b *booster) model() algo.Model {
	if b.kept != nil {
		return committee{vectors: b.kept, shape: b.Loss}
	}
	return halfspace(scaled(b.sum, 1/float64(b.Rounds)))
}

func scaled(v []float64, factor float64) []float64 {
	for i := range v {
		v[i] *= factor
	}
	return v
}

// checkBall refuses a sample with an example outside the unit ball, on which rests what is named. It allows 1e-9 for rounding in the data: by
// as much the sensitivity, and mu with it, may exceed what is said.
func checkBall(sample *algo.Data, what string) error {
	const most = (1 + 1e-9) * (1 + 1e-9)
	var squares [blockRows]float64
	for lo := 0; lo < sample.Len(); lo += blockRows {
		block := squares[:min(blockRows, sample.Len()-lo)]
		squaredNorms(block, sample.Xs()[lo*sample.Dim():], sample.Dim())
		for i, square := range block {
			if !(square <= most) {
				return fmt.Errorf("check the sample: row %d has norm %g: the %s of boosting needs at most 1 (scale the data by a public bound)",
					lo+i, math.Sqrt(square), what)
			}
		}
	}
	return nil
}
