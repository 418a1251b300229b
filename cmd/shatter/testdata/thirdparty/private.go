package main

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// memorised answers as its sample does on the points that it has seen, and +1 on all others.
type memorised map[float64]float64

func (m memorised) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = 1
		if y, ok := m[x.X(i)[0]]; ok {
			out[i] = y
		}
	}
	return nil
}

type claimParams struct {
	Claim string `doc:"what the guarantee states: the budget, or something impossible" choices:"budget,twice,negative,nan,mu"`
}

// memo memorises its sample, and claims to be private.
var memo = algo.Algorithm[claimParams]{
	Name: "third/memo", Version: "1.0.0", Doc: "Memorises its sample, and claims to be private.",
	Defaults: claimParams{Claim: "budget"},
	Learn: func(_ context.Context, t *algo.Trial[claimParams], sample *algo.Data) (algo.Model, error) {
		m := memorised{}
		for i := range sample.Len() {
			m[sample.X(i)[0]] = sample.Y(i)
		}
		return m, nil
	},
	Guarantee: func(s *algo.Setting[claimParams]) (algo.Guarantee, error) {
		g := algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "its author says so"}
		switch s.Params.Claim {
		case "twice":
			g.Epsilon = 2 * s.Epsilon
		case "negative":
			g.Epsilon = -1
		case "nan":
			g.Epsilon = math.NaN()
		case "mu":
			g.Pure, g.Delta, g.Mu = false, s.Delta, s.Epsilon
		}
		return g, nil
	},
}
