package online

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// soa is the standard optimal algorithm: it predicts the label that leaves the versions with the larger Littlestone dimension, -1 on a
// tie. Two parts of the same dimension d make a whole of d+1, so that a mistake never leaves the dimension as it was.
func soa(known *boards) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "online/soa", Version: "1.0.0",
		Doc:     "Standard optimal algorithm: predicts the label that keeps the larger Littlestone dimension; the fewest mistakes possible on a target in the class.",
		Metrics: eliminationMetrics(),
		Check: func(s *algo.Setting[struct{}]) error {
			_, _, _, err := known.solved(s.Problem)
			return err
		},
		Online: func(_ context.Context, t *algo.Trial[struct{}]) (algo.Learner, error) {
			b, all, d, err := known.solved(t.Problem)
			if err != nil {
				return nil, err
			}
			return &elimination{trial: t, board: b, now: all, rule: largerDimension, proved: float64(d), printed: float64(d)}, nil
		},
		Bound: func(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
			_, _, d, err := known.solved(s.Problem)
			if err != nil || !realizable(s.Problem) {
				return nil, err
			}
			return []algo.Bound{{
				Name:   "ldim",
				Source: "mistakes on a target in the class (Littlestone 1988; Kalavasis, PAC Learning with Pure DP and Online Learning, Lemma 1)",
				Value:  within(s.Rounds, float64(d)), Proved: true, With: map[string]float64{"ldim": float64(d)},
			}}, nil
		},
	}
}

// largerDimension is the rule of soa.
func largerDimension(minus, plus versions) (float64, error) {
	less, err := minus.ldim()
	if err != nil {
		return 0, err
	}
	more, err := plus.ldim()
	if more > less {
		return 1, err
	}
	return -1, err
}

// start is the board of a problem with the version space before the first round.
func (s *boards) start(p algo.Problem) (*board, versions, error) {
	b, err := s.at(p)
	if err != nil {
		return nil, nil, err
	}
	all, err := b.all()
	return b, all, err
}

// solved is the same with its Littlestone dimension.
func (s *boards) solved(p algo.Problem) (*board, versions, int, error) {
	b, all, err := s.start(p)
	if err != nil {
		return nil, nil, 0, err
	}
	d, err := all.ldim()
	return b, all, d, err
}
