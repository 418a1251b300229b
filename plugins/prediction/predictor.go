package prediction

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// predictor is the paper's Algorithm 2 with a hard budget: for all queries and all noise, it starts
// at most budget instances of BetweenThresholds; after that all answers come from public data.
// Accuracy requires that the budget lasts. The privacy of the transcript, which consists of the
// answers, the marks of hard queries and the switch to public answers, relies on the budget limit.
// One example changes one block's hypothesis, hence the value of a query by at most 1/k.
type predictor struct {
	gen    generator
	noise  noise
	k      int     // number of blocks
	eps0   float64 // privacy of each instance
	budget int     // the paper's V

	queries  int     // number of queries that Answer has not answered yet
	started  int     // number of instances so far
	open     bool    // whether the last instance has not ended
	instance between // the last instance
	coin     float64 // label of the query that ends the last instance
	nu       float64 // noise of the next query if prepared, else of the last query
	prepared bool

	report func(metric string, value float64)
}

func newPredictor(
	gen generator, noise noise, k, budget int, eps0 float64, report func(metric string, value float64),
) *predictor {
	report("instances", 0)
	report("budget_exhausted", 0)
	report("inexact", float64(gen.inexact()))
	return &predictor{
		gen: gen, noise: noise, k: k, eps0: eps0, budget: budget, report: report, coin: 1,
		instance: between{lo: lowThreshold, hi: highThreshold}, // for a Predict before any query
	}
}

// prepare draws the random numbers of the next answer, so that Predict can use them.
func (p *predictor) prepare() {
	p.prepared = true
	p.nu = p.noise.query()
	if !p.open && p.started < p.budget {
		p.instance, p.open = newBetween(p.eps0, p.k, p.noise.threshold()), true
		p.coin = p.noise.coin()
		p.started++
		p.report("instances", float64(p.started))
	}
}

// next answers the query x, and returns the verdict on it.
func (p *predictor) next(x []float64) (float64, verdict, error) {
	if !p.prepared {
		p.prepare()
	}
	p.prepared = false
	v := p.judge(x)
	label := p.label(x, v)
	switch v {
	case left, right:
		p.gen.released(x, label)
		return label, v, nil
	case public:
		return label, v, nil
	}
	p.open = false
	if p.started == p.budget {
		p.report("budget_exhausted", 1)
	}
	err := p.gen.hard(x, label)
	p.report("inexact", float64(p.gen.inexact()))
	return label, v, err
}

// label returns the answer to x with this verdict.
func (p *predictor) label(x []float64, v verdict) float64 {
	switch v {
	case left:
		return -1
	case right:
		return 1
	case hard:
		return p.coin
	}
	return p.gen.public(x)
}

// judge returns the verdict on x with the noise nu.
func (p *predictor) judge(x []float64) verdict {
	if !p.open && p.started == p.budget {
		return public
	}
	return p.instance.judge(float64(p.gen.votes(x))/float64(p.k), p.nu)
}

// Predict implements algo.Model: it maps points to the answers that the next query would get. After
// the last query it uses the noise of that query. It serves to measure errors and is not part of
// the private transcript.
func (p *predictor) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	answer := func(x []float64) float64 { return p.label(x, p.judge(x)) }
	return hypothesis(answer).Predict(ctx, x, out)
}

// Answer implements algo.Answerer.
func (p *predictor) Answer(_ context.Context, x []float64) (float64, bool, error) {
	label, v, err := p.next(x)
	if p.queries--; p.queries > 0 {
		p.prepare()
	}
	return label, v == hard, err
}
