package prediction

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// predictor is the paper's Algorithm 2 with a hard budget: at most budget instances of
// BetweenThresholds are ever started, whatever the queries and the noise are, and then all answers
// come from public data. Accuracy needs a budget that lasts. The privacy of the transcript, which
// consists of the answers, the marks of hard queries and the switch to public answers, rests on the
// budget being kept. One example moves one block's hypothesis, hence a query by at most 1/k.
type predictor struct {
	gen    generator
	noise  noise
	k      int     // number of blocks
	eps0   float64 // privacy of each instance
	budget int     // the paper's V

	started  int     // number of instances so far
	open     bool    // the last instance has not ended
	instance between // the last instance
	nu       float64 // noise of the last query

	report func(metric string, value float64)
}

func newPredictor(
	gen generator, noise noise, k, budget int, eps0 float64, report func(metric string, value float64),
) *predictor {
	report("instances", 0)
	report("budget_exhausted", 0)
	report("inexact", float64(inexact(gen)))
	return &predictor{
		gen: gen, noise: noise, k: k, eps0: eps0, budget: budget, report: report,
		instance: between{lo: lowThreshold, hi: highThreshold}, // for a Predict before any query
	}
}

// next answers the query x, and returns the verdict on it.
func (p *predictor) next(x []float64) (float64, verdict, error) {
	p.nu = p.noise.query()
	if !p.open && p.started < p.budget {
		p.instance, p.open = newBetween(p.eps0, p.k, p.noise.threshold()), true
		p.started++
		p.report("instances", float64(p.started))
	}
	v := p.judge(x)
	switch v {
	case left:
		tell(p.gen, x, -1)
		return -1, v, nil
	case right:
		tell(p.gen, x, 1)
		return 1, v, nil
	case public:
		return p.gen.public(x), v, nil
	}
	coin := p.noise.coin()
	p.open = false
	if p.started == p.budget {
		p.report("budget_exhausted", 1)
	}
	err := p.gen.hard(x, coin)
	p.report("inexact", float64(inexact(p.gen)))
	return coin, v, err
}

// judge returns the verdict on x with the noise of the last query.
func (p *predictor) judge(x []float64) verdict {
	if !p.open && p.started == p.budget {
		return public
	}
	return p.instance.judge(float64(p.gen.votes(x))/float64(p.k), p.nu)
}

// Predict implements algo.Model: it maps points to labels with the noise of the last query. A hard
// point gets its coin from stateCoin. It serves to measure errors and is no part of the private
// transcript.
func (p *predictor) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		switch p.judge(x.X(i)) {
		case left:
			out[i] = -1
		case right:
			out[i] = 1
		case hard:
			out[i] = stateCoin(p.nu, x.X(i))
		case public:
			out[i] = p.gen.public(x.X(i))
		}
	}
	return ctx.Err()
}

// stateCoin returns the label that a state gives to a hard point, -1 or +1: a coin for each point and
// each noise nu of a last query. It takes no randomness from the transcript, so that a state can be
// asked at any time and any number of times.
func stateCoin(nu float64, x []float64) float64 {
	h := math.Float64bits(nu)
	for _, v := range x {
		h = mix64(h ^ math.Float64bits(v))
	}
	return labelOf(mix64(h)>>63 == 1)
}

// mix64 is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), after its increment.
func mix64(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Answer implements algo.Answerer.
func (p *predictor) Answer(_ context.Context, x []float64) (float64, bool, error) {
	label, v, err := p.next(x)
	return label, v == hard, err
}
