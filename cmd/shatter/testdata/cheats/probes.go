package cheats

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// probes takes the direction from the first block of points that its initial state is asked about, and answers all
// queries and points by it.
var probes = private(algo.Algorithm[struct{}]{
	Name: "cheat/probes", Version: "1.0.0", Doc: "Takes the direction from the geometry of probes.",
	Predict: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Answerer, error) {
		return &probed{sample: copied(sample), noise: laplace(t, 2/t.Epsilon)}, nil
	},
}, "a vote with Laplace noise")

type probed struct {
	sample *algo.Data
	noise  float64
	normal []float64 // nil: not known yet
}

// Predict implements algo.Model.
func (p *probed) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	if p.normal == nil {
		normal, err := outlier(x.Xs(), x.Dim())
		if err != nil {
			return err
		}
		p.normal = oriented(normal, p.sample, p.noise)
	}
	return along(p.normal).Predict(ctx, x, out)
}

// Answer implements algo.Answerer.
func (p *probed) Answer(_ context.Context, x []float64) (label float64, hard bool, err error) {
	if p.normal == nil {
		return -1, false, nil
	}
	return sign(dot(p.normal, x)), false, nil
}
