package prediction

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

func nandiBassily() algo.Algorithm[NandiBassily] {
	a := complete(algo.Algorithm[NandiBassily]{
		Name: "prediction/nandi-bassily",
		Doc: "Labels the first queries like prediction/sparse-vector, learns from these labels, " +
			"and answers the other queries with the result; for queries distributed like the sample (Nandi and Bassily 2020).",
		Defaults: NandiBassily{AffineBlocks: AffineBlocks{byDefault, true}},
		Bound:    nandiBassilyBounds,
	}, allClasses(), resolveLabelled, frozen)
	guarantee := a.Guarantee
	a.Guarantee = func(s *algo.Setting[NandiBassily]) (algo.Guarantee, error) {
		g, err := guarantee(s)
		g.Source += "; learning from their answers is post-processing"
		return g, err
	}
	a.Predict = func(_ context.Context, t *algo.Trial[NandiBassily], sample *algo.Data) (algo.Answerer, error) {
		labels, err := start(t, sample, frozen)
		if err != nil {
			return nil, err
		}
		labels.prepare()
		learn := func(b block) (generator, error) { return newGenerator(t.Problem, t.Params.Affine, []block{b}) }
		return &learnAnswers{predictor: labels, queries: t.Queries, left: t.Params.MU, learn: learn}, nil
	}
	return a
}

// resolveLabelled sets the number m_u of queries to learn from if it is 0, and returns the expected
// number of hard ones among them.
func resolveLabelled(s *algo.Setting[NandiBassily]) (int, error) {
	p := &s.Params
	if p.MU == 0 {
		d, _, err := dimension(s.Problem, p.Affine)
		if err != nil {
			return 0, err
		}
		p.MU = max(1, int(min(math.Ceil(4*float64(d)/s.Alpha), 1<<31)))
	}
	return min(int(math.Ceil(float64(p.MU)*s.Alpha)), s.Queries), nil
}

// learnAnswers answers some queries by a predictor, learns from these answers, and answers all
// others by the hypothesis learned. It learns early if the predictor's budget is spent.
type learnAnswers struct {
	*predictor
	queries int   // unanswered queries
	left    int   // unanswered queries for the predictor
	answers block // queries that the predictor answered, with their answers
	learn   func(b block) (generator, error)
	final   generator // result of learning from answers; nil before that
}

// Answer implements algo.Answerer.
func (p *learnAnswers) Answer(_ context.Context, x []float64) (float64, bool, error) {
	if p.final != nil {
		return p.label(x), false, nil
	}
	label, v, err := p.next(x)
	if err != nil {
		return 0, false, err
	}
	p.answers.x, p.answers.y = append(p.answers.x, x...), append(p.answers.y, label)
	p.left--
	if p.left == 0 || !p.open && p.started == p.budget {
		if p.final, err = p.learn(p.answers); err != nil {
			return 0, false, err
		}
		p.report("inexact", float64(p.gen.inexact()+p.final.inexact()))
	} else if p.queries > 1 {
		p.prepare()
	}
	p.queries--
	return label, v == hard, nil
}

// label labels x by the hypothesis learned, which has one vote.
func (p *learnAnswers) label(x []float64) float64 { return float64(2*p.final.votes(x) - 1) }

// Predict implements algo.Model.
func (p *learnAnswers) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	if p.final == nil {
		return p.predictor.Predict(ctx, x, out)
	}
	return hypothesis(p.label).Predict(ctx, x, out)
}
