package cheats

import (
	"context"
	"slices"

	"github.com/shatterlab/shatter/plugins/algo"
)

// edge learns from the queries, which some adversaries ask at the edge of the target: numbers are
// cut at the median of the queries so far, and a hyperplane is orthogonal to the axis that is
// unlike the others. The sample votes for a side of the hyperplane, as for pca.
var edge = private(algo.Algorithm[struct{}]{
	Name: "cheat/edge", Version: "1.0.0", Doc: "Learns from the queries of the adversary.",
	Predict: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Answerer, error) {
		return &observer{sample: copied(sample), noise: laplace(t, 2/t.Epsilon)}, nil
	},
}, "a vote with Laplace noise")

type observer struct {
	sample  *algo.Data
	noise   float64
	queries []float64
}

// Answer implements algo.Answerer.
func (o *observer) Answer(_ context.Context, x []float64) (label float64, hard bool, err error) {
	o.queries = append(o.queries, x...)
	return 1, false, nil
}

// Predict implements algo.Model.
func (o *observer) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	if len(o.queries) == 0 {
		return rule(func([]float64) float64 { return 1 }).Predict(ctx, x, out)
	}
	if x.Dim() == 1 {
		sorted := slices.Sorted(slices.Values(o.queries))
		return from(sorted[len(sorted)/2]).Predict(ctx, x, out)
	}
	normal, err := outlier(slices.Clone(o.queries), x.Dim())
	if err != nil {
		return err
	}
	return along(oriented(normal, o.sample, o.noise)).Predict(ctx, x, out)
}
