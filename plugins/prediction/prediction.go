// Package prediction answers queries privately, with the two algorithms of Yan, "Private Prediction
// via Shrinkage", and the algorithms that the paper compares them with. A sample is split into
// blocks, each block votes with a hypothesis of its own, and the package releases only noisy votes.
// Shrinkage makes the blocks agree, so that few queries are hard.
//
// The package guarantees, for neighboring samples that differ in one replaced example while n and
// the queries are public, that the transcript of all answers and marks of hard queries is (epsilon,
// delta)-differentially private for all queries: the number of instances of BetweenThresholds is
// limited, and a setting with fewer blocks than the proof requires is an error. Accuracy is
// guaranteed only by a Bound. Predict, which measures the state between two queries, is not part of
// the transcript and not private.
//
// The noise is seeded floating-point noise, suitable for experiments but not for a release of real
// data.
//
// The algorithms require points of the class's domain and the number of queries beforehand.
//
// Start reading at Plugins. predictor is Algorithm 2 of the paper, generator has the two methods of
// shrinking, and theory.go has the sample sizes with all constants.
package prediction

import (
	"context"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

const version = "1.0.0"

// Plugins returns the algorithms of this package.
func Plugins() []algo.Plugin {
	return []algo.Plugin{
		shrinkageOblivious(), shrinkageHalfspace(), sparseVector(), composition(), offline(), nandiBassily(),
		everlastingLite(),
	}
}

func shrinkageOblivious() algo.Algorithm[Oblivious] {
	return complete(algo.Algorithm[Oblivious]{
		Name: "prediction/shrinkage-oblivious",
		Doc: "Private prediction by BetweenThresholds over blocks whose hypotheses shrink to agree " +
			"with each hard query's coin (Yan, Algorithms 2 and 3).",
		Defaults: Oblivious{byDefault},
		Bound:    obliviousBounds,
	}, finiteClasses(), halvingBudget, shrinking)
}

func shrinkageHalfspace() algo.Algorithm[AffineBlocks] {
	return complete(algo.Algorithm[AffineBlocks]{
		Name: "prediction/shrinkage-halfspace",
		Doc: "Private prediction of halfspaces: after a hard query the hypotheses move into the hyperplane of that query " +
			"(Yan, Algorithms 2 and 4, repaired).",
		Defaults: AffineBlocks{byDefault, true},
		Bound:    halfspaceBounds,
	}, []string{concept.Halfspace}, func(s *algo.Setting[AffineBlocks]) (int, error) {
		return min(lifted(s.Problem, s.Params.Affine), s.Queries), nil // d hard queries, d+1 instances
	}, shrinking)
}

func sparseVector() algo.Algorithm[AffineBlocks] {
	return complete(algo.Algorithm[AffineBlocks]{
		Name: "prediction/sparse-vector",
		Doc: "Private prediction by BetweenThresholds over blocks whose hypotheses never change " +
			"(Bassily, Thakurta and Thakkar 2018, in the form of Yan's Algorithm 2).",
		Defaults: AffineBlocks{byDefault, true},
	}, allClasses(), halvingBudget, frozen)
}

// complete sets the common functions of all algorithms that answer by instances of
// BetweenThresholds: they accept the given classes, theory returns the default number of instances,
// and kind makes a generator shrink or not.
func complete[P any, B budgeted[P]](
	a algo.Algorithm[P],
	classes []string,
	theory func(s *algo.Setting[P]) (int, error),
	kind func(generator) generator,
) algo.Algorithm[P] {
	a.Version, a.Metrics = version, metrics()
	a.Check = func(s *algo.Setting[P]) error {
		if err := checkProblem(s, a.Name, false, classes...); err != nil {
			return err
		}
		v, err := theory(s)
		if err != nil {
			return err
		}
		return B(&s.Params).budget().resolve(v, s.Epsilon, s.Delta, s.N)
	}
	a.Predict = func(_ context.Context, t *algo.Trial[P], sample *algo.Data) (algo.Answerer, error) {
		p, err := start[P, B](t, sample, kind)
		if err != nil {
			return nil, err
		}
		p.queries = t.Queries
		p.prepare()
		return p, nil
	}
	a.Guarantee = func(s *algo.Setting[P]) (algo.Guarantee, error) {
		return B(&s.Params).budget().guarantee(s.Epsilon, s.Delta), nil
	}
	return a
}

// metrics describes the metrics of every predictor.
func metrics() map[string]string {
	return map[string]string{
		"instances":        "instances of BetweenThresholds started; never more than v [instances]",
		"budget_exhausted": "1 if all instances have ended and answers use only public data; else 0 [trials]",
		"inexact": "hypotheses computed so far, one for each block and shrinkage, " +
			"that may differ from the exact minimizers that the algorithm requires (not private) [hypotheses]",
	}
}

// lifted returns the number of coefficients of a halfspace.
func lifted(p algo.Problem, affine bool) int {
	if affine {
		return p.Dim + 1
	}
	return p.Dim
}

// halvingBudget returns the number of hard queries that the halving argument allows, at most the
// number of queries.
func halvingBudget[P any, B budgeted[P]](s *algo.Setting[P]) (int, error) {
	d, hypotheses, err := dimension(s.Problem, B(&s.Params).budget().affine)
	if err != nil {
		return 0, err
	}
	if d >= s.Queries { // all labelings; their number may be huge
		return s.Queries, nil
	}
	return min(hardQueries(labelingsOf(d, hypotheses, s.Queries), s.Beta/3), s.Queries), nil
}

func shrinking(g generator) generator { return g }
func frozen(g generator) generator    { return static{g} }

// start learns the first hypotheses and makes the predictor of a trial.
func start[P any, B budgeted[P]](
	t *algo.Trial[P], sample *algo.Data, kind func(generator) generator,
) (*predictor, error) {
	b := B(&t.Params).budget()
	g, err := learnBlocks(t.Problem, sample, *b.k, b.affine, t.Rand)
	if err != nil {
		return nil, err
	}
	eps0, _ := b.part(b.share*t.Epsilon, t.Delta)
	return newPredictor(kind(g), seeded{t.Rand}, *b.k, *b.v, eps0, t.Report), nil
}

// learnBlocks deals the sample to k blocks and learns a hypothesis from each.
func learnBlocks(p algo.Problem, sample *algo.Data, k int, affine bool, r *rand.Rand) (generator, error) {
	blocks, err := partition(sample, k, r)
	if err != nil {
		return nil, err
	}
	return newGenerator(p, affine, blocks)
}
