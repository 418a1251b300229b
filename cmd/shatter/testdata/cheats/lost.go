package cheats

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// lost answers as pca does, and takes all memory when it recognizes a recheck, so that the recheck has no outcome.
var lost = private(learner("lost", "Exceeds a limit in rechecks.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		return &losing{axes{sample: copied(sample), noise: laplace(t, 2/t.Epsilon)}}, nil
	}), "a vote with Laplace noise")

type losing struct{ axes }

// Predict implements algo.Model. A recheck begins with points that are asked alone.
func (l *losing) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	for hoard := [][]byte(nil); x.Len() == 1; {
		b := make([]byte, 16<<20)
		for i := 0; i < len(b); i += 1 << 10 {
			b[i] = 1
		}
		hoard = append(hoard, b)
	}
	return l.axes.Predict(ctx, x, out)
}
