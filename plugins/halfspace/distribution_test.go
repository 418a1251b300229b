package halfspace

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
)

func halfspaceOf(d int) algo.Problem {
	return algo.Problem{Class: "halfspace", Dim: d, Margin: 0.1, Noise: "none", Realizable: true}
}

func exponentialSetting(d int, p ExponentialParams) algo.Setting[ExponentialParams] {
	return algo.Setting[ExponentialParams]{
		Params: p, Task: algo.Learn, Problem: halfspaceOf(d), Alpha: 0.1, Beta: 0.1, Epsilon: 1,
	}
}

func gradientSetting(d int, p GradientParams) algo.Setting[GradientParams] {
	return algo.Setting[GradientParams]{
		Params: p, Task: algo.Learn, Problem: halfspaceOf(d), Alpha: 0.1, Beta: 0.1, Epsilon: 1, Delta: 1e-6,
	}
}

// trialOf returns a trial made by hand.
func trialOf[P any](s algo.Setting[P], seed uint64) *algo.Trial[P] {
	return &algo.Trial[P]{Setting: s, Rand: rand.New(rand.NewPCG(seed, 99))}
}

func tableOf(t testing.TB, sample *algo.Data) *table {
	t.Helper()
	examples, err := newExamples(t.Context(), sample, nil)
	if err != nil {
		t.Fatal(err)
	}
	return examples
}

// learner runs one trial of an algorithm with fixed parameters.
type learner func(seed uint64, sample *algo.Data) (algo.Model, error)

func learnerOf[P any](a algo.Algorithm[P], s algo.Setting[P]) learner {
	return func(seed uint64, sample *algo.Data) (algo.Model, error) {
		s := s
		s.N = sample.Len()
		if err := a.Check(&s); err != nil {
			return nil, err
		}
		return a.Learn(context.Background(), trialOf(s, seed), sample)
	}
}

func plainDot(a, b []float64) float64 {
	sum := 0.0
	for j, x := range a {
		sum += float64(x * b[j])
	}
	return sum
}
