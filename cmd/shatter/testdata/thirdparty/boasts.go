package main

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// boasts always answers +1, and claims to prove what nobody can of that.
var boasts = algo.Algorithm[struct{}]{
	Name: "third/boasts", Version: "1.0.0", Doc: "Always answers +1, with bounds that are false.",
	Metrics: map[string]string{"proved_regret": "nothing"},
	Learn: func(context.Context, *algo.Trial[struct{}], *algo.Data) (algo.Model, error) {
		return constant(1), nil
	},
	Online: func(_ context.Context, t *algo.Trial[struct{}]) (algo.Learner, error) {
		return &stubborn{1, t}, nil
	},
	Bound: func(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
		b := algo.Bound{Name: "boast", Source: "nobody", Proved: true}
		if s.Task == algo.Learn {
			alpha, _ := s.Proof()
			b.Value, b.Premises = 2/alpha, []algo.Premise{algo.TargetInClass, algo.CleanLabels}
		}
		return []algo.Bound{b}, nil
	},
}

type stubborn struct {
	constant
	trial *algo.Trial[struct{}]
}

func (l *stubborn) Observe(context.Context, *algo.Data, []float64) error {
	l.trial.Report("proved_regret", 0)
	return nil
}
