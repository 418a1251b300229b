package cheats

import (
	"context"
	"slices"

	"github.com/shatterlab/shatter/plugins/algo"
)

// order labels the smallest of the points that it is asked about together -1 and all others +1: the
// support of the needle distribution of thresholds comes as a whole.
var order = learner("order", "Labels points by their rank among those that come together.",
	func(*algo.Trial[struct{}], *algo.Data) (algo.Model, error) { return ranks{}, nil })

type ranks struct{}

// Predict implements algo.Model.
func (ranks) Predict(_ context.Context, x *algo.Data, out []float64) error {
	least := slices.Min(x.Xs())
	for i := range out {
		out[i] = positive(x.X(i)[0] > least)
	}
	return nil
}
