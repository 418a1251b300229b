package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// soa is the standard optimal algorithm: it predicts the label that leaves the versions with the larger Littlestone dimension, -1 on a
// tie. Two parts of the same dimension d make a whole of d+1, so that a mistake never leaves the dimension as it was. On the natural numbers the
// thresholds that label a point +1 are finitely many, those that label it -1 never: it predicts -1 until a point is labelled +1.
func soa(known *boards) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "online/soa", Version: "1.0.0",
		Doc:     "Standard optimal algorithm: predicts the label that keeps the larger Littlestone dimension; the fewest mistakes possible on a target in the class.",
		Metrics: eliminationMetrics(),
		Check: func(s *algo.Setting[struct{}]) error {
			_, _, _, err := known.optimal(s.Problem)
			return err
		},
		Online: func(_ context.Context, t *algo.Trial[struct{}]) (algo.Learner, error) {
			b, all, d, err := known.optimal(t.Problem)
			if err != nil {
				return nil, err
			}
			e := &elimination{trial: t, board: b, now: all, rule: largerDimension, proved: float64(d), printed: float64(d)}
			if b.infinite() {
				e.proved, e.printed = 0, math.NaN() // see elimination.observe
			}
			return e, nil
		},
		Bound: func(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
			b, _, d, err := known.optimal(s.Problem)
			if err != nil || !realizable(s.Problem) {
				return nil, err
			}
			if b.infinite() {
				return []algo.Bound{{
					Name: "first-positive",
					Source: "1 + floor(log2(x - lo + 1)) mistakes, x being the first point labelled +1 and lo - 1 the largest before it: " +
						"no bound for all games (Littlestone 1988)",
					Value: within(s.Rounds, math.Inf(1)), Proved: true,
				}}, nil
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
	b, err := s.finite(p)
	if err != nil {
		return nil, nil, err
	}
	all, err := b.all()
	return b, all, err
}

// optimal is the same, where soa plays: also on the natural numbers, with the dimension concept.Unbounded.
func (s *boards) optimal(p algo.Problem) (*board, versions, int, error) {
	switch p.Class {
	case concept.Naturals:
		b, err := s.at(p)
		return b, span{1, math.MaxUint64}, concept.Unbounded, err
	case concept.Dyadics:
		return nil, nil, 0, algo.Invalid("online/soa: class %q is a dense order: a point between the truths so far splits the functions left into two parts "+
			"of infinite Littlestone dimension, none of which is the larger one: take %s", p.Class, playersOf(p.Class))
	}
	return s.solved(p)
}

// solved is the same with its Littlestone dimension, for finitely many functions.
func (s *boards) solved(p algo.Problem) (*board, versions, int, error) {
	b, all, err := s.start(p)
	if err != nil {
		return nil, nil, 0, err
	}
	d, err := all.ldim()
	return b, all, d, err
}
