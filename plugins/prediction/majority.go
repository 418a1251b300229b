package prediction

import (
	"context"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Values of the parameter noise.
const (
	Gaussian = "gaussian" // all answers together are exactly (epsilon, delta)-private
	Laplace  = "laplace"  // all answers together are epsilon-private
)

func composition() algo.Algorithm[Majority] {
	const name = "prediction/composition"
	return algo.Algorithm[Majority]{
		Name: name, Version: "1.1.0",
		Doc: "Private prediction by the noisy majority of blocks, with composition over the queries " +
			"(Dwork and Feldman 2018; Bassily, Thakurta and Thakkar 2018).",
		Defaults: Majority{Noise: Gaussian, Affine: true},
		Metrics: map[string]string{
			"noise_scale": "standard deviation (gaussian) or scale (laplace) of the noise [votes]",
			"inexact":     metrics()["inexact"],
		},
		Check: func(s *algo.Setting[Majority]) error {
			if err := checkProblem(s, name, s.Params.Noise == Laplace, allClasses()...); err != nil {
				return err
			}
			return resolveMajority(s)
		},
		Predict:   predictByMajority,
		Guarantee: majorityGuarantee,
		Bound:     majorityBounds,
	}
}

// resolveMajority sets k if it is 0, and returns an error if n examples do not fill k blocks.
func resolveMajority(s *algo.Setting[Majority]) error {
	if s.Params.K == 0 {
		k := majorityBlocks(s.Params.Noise, majorityScale(s), s.Queries, s.Beta)
		if !(k <= 1<<31) {
			return algo.Invalid("%d queries at epsilon %g need %g blocks: lower the number of queries, or set k",
				s.Queries, s.Epsilon, k)
		}
		s.Params.K = int(k)
	}
	if s.N > 0 {
		return enough(s.N, s.Params.K)
	}
	return nil
}

// majorityScale returns the scale of the noise on each vote that keeps all queries together
// private.
func majorityScale(s *algo.Setting[Majority]) float64 {
	if s.Params.Noise == Laplace {
		return float64(s.Queries) / s.Epsilon
	}
	return privacy.GaussianSigma(1, s.Queries, s.Epsilon, s.Delta)
}

func majorityGuarantee(s *algo.Setting[Majority]) (algo.Guarantee, error) {
	if s.Params.Noise == Laplace {
		return algo.Guarantee{
			Pure: true, Epsilon: s.Epsilon,
			Source: "Laplace noise on votes of sensitivity 1, basic composition over the queries",
		}, nil
	}
	return algo.Guarantee{
		Epsilon: s.Epsilon, Delta: s.Delta, Mu: privacy.GaussianMu(s.Epsilon, s.Delta),
		Source: "Gaussian noise on votes of sensitivity 1, exact composition over the queries (Dong, Roth and Su 2019)",
	}, nil
}

func predictByMajority(_ context.Context, t *algo.Trial[Majority], sample *algo.Data) (algo.Answerer, error) {
	g, err := learnBlocks(t.Problem, sample, t.Params.K, t.Params.Affine, t.Rand)
	if err != nil {
		return nil, err
	}
	scale := majorityScale(&t.Setting)
	t.Report("noise_scale", scale)
	t.Report("inexact", float64(g.inexact()))
	noise := func() float64 { return float64(scale * t.Rand.NormFloat64()) }
	if t.Params.Noise == Laplace {
		noise = func() float64 { return privacy.Laplace(privacy.Uniform(t.Rand), scale) }
	}
	p := &majority{gen: g, k: t.Params.K, noise: noise, queries: t.Queries, left: t.Queries}
	p.drawn = p.noise()
	return p, nil
}

// majority answers each query by the noisy majority of k hypotheses that never change (Dwork and
// Feldman 2018; Bassily, Thakurta and Thakkar 2018). One example changes at most one vote.
type majority struct {
	gen     generator
	k       int
	noise   func() float64 // draws the noise of an answer
	queries int            // number of answers that the noise is scaled for
	left    int            // number of answers still allowed
	drawn   float64        // noise of the next answer; after the last answer, its noise
}

// Answer implements algo.Answerer. It returns an error after the number of answers that the noise
// is scaled for.
func (p *majority) Answer(_ context.Context, x []float64) (float64, bool, error) {
	if p.left == 0 {
		return 0, false, fmt.Errorf("answer query %d: the noise is scaled for %d queries: set queries to the number "+
			"of queries asked",
			p.queries, p.queries)
	}
	label := p.label(x)
	if p.left--; p.left > 0 {
		p.drawn = p.noise()
	}
	return label, false, nil
}

// label answers x with the noise already drawn.
func (p *majority) label(x []float64) float64 {
	return labelOf(float64(p.gen.votes(x))-float64(p.k)/2+p.drawn >= 0)
}

// Predict implements algo.Model, with the noise of the next answer.
func (p *majority) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	return hypothesis(p.label).Predict(ctx, x, out)
}
