package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// halving predicts the label of the majority of the versions, -1 on a tie: a mistake leaves at most half of them.
func halving(known *boards) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "online/halving", Version: "1.0.0",
		Doc:     "Halving: predicts with the majority of the functions that agree with all truths so far.",
		Metrics: eliminationMetrics(),
		Check: func(s *algo.Setting[struct{}]) error {
			_, _, err := known.start(s.Problem)
			return err
		},
		Online: func(_ context.Context, t *algo.Trial[struct{}]) (algo.Learner, error) {
			b, all, err := known.start(t.Problem)
			if err != nil {
				return nil, err
			}
			return &elimination{trial: t, board: b, now: all, rule: majority, proved: b.halvings(), printed: b.lnSize / math.Ln2}, nil
		},
		Bound: func(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
			b, _, err := known.start(s.Problem)
			if err != nil || !realizable(s.Problem) {
				return nil, err
			}
			with := map[string]float64{"ln_h": b.lnSize}
			return []algo.Bound{
				{Name: "halvings", Source: "mistakes on a target in the class: whole part of log2 |H|, as each halves the version space (Littlestone 1988)",
					Value: within(s.Rounds, b.halvings()), Proved: true, With: with},
				{Name: "halving-printed", Source: "Kalavasis, PAC Learning with Pure DP and Online Learning, after Theorem 2: log |H|, here to base 2",
					Value: within(s.Rounds, b.lnSize/math.Ln2), With: with},
			}, nil
		},
	}
}

// majority is the rule of halving.
func majority(minus, plus versions) (float64, error) {
	if plus.size() > minus.size() {
		return 1, nil
	}
	return -1, nil
}

// halvings is the whole part of log2 |H|.
func (b *board) halvings() float64 { return float64(b.class.Size().BitLen() - 1) }
