// A plugin of a third party: nearest mean, with noise that a parameter sets.
package main

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

type params struct {
	Noise float64 `doc:"standard deviation of what is added to the weights" min:"0"`
}

func learn(_ context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) {
	w := make([]float64, sample.Dim())
	for i := range sample.Len() {
		for k, v := range sample.X(i) {
			w[k] += sample.Y(i) * v / float64(sample.Len())
		}
	}
	for k := range w {
		w[k] += t.Params.Noise * t.Rand.NormFloat64()
	}
	return algo.Halfspace(w, 0), nil
}

func main() {
	algo.Serve(algo.Algorithm[params]{
		Name: "third/mean", Version: "1.0.0", Doc: "Nearest mean.", Learn: learn,
		Declares: func(s *algo.Setting[params]) bool { return s.Problem.Class == "halfspace" },
	})
}
