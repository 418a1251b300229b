package cheats

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// mixed declares a halfspace in every second trial, and in the others answers as pca does. The declared trials
// look honest.
var mixed = private(learner("mixed", "Declares in some trials, and learns from the evaluation points in others.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		noise := laplace(t, 2/t.Epsilon)
		if t.Rand.IntN(2) == 0 {
			normal := make([]float64, sample.Dim())
			normal[0] = 1
			return algo.Halfspace(oriented(normal, sample, noise), 0), nil
		}
		return &axes{sample: copied(sample), noise: noise}, nil
	}), "a vote with Laplace noise")

// twoFaced promises and declares a halfspace that the sample votes for, and answers as pca does.
var twoFaced = func() algo.Algorithm[struct{}] {
	a := private(learner("two-faced", "Answers otherwise than its declared hypothesis.",
		func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
			noise, normal := laplace(t, 2/t.Epsilon), make([]float64, sample.Dim())
			normal[0] = 1
			return &faces{algo.Halfspace(oriented(normal, sample, noise), 0), axes{sample: copied(sample), noise: noise}}, nil
		}), "a vote with Laplace noise")
	a.Declares = algo.Always[struct{}]
	return a
}()

type faces struct {
	*algo.Declared
	axes
}

// Predict implements algo.Model.
func (f *faces) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	return f.axes.Predict(ctx, x, out)
}
