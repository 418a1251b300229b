// Package prediction answers queries privately: the two algorithms of Yan, "Private Prediction via Shrinkage", and the rivals that the
// paper compares them with. A sample is split into blocks, each block votes with a hypothesis of its own, and noisy votes are what is
// released; shrinkage makes the blocks agree, so that few queries are hard.
//
// It promises, for neighbours that differ in one replaced example, n and the queries public: the transcript of all answers and marks of
// hard queries is (epsilon, delta)-differentially private, whatever the queries are, because the number of instances of BetweenThresholds
// is capped and no setting with fewer blocks than the proof asks for runs. Accuracy is promised only where a Bound says so. Predict,
// which measures the final state, is not part of the transcript and not private.
//
// The noise is floating-point and seeded: it is for experiments, and no release of real data.
//
// Start with Plugins; predictor is Algorithm 2, generator the two ways to shrink, theory.go has the sample sizes with all constants.
package prediction

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

const version = "1.0.0"

// Plugins are the algorithms of this package.
func Plugins() []algo.Plugin {
	return []algo.Plugin{
		shrinkageOblivious(), shrinkageHalfspace(), sparseVector(), composition(), offline(), nandiBassily(), everlastingLite(),
	}
}

// finiteClasses have points in 0..X-1.
func finiteClasses() []string { return []string{"thresholds", "intervals", "rectangles", "matrix"} }

// allClasses are those that newGenerator knows.
func allClasses() []string { return append(finiteClasses(), "halfspace") }

func metrics() map[string]string {
	return map[string]string{
		"instances":        "instances of BetweenThresholds started; never more than v",
		"budget_exhausted": "1 where all of them have ended, and answers come from public data alone; else 0",
		"inexact":          "hypotheses computed so far, one for each block and shrinkage, that are not certified to be what the algorithm asks for (not private)",
	}
}

func shrinkageOblivious() algo.Algorithm[Oblivious] {
	const name = "prediction/shrinkage-oblivious"
	return algo.Algorithm[Oblivious]{
		Name: name, Version: version,
		Doc: "Private prediction by BetweenThresholds over blocks whose hypotheses shrink to agree with each hard query's coin " +
			"(Yan, Algorithms 2 and 3).",
		Defaults: Oblivious{Mode: Own, Composition: string(privacy.Best)},
		Metrics:  metrics(),
		Check: func(s *algo.Setting[Oblivious]) error {
			if err := checkProblem(s, name, false, finiteClasses()...); err != nil {
				return err
			}
			p := &s.Params
			theory, err := obliviousBudget(s, false)
			if err != nil {
				return err
			}
			return accountOf(p.Mode, p.Composition).resolve(&p.K, &p.V, theory, s.Epsilon, s.Delta, s.N)
		},
		Predict: func(_ context.Context, t *algo.Trial[Oblivious], sample *algo.Data) (algo.Answerer, error) {
			p := t.Params
			return start(t, sample, false, instances{p.K, p.V, accountOf(p.Mode, p.Composition)}, shrinking)
		},
		Guarantee: func(s *algo.Setting[Oblivious]) (algo.Guarantee, error) {
			return guarantee(s.Params.V, s.Params.Mode, s.Params.Composition, s.Epsilon, s.Delta), nil
		},
		Bound: obliviousBounds,
	}
}

func shrinkageHalfspace() algo.Algorithm[Halfspaces] {
	const name = "prediction/shrinkage-halfspace"
	return algo.Algorithm[Halfspaces]{
		Name: name, Version: version,
		Doc: "Private prediction of halfspaces: after a hard query the hypotheses move into the hyperplane that it names " +
			"(Yan, Algorithms 2 and 4, repaired).",
		Defaults: Halfspaces{Mode: Own, Composition: string(privacy.Best), Affine: true},
		Metrics:  metrics(),
		Check: func(s *algo.Setting[Halfspaces]) error {
			if err := checkProblem(s, name, false, "halfspace"); err != nil {
				return err
			}
			p := &s.Params
			theory := min(lifted(s.Problem, p.Affine), s.Queries) // d hard queries, d+1 instances
			return accountOf(p.Mode, p.Composition).resolve(&p.K, &p.V, theory, s.Epsilon, s.Delta, s.N)
		},
		Predict: func(_ context.Context, t *algo.Trial[Halfspaces], sample *algo.Data) (algo.Answerer, error) {
			p := t.Params
			return start(t, sample, p.Affine, instances{p.K, p.V, accountOf(p.Mode, p.Composition)}, shrinking)
		},
		Guarantee: func(s *algo.Setting[Halfspaces]) (algo.Guarantee, error) {
			return guarantee(s.Params.V, s.Params.Mode, s.Params.Composition, s.Epsilon, s.Delta), nil
		},
		Bound: halfspaceBounds,
	}
}

func sparseVector() algo.Algorithm[Sparse] {
	const name = "prediction/sparse-vector"
	return algo.Algorithm[Sparse]{
		Name: name, Version: version,
		Doc: "Private prediction by BetweenThresholds over blocks whose hypotheses never change " +
			"(Bassily, Thakurta and Thakkar 2018, in the form of Yan's Algorithm 2).",
		Defaults: Sparse{Mode: Own, Composition: string(privacy.Best), Affine: true},
		Metrics:  metrics(),
		Check: func(s *algo.Setting[Sparse]) error {
			if err := checkProblem(s, name, false, allClasses()...); err != nil {
				return err
			}
			p := &s.Params
			theory, err := obliviousBudget(s, p.Affine)
			if err != nil {
				return err
			}
			return accountOf(p.Mode, p.Composition).resolve(&p.K, &p.V, theory, s.Epsilon, s.Delta, s.N)
		},
		Predict: func(_ context.Context, t *algo.Trial[Sparse], sample *algo.Data) (algo.Answerer, error) {
			p := t.Params
			return start(t, sample, p.Affine, instances{p.K, p.V, accountOf(p.Mode, p.Composition)}, frozen)
		},
		Guarantee: func(s *algo.Setting[Sparse]) (algo.Guarantee, error) {
			return guarantee(s.Params.V, s.Params.Mode, s.Params.Composition, s.Epsilon, s.Delta), nil
		},
	}
}

// lifted is the number of coefficients of a halfspace.
func lifted(p algo.Problem, affine bool) int {
	if affine {
		return p.Dim + 1
	}
	return p.Dim
}

// obliviousBudget is the number of hard queries that the halving argument allows, at most the number of queries.
func obliviousBudget[P any](s *algo.Setting[P], affine bool) (int, error) {
	d, hypotheses, err := dimension(s.Problem, affine)
	if err != nil {
		return 0, err
	}
	if d >= s.Queries { // all labelings, whose number may be huge
		return s.Queries, nil
	}
	return min(hardQueries(labelingsOf(d, hypotheses, s.Queries), s.Beta/3), s.Queries), nil
}

// instances is how many blocks and instances there are, and how privacy is shared among the latter.
type instances struct {
	k, v    int
	account account
}

func shrinking(g generator) generator { return g }
func frozen(g generator) generator    { return static{g} }

// start deals the sample out and learns the first hypotheses.
func start[P any](t *algo.Trial[P], sample *algo.Data, affine bool, in instances, kind func(generator) generator) (*predictor, error) {
	blocks, err := partition(sample, in.k, t.Rand)
	if err != nil {
		return nil, err
	}
	g, err := newGenerator(t.Problem, affine, blocks)
	if err != nil {
		return nil, err
	}
	eps0, _ := in.account.part(in.v, t.Epsilon, t.Delta)
	return newPredictor(kind(g), seeded{t.Rand}, in.k, in.v, eps0, t.Report), nil
}

// guarantee is the privacy of v instances. Where epsilon is so large that their eps0 is held at 1, they spend less of it.
func guarantee(v int, mode, composition string, epsilon, delta float64) algo.Guarantee {
	a := accountOf(mode, composition)
	if eps0, delta0 := a.part(v, epsilon, delta); eps0 == 1 {
		epsilon = min(epsilon, privacy.Composition(composition).Epsilon(v, eps0, delta0, delta))
	}
	proof := "Lemma 1 of " + yan + " (Bun, Steinke and Ullman 2016)"
	if mode == Own {
		proof = "the proof at leastBlocks in plugins/prediction"
	}
	return algo.Guarantee{
		Epsilon: epsilon, Delta: delta,
		Source: "at most v instances of BetweenThresholds, each private by " + proof + "; composition " + composition,
	}
}
