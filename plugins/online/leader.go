package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// followTheLeader returns the algorithm that predicts with the function that has made the fewest
// mistakes (the first in the order of the class in case of a tie). It also supports infinite
// orders, where it may make any number of mistakes: on the natural numbers the least of the
// thresholds with the fewest mistakes leads.
func followTheLeader(known *boards) algo.Algorithm[struct{}] {
	return complete(algo.Algorithm[struct{}]{
		Name: "online/follow-the-leader",
		Doc: "Follow the leader: predicts with the function that has made the fewest mistakes; " +
			"an adversary can make it err in every round.",
		Metrics: map[string]string{
			"proved_regret": "(|H|-1)(L*+1) for the least number L* of mistakes of a function, " +
				"or the rounds minus L* if that is less [mistakes]",
		},
	}, func(s *algo.Setting[struct{}]) (*board, error) {
		return known.leading(s.Problem)
	}, func(t *algo.Trial[struct{}], b *board) (algo.Learner, error) {
		return &leaderGame{trial: t, board: b, losses: b.losses()}, nil
	}, leaderBounds)
}

// leading returns the board of p, or an Invalid error for a class that this algorithm does not
// support.
func (s *boards) leading(p algo.Problem) (*board, error) {
	if concept.InfiniteThresholds(p.Class) {
		return s.at(p)
	}
	return s.listed(p)
}

// leaderBounds returns bounds on the regret of the n functions of b when they lead in turn.
//
// A function errs as the leader only while it has at most L* mistakes, hence at most L*+1 times,
// and the best one at most L* times. So the leaders make M <= n(L*+1) - 1 mistakes, and their
// regret M - L* is at most (n-1)(L*+1). With M <= T, the former also implies L* >= (M+1)/n - 1, and
// then M - L* <= M - (M+1)/n + 1 <= (T+1)(n-1)/n.
func leaderBounds(s *algo.Setting[struct{}], b *board) (list []algo.Bound) {
	if b.infinite() {
		return []algo.Bound{{
			Name: "rounds", Source: "infinitely many functions can lead in turn: the only bound is the number of rounds",
			Value: within(s.Rounds, math.Inf(1)), Unit: algo.Regret, Proved: true,
		}}
	}
	n := float64(b.size)
	with := map[string]float64{"functions": n}
	list = append(list, algo.Bound{
		Name: "one-mistake-each", Source: "each leader without mistakes errs at most once: |H|-1 mistakes on a target " +
			"in the class",
		Value: within(s.Rounds, n-1), Unit: algo.Mistakes, Proved: true, With: with, Premises: targeted,
	})
	if s.Rounds > 0 {
		list = append(list, algo.Bound{
			Name: "turns", Source: "each function leads while it has at most L* mistakes: (T+1)(|H|-1)/|H|",
			Value: float64(s.Rounds+1) * (n - 1) / n, Unit: algo.Regret, Proved: true, With: with,
		})
	}
	return list
}

// leaderGame plays one game of follow-the-leader.
type leaderGame struct {
	trial  *algo.Trial[struct{}]
	board  *board
	losses losses
	round  int
}

// Predict implements algo.Model.
func (f *leaderGame) Predict(_ context.Context, x *algo.Data, out []float64) error {
	return f.board.predict(x, out, func(x []float64) (float64, error) { return f.losses.leader(x), nil })
}

// Observe implements algo.Learner.
func (f *leaderGame) Observe(_ context.Context, x *algo.Data, y []float64) error {
	if err := f.board.observe(x, y, f.learn); err != nil {
		return err
	}
	f.trial.Report("proved_regret", f.proved())
	return nil
}

func (f *leaderGame) learn(x []float64, y float64) error {
	f.losses.add(x, y)
	f.round++
	return nil
}

// proved bounds the regret in the rounds so far; see leaderBounds.
func (f *leaderGame) proved() float64 {
	best, others := float64(f.losses.least()), math.Inf(1)
	if !f.board.infinite() {
		others = float64(f.board.size - 1)
	}
	return min(others*(best+1), float64(f.round)-best)
}
