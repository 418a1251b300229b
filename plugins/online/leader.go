package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// followTheLeader predicts with the function that has made the fewest mistakes, the first in the class's order of several. It also plays on
// infinite orders, where no number of mistakes is too many for it: on the natural numbers the least threshold that has made the fewest leads.
func followTheLeader(known *boards) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "online/follow-the-leader", Version: "1.0.0",
		Doc:     "Follow the leader: predicts with the function that has made the fewest mistakes; an adversary makes it err in every round.",
		Metrics: map[string]string{"proved_regret": "(|H|-1)(L*+1) for the least number L* of mistakes of a function, or the rounds less L* where these are fewer"},
		Check: func(s *algo.Setting[struct{}]) error {
			_, err := known.leading(s.Problem)
			return err
		},
		Online: func(_ context.Context, t *algo.Trial[struct{}]) (algo.Learner, error) {
			b, err := known.leading(t.Problem)
			if err != nil {
				return nil, err
			}
			return &leaderGame{trial: t, board: b, losses: b.losses()}, nil
		},
		Bound: func(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
			b, err := known.leading(s.Problem)
			if err != nil {
				return nil, err
			}
			if b.infinite() {
				return []algo.Bound{{Name: "rounds", Source: "infinitely many functions can lead in turns: no bound but the number of rounds",
					Value: within(s.Rounds, math.Inf(1)), Proved: true}}, nil
			}
			return leaderBounds(s, float64(b.size)), nil
		},
	}
}

// leaderBounds: a function errs as the leader only while it has at most L* mistakes, hence at most L*+1 times, and the best one at most L*
// times. So the leaders make M <= n(L*+1) - 1 mistakes, and their regret M - L* is at most (n-1)(L*+1). With M <= T, the first also says
// L* >= (M+1)/n - 1, and then M - L* <= M - (M+1)/n + 1 <= (T+1)(n-1)/n.
func leaderBounds(s *algo.Setting[struct{}], n float64) (list []algo.Bound) {
	with := map[string]float64{"functions": n}
	if realizable(s.Problem) {
		list = append(list, algo.Bound{
			Name: "one-mistake-each", Source: "a leader without mistakes errs once: |H|-1 mistakes on a target in the class",
			Value: within(s.Rounds, n-1), Proved: true, With: with,
		})
	}
	if s.Rounds > 0 {
		list = append(list, algo.Bound{
			Name: "turns", Source: "each function leads while it has at most L* mistakes: (T+1)(|H|-1)/|H|",
			Value: float64(s.Rounds+1) * (n - 1) / n, Proved: true, With: with,
		})
	}
	return list
}

// leading is a board whose functions can lead.
func (s *boards) leading(p algo.Problem) (*board, error) {
	if concept.InfiniteThresholds(p.Class) {
		return s.at(p)
	}
	return s.listed(p)
}

type leaderGame struct {
	trial  *algo.Trial[struct{}]
	board  *board
	losses losses
	round  int
}

// Predict implements algo.Model.
func (f *leaderGame) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range x.Len() {
		if err := f.board.check(x.X(i)); err != nil {
			return err
		}
		out[i] = f.losses.leader(x.X(i))
	}
	return nil
}

// Observe implements algo.Learner.
func (f *leaderGame) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i := range x.Len() {
		if err := f.board.checkRound(x.X(i), y[i]); err != nil {
			return err
		}
		f.losses.add(x.X(i), y[i])
		f.round++
	}
	f.trial.Report("proved_regret", f.proved())
	return nil
}

// proved bounds the regret in the rounds so far, see leaderBounds.
func (f *leaderGame) proved() float64 {
	best, others := float64(f.losses.least()), math.Inf(1)
	if !f.board.infinite() {
		others = float64(f.board.size - 1)
	}
	return min(others*(best+1), float64(f.round)-best)
}
