package main

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// boasts always answers +1, and claims to prove a bound that cannot hold for it.
var boasts = algo.Algorithm[struct{}]{
	Name: "third/boasts", Version: "1.0.0", Doc: "Always answers +1, with bounds that are false.",
	Learn: func(context.Context, *algo.Trial[struct{}], *algo.Data) (algo.Model, error) {
		return constant(1), nil
	},
	Online: func(context.Context, *algo.Trial[struct{}]) (algo.Learner, error) { return stubborn{1}, nil },
	Bound: func(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
		b := algo.Bound{Name: "boast", Source: "nobody", Proved: true, Unit: algo.Regret}
		if s.Task == algo.Learn {
			alpha, _ := s.Proof()
			b.Value, b.Unit = 2/alpha, algo.Examples
			b.Premises = []algo.Premise{algo.TargetInClass, algo.CleanLabels}
		}
		return []algo.Bound{b}, nil
	},
}

type stubborn struct{ constant }

func (stubborn) Observe(context.Context, *algo.Data, []float64) error { return nil }
