// A plugin of a third party: nearest mean, with noise that a parameter sets.
package main

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

type params struct {
	Noise float64 `doc:"standard deviation of what is added to the weights" min:"0"`
}

type weights []float64

func (w weights) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		sum := 0.0
		for k, v := range x.X(i) {
			sum += w[k] * v
		}
		out[i] = -1
		if sum > 0 {
			out[i] = 1
		}
	}
	return nil
}

func learn(_ context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) {
	w := make(weights, sample.Dim())
	for i := range sample.Len() {
		for k, v := range sample.X(i) {
			w[k] += sample.Y(i) * v / float64(sample.Len())
		}
	}
	for k := range w {
		w[k] += t.Params.Noise * t.Rand.NormFloat64()
	}
	return w, nil
}

func main() {
	algo.Serve(algo.Algorithm[params]{Name: "third/mean", Version: "1.0.0", Doc: "Nearest mean.", Learn: learn})
}
