// Command neighbours is a plugin with k nearest neighbors for real data: any class and any numbers.
package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/shatterlab/shatter/plugins/algo"
)

type params struct {
	K int `doc:"number of neighbors that vote; an even number can tie" min:"1" max:"1000"`
}

var neighbours = algo.Algorithm[params]{
	Name: "gallery/neighbours", Version: "1.0.0", Doc: "Answers the majority of the k nearest examples; not private.",
	Defaults: params{K: 5},
	Learn: func(_ context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) {
		if sample.Len() < t.Params.K {
			return nil, algo.Infeasible("%d examples are too few for %d neighbors", sample.Len(), t.Params.K)
		}
		// The sample is borrowed, so the model copies it.
		return &model{t.Params.K, algo.NewData(slices.Clone(sample.Xs()), sample.Dim(), slices.Clone(sample.Ys()))}, nil
	},
	Check: func(s *algo.Setting[params]) error {
		if s.N > 0 && s.N < s.Params.K {
			return algo.Infeasible("%d examples are too few for %d neighbors", s.N, s.Params.K)
		}
		return nil
	},
}

func main() { algo.Serve(neighbours) }

type model struct {
	k      int
	sample *algo.Data
}

type neighbour struct{ distance, label float64 }

// Predict answers the sign of the sum of the labels of the k nearest examples, and -1 for a tie. Among
// examples at the same distance it prefers the label -1, so their order in the sample does not matter.
func (m *model) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	near := make([]neighbour, m.sample.Len())
	for i := range out {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for j := range near {
			near[j] = neighbour{label: m.sample.Y(j)}
			for c, v := range m.sample.X(j) {
				d := v - x.X(i)[c]
				near[j].distance += d * d
			}
		}
		slices.SortFunc(near, func(a, b neighbour) int {
			return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.label, b.label))
		})
		sum := 0.0
		for _, n := range near[:m.k] {
			sum += n.label
		}
		out[i] = -1
		if sum > 0 {
			out[i] = 1
		}
	}
	return nil
}
