package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/plugins/algo"
)

type plantedParams struct {
	Bug string `doc:"mistake" choices:"honest,no-noise,sensitivity,first,scaled,seed,outlier,composition,gaussian,half"`
}

// planted declares a threshold at the noisy sum of the labels and contains a mistake.
var planted = algo.Algorithm[plantedParams]{
	Name: "third/planted", Version: "1.0.0", Doc: "Releases a noisy sum with a planted mistake.",
	Defaults: plantedParams{Bug: "honest"},
	Guarantee: func(s *algo.Setting[plantedParams]) (algo.Guarantee, error) {
		g := algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "its author says so"}
		if s.Params.Bug == "gaussian" || s.Params.Bug == "half" {
			g.Pure, g.Delta, g.Mu = false, s.Delta, 1
		}
		return g, nil
	},
	Learn: func(_ context.Context, t *algo.Trial[plantedParams], sample *algo.Data) (algo.Model, error) {
		r := t.Rand
		if t.Params.Bug == "seed" {
			r = rand.New(rand.NewPCG(1, 1))
		}
		laplace := func(scale float64) float64 {
			u := r.Float64() - 0.5
			return -scale * math.Copysign(math.Log1p(-2*math.Abs(u)), u)
		}
		sum, points, scale := 0.0, 0.0, 2/t.Epsilon // a replaced example changes the sum by 2
		for i := range sample.Len() {
			sum += sample.Y(i)
			points += sample.X(i)[0]
		}
		switch t.Params.Bug {
		case "no-noise":
			return algo.Threshold(sum), nil
		case "sensitivity":
			scale /= 2
		case "first":
			sum += 100 * sample.Y(0)
		case "scaled":
			scale /= float64(sample.Len() + 1)
		case "outlier":
			sum = points
		case "gaussian":
			return algo.Threshold(sum + 2*r.NormFloat64()), nil
		case "half":
			return algo.Threshold(sum + r.NormFloat64()), nil
		case "composition":
			return algo.Interval(sum+laplace(scale), 100+sum+laplace(scale)), nil
		}
		return algo.Threshold(sum + laplace(scale)), nil
	},
}
