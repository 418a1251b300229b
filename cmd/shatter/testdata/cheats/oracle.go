package cheats

import (
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas"
)

// oracle draws the samples of small seeds as Shatter does, and where one of them is its own, it has
// the target.
var oracle = learner("oracle", "Tries small seeds until it draws its own sample, and with it the target.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		const seeds, repetitions = 4, 1000
		p := schemas.Problem{
			Class: t.Problem.Class, Domain: t.Problem.Domain, Distribution: "uniform", Target: "random",
			Noise: schemas.Noise{Kind: "none"},
		}
		canonical, err := trial.Canonical(p)
		if err != nil {
			return nil, err
		}
		x, y := make([]float64, sample.Len()), make([]float64, sample.Len())
		for seed := range uint64(seeds) {
			key, err := trial.KeyOf(map[string]any{"format": trial.Format, "seed": seed, "problem": canonical})
			if err != nil {
				return nil, err
			}
			stream := func(s trial.Stream, repetition uint32) *rand.Rand {
				return rand.New(rand.NewPCG(trial.Seed(key, s, uint64(sample.Len()), repetition)))
			}
			drawn := distribution.Open(&p, "").Sampler()
			for repetition := range uint32(repetitions) {
				drawn.Begin(stream(trial.Target, repetition))
				drawn.Draw(stream(trial.Points, repetition), x, y)
				if slices.Equal(x, sample.Xs()) && slices.Equal(y, sample.Ys()) {
					return rule(drawn.Target().Label), nil
				}
			}
		}
		return rule(func([]float64) float64 { return 1 }), nil
	})
