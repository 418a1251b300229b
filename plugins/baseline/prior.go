package baseline

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Prior returns baseline/prior, which ignores its sample: it answers the hypothesis of the class,
// or the constant, that is near to most targets, for uniform points, as far as concept.NewPrior
// finds it. It treats a fixed target like one drawn from the class's distribution of targets,
// because it does not know the target. If points are uniform and targets are drawn, it succeeds
// with the probability in the column prior_success, so any higher success of another algorithm is
// due to the sample.
func Prior() algo.Algorithm[struct{}] {
	var answers priorAnswers
	return algo.Algorithm[struct{}]{
		Name: "baseline/prior", Version: "1.1.0",
		Doc: "Answers the best hypothesis without data and ignores its sample: any higher success of another algorithm is " +
			"due to the sample; not private.",
		Declares: algo.Always[struct{}],
		Learn: func(_ context.Context, t *algo.Trial[struct{}], _ *algo.Data) (algo.Model, error) {
			h, err := answers.of(&t.Setting)
			if err != nil {
				return nil, err
			}
			return finite.Declare(h, t.Problem.Matrix), nil
		},
		Predict: func(_ context.Context, t *algo.Trial[struct{}], _ *algo.Data) (algo.Answerer, error) {
			h, err := answers.of(&t.Setting)
			return priorAnswerer{finite.Model{Hypothesis: h}}, err
		},
		Check: func(s *algo.Setting[struct{}]) error {
			_, err := answers.of(s)
			return err
		},
	}
}

// A priorKey holds the inputs of the best answer without data.
type priorKey struct {
	class            concept.Spec
	targets          concept.Drawn
	reference, alpha float64
}

// priorAnswers caches the most recent answers.
type priorAnswers struct {
	known finite.Cache[priorKey, concept.Hypothesis]
}

// of returns the best hypothesis without data in a setting.
func (a *priorAnswers) of(s *algo.Setting[struct{}]) (concept.Hypothesis, error) {
	p := s.Problem
	if p.Target == "" {
		return nil, algo.Invalid("baseline/prior: the problem has no distribution of targets: use a " +
			"distribution of points instead of data")
	}
	targets := concept.Drawn{Uniform: p.Target == concept.UniformTarget, Literals: p.Literals}
	if p.Literals == 0 {
		targets.Literals = min(concept.DefaultLiterals, p.Dim)
	}
	key := priorKey{finite.SpecOf(p), targets, s.Reference, s.Alpha}
	return a.known.Get(key, func(k priorKey) (concept.Hypothesis, error) {
		within := func(err float64) bool { return numeric.Within(err, k.reference, k.alpha) }
		best, found := concept.NewPrior(k.class, k.targets, within)
		if !found {
			return nil, algo.Invalid("baseline/prior: class %q: no method finds its best hypothesis without data: it "+
				"is too large to compare all of them; use a smaller one", k.class.Name)
		}
		return best.Answer, nil
	})
}

// priorAnswerer answers every query by one hypothesis.
type priorAnswerer struct{ finite.Model }

// Answer implements [algo.Answerer].
func (a priorAnswerer) Answer(_ context.Context, x []float64) (label float64, hard bool, err error) {
	var out [1]float64
	a.Hypothesis.Labels(x, out[:])
	return out[0], false, nil
}
