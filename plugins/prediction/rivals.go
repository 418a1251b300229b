package prediction

import (
	"context"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

func composition() algo.Algorithm[Majority] {
	const name = "prediction/composition"
	return algo.Algorithm[Majority]{
		Name: name, Version: version,
		Doc:      "Private prediction by the noisy majority of blocks, each query paid for (Dwork and Feldman 2018; Bassily, Thakurta and Thakkar 2018).",
		Defaults: Majority{Noise: Gaussian, Affine: true},
		Metrics: map[string]string{
			"noise_scale": "standard deviation (gaussian) or scale (laplace) of the noise, in votes",
			"inexact":     metrics()["inexact"],
		},
		Check: func(s *algo.Setting[Majority]) error {
			if err := checkProblem(s, name, s.Params.Noise == Laplace, allClasses()...); err != nil {
				return err
			}
			if s.Params.K == 0 {
				k := majorityBlocks(s.Params.Noise, majorityScale(s), s.Queries, s.Beta)
				if !(k <= 1<<31) {
					return algo.Invalid("%d queries at epsilon %g need %g blocks: lower the number of queries, or give k", s.Queries, s.Epsilon, k)
				}
				s.Params.K = int(k)
			}
			if s.N > 0 {
				return enough(s.N, s.Params.K)
			}
			return nil
		},
		Predict: predictByMajority,
		Guarantee: func(s *algo.Setting[Majority]) (algo.Guarantee, error) {
			if s.Params.Noise == Laplace {
				return algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "Laplace noise on votes of sensitivity 1, basic composition over the queries"}, nil
			}
			mu := privacy.GaussianMu(s.Epsilon, s.Delta)
			return algo.Guarantee{
				Epsilon: s.Epsilon, Delta: s.Delta, Rho: mu * mu / 2,
				Source: "Gaussian noise on votes of sensitivity 1, exact composition over the queries (Dong, Roth and Su 2019)",
			}, nil
		},
		Bound: majorityBounds,
	}
}

// majorityScale is the noise that all queries together allow.
func majorityScale(s *algo.Setting[Majority]) float64 {
	if s.Params.Noise == Laplace {
		return float64(s.Queries) / s.Epsilon
	}
	return privacy.GaussianSigma(1, s.Queries, s.Epsilon, s.Delta)
}

func predictByMajority(_ context.Context, t *algo.Trial[Majority], sample *algo.Data) (algo.Answerer, error) {
	blocks, err := partition(sample, t.Params.K, t.Rand)
	if err != nil {
		return nil, err
	}
	g, err := newGenerator(t.Problem, t.Params.Affine, blocks)
	if err != nil {
		return nil, err
	}
	scale := majorityScale(&t.Setting)
	t.Report("noise_scale", scale)
	t.Report("inexact", float64(inexact(g)))
	noise := func() float64 { return float64(scale * t.Rand.NormFloat64()) }
	if t.Params.Noise == Laplace {
		noise = func() float64 { return privacy.Laplace(privacy.Uniform(t.Rand), scale) }
	}
	return &majority{gen: g, k: t.Params.K, noise: noise, queries: t.Queries, left: t.Queries}, nil
}

func offline() algo.Algorithm[struct{}] {
	const name = "prediction/offline"
	return algo.Algorithm[struct{}]{
		Name: name, Version: version,
		Doc: "Exponential mechanism over the labelings that the class has on queries which are all known beforehand " +
			"(in the spirit of Beimel, Nissim and Stemmer 2015).",
		Metrics: map[string]string{
			"labelings": "labelings of the queries to choose from",
		},
		Check: func(s *algo.Setting[struct{}]) error {
			if err := checkProblem(s, name, true, finiteClasses()...); err != nil {
				return err
			}
			if !s.Offline {
				return algo.Invalid("%s needs all queries beforehand: set adversary.offline to true", name)
			}
			return checkLabelings(s.Problem, s.Queries)
		},
		Predict: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Answerer, error) {
			c, err := labelings(t.Problem, block{sample.Xs(), sample.Ys()}, t.Revealed.Xs())
			if err != nil {
				return nil, err
			}
			t.Report("labelings", float64(len(c.list)))
			return c.draw(t.Epsilon, seeded{t.Rand}.gumbel), nil
		},
		Guarantee: func(s *algo.Setting[struct{}]) (algo.Guarantee, error) {
			return algo.Guarantee{
				Pure: true, Epsilon: s.Epsilon, Rho: s.Epsilon * s.Epsilon / 8,
				Source: "exponential mechanism (McSherry and Talwar 2007), sensitivity 1; rho by bounded range (Cesar and Rogers 2021)",
			}, nil
		},
		Bound: offlineBounds,
	}
}

// maxLabeled is the number of different points from which on an interval class has too many labelings to list: 2^22 of them.
const maxLabeled = 2895

func checkLabelings(p algo.Problem, queries int) error {
	switch {
	case p.Class == "rectangles" && p.Dim > 1:
		return algo.Invalid("prediction: no list of all labelings by rectangles in dimension %d: use thresholds, intervals or matrix", p.Dim)
	case isIntervals(p) && min(uint64(queries), p.Domain) > maxLabeled:
		return algo.Invalid("prediction: %d queries have too many labelings by intervals: use at most %d", queries, maxLabeled)
	}
	return nil
}

func nandiBassily() algo.Algorithm[NandiBassily] {
	const name = "prediction/nandi-bassily"
	return algo.Algorithm[NandiBassily]{
		Name: name, Version: version,
		Doc: "Labels the first queries as prediction/sparse-vector does, learns from them in public, and answers the rest with what it learned; " +
			"for queries drawn like the sample (Nandi and Bassily 2020).",
		Defaults: NandiBassily{Mode: Own, Composition: string(privacy.Best), Affine: true},
		Metrics:  metrics(),
		Check: func(s *algo.Setting[NandiBassily]) error {
			if err := checkProblem(s, name, false, allClasses()...); err != nil {
				return err
			}
			p := &s.Params
			if p.MU == 0 {
				d, _, err := dimension(s.Problem, p.Affine)
				if err != nil {
					return err
				}
				p.MU = max(1, int(min(math.Ceil(4*float64(d)/s.Alpha), 1<<31)))
			}
			theory := min(int(math.Ceil(float64(p.MU)*s.Alpha)), s.Queries)
			return accountOf(p.Mode, p.Composition).resolve(&p.K, &p.V, theory, s.Epsilon, s.Delta, s.N)
		},
		Predict: func(_ context.Context, t *algo.Trial[NandiBassily], sample *algo.Data) (algo.Answerer, error) {
			p := t.Params
			labels, err := start(t, sample, p.Affine, instances{p.K, p.V, accountOf(p.Mode, p.Composition)}, frozen)
			if err != nil {
				return nil, err
			}
			return &learnAnswers{predictor: labels, left: p.MU, learn: func(b block) (generator, error) {
				return newGenerator(t.Problem, p.Affine, []block{b})
			}}, nil
		},
		Guarantee: func(s *algo.Setting[NandiBassily]) (algo.Guarantee, error) {
			g := guarantee(s.Params.V, s.Params.Mode, s.Params.Composition, s.Epsilon, s.Delta)
			g.Source += "; what is learned from their answers is post-processing"
			return g, nil
		},
		Bound: nandiBassilyBounds,
	}
}

// learnAnswers answers some queries by a predictor, learns from these answers, and answers all others by what it learned. It learns
// early where the predictor's budget is spent.
type learnAnswers struct {
	*predictor
	left    int
	answers block
	learn   func(b block) (generator, error)
	final   generator // one block's, from the answers; nil before that
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
		p.report("inexact", float64(inexact(p.gen)+inexact(p.final)))
	}
	return label, v == hard, nil
}

func (p *learnAnswers) label(x []float64) float64 { return float64(2*p.final.votes(x) - 1) }

// Predict implements algo.Model.
func (p *learnAnswers) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	if p.final == nil {
		return p.predictor.Predict(ctx, x, out)
	}
	return hypothesis(p.label).Predict(ctx, x, out)
}

func everlastingLite() algo.Algorithm[Everlasting] {
	const name = "prediction/everlasting-lite"
	m := metrics()
	m["instances"] = "instances of BetweenThresholds started in all epochs; never more than v in one"
	m["epochs"] = "epochs begun"
	return algo.Algorithm[Everlasting]{
		Name: name, Version: version,
		Doc: "A lite form of Naor, Nissim, Stemmer and Yan 2023: an epoch answers as prediction/sparse-vector does, then its queries, relabelled " +
			"as by prediction/offline, are the next epoch's sample; the original's constants, amplification by subsampling and privacy of the " +
			"queries are not reproduced.",
		Defaults: Everlasting{Growth: 1, Mode: Own, Composition: string(privacy.Best)},
		Metrics:  m,
		Check: func(s *algo.Setting[Everlasting]) error {
			if err := checkProblem(s, name, false, finiteClasses()...); err != nil {
				return err
			}
			if err := checkLabelings(s.Problem, 1); err != nil {
				return err
			}
			p := &s.Params
			theory, err := obliviousBudget(s, false)
			if err != nil {
				return err
			}
			return accountOf(p.Mode, p.Composition).resolve(&p.K, &p.V, theory, s.Epsilon/2, s.Delta, s.N)
		},
		Predict: func(_ context.Context, t *algo.Trial[Everlasting], sample *algo.Data) (algo.Answerer, error) {
			e := &epochs{trial: t}
			return e, e.begin(sample)
		},
		Guarantee: func(s *algo.Setting[Everlasting]) (algo.Guarantee, error) {
			g := guarantee(s.Params.V, s.Params.Mode, s.Params.Composition, s.Epsilon/2, s.Delta)
			g.Epsilon += s.Epsilon / 2
			g.Source = "first epoch's answers: " + g.Source +
				"; its relabelling: exponential mechanism with half of epsilon; later epochs see the sample through these alone"
			return g, nil
		},
		Bound: everlastingBounds,
	}
}

// epochs answers epoch after epoch. All epochs after the first work on public points with labels that were privately released, and
// are post-processing; they add their noise all the same, as the original does to protect the queries.
type epochs struct {
	*predictor
	trial  *algo.Trial[Everlasting]
	sample block     // the epoch's, where another one may follow
	asked  []float64 // the epoch's queries
	length int       // number of queries that end the epoch; 0: it does not end

	number  int // of the epoch, from 1
	earlier int // instances of earlier epochs
}

// begin starts an epoch with that sample.
func (e *epochs) begin(sample *algo.Data) error {
	if e.predictor != nil {
		e.earlier += e.started
	}
	e.asked, e.length = nil, e.queries(sample.Len())
	if e.sample = (block{}); e.length > 0 { // a copy, because a trial's sample is borrowed
		e.sample = block{slices.Clone(sample.Xs()), slices.Clone(sample.Ys())}
	}
	p, t := e.trial.Params, *e.trial
	t.Epsilon /= 2
	var err error
	e.predictor, err = start(&t, sample, false, instances{p.K, p.V, accountOf(p.Mode, p.Composition)}, frozen)
	if err != nil {
		return err
	}
	e.predictor.report = func(metric string, value float64) {
		if metric == "instances" {
			value += float64(e.earlier)
		}
		e.trial.Report(metric, value)
	}
	e.number++
	e.trial.Report("epochs", float64(e.number))
	return nil
}

// queries is the length of an epoch with n examples, 0 where it is the last one: enough queries to fill the blocks of another one, and no
// more than can be relabelled.
func (e *epochs) queries(n int) int {
	r := int(min(math.Ceil(float64(n)*e.trial.Params.Growth), 1<<31))
	if isIntervals(e.trial.Problem) {
		r = min(r, maxLabeled)
	}
	if r < e.trial.Params.K || r >= e.trial.Queries {
		return 0
	}
	return r
}

// Answer implements algo.Answerer.
func (e *epochs) Answer(ctx context.Context, x []float64) (float64, bool, error) {
	if e.length > 0 && len(e.asked) == e.length {
		if err := e.relabel(); err != nil {
			return 0, false, err
		}
	}
	if e.length > 0 {
		e.asked = append(e.asked, x...)
	}
	return e.predictor.Answer(ctx, x)
}

// relabel makes the epoch's queries the next one's sample.
func (e *epochs) relabel() error {
	c, err := labelings(e.trial.Problem, e.sample, e.asked)
	if err != nil {
		return err
	}
	label := c.draw(e.trial.Epsilon/2, seeded{e.trial.Rand}.gumbel)
	labels := make([]float64, len(e.asked))
	for i := range labels {
		labels[i] = label(e.asked[i : i+1])
	}
	return e.begin(algo.NewData(e.asked, 1, labels))
}
