package online

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// halving returns the algorithm that predicts the label of the majority of the versions, and -1 on
// a tie. After a mistake at most half of them remain.
func halving(known *boards) algo.Algorithm[struct{}] {
	return complete(algo.Algorithm[struct{}]{
		Name:    "online/halving",
		Doc:     "Halving: predicts with the majority of the functions that agree with all truths so far.",
		Metrics: eliminationMetrics(),
	}, func(s *algo.Setting[struct{}]) (opening, error) {
		return known.start(s.Problem)
	}, func(t *algo.Trial[struct{}], o opening) (algo.Learner, error) {
		proved, printed := o.board.halvings(), o.board.lnSize/math.Ln2
		return &elimination{trial: t, board: o.board, now: o.all, rule: majority, proved: proved, printed: printed}, nil
	}, halvingBounds)
}

// halvingBounds returns bounds on the mistakes that halving makes on a target in the class.
func halvingBounds(s *algo.Setting[struct{}], o opening) []algo.Bound {
	with := map[string]float64{"ln_h": o.board.lnSize}
	return []algo.Bound{{
		Name: "halvings",
		Source: "mistakes on a target in the class: whole part of log2 |H|, " +
			"because each halves the version space (Littlestone 1988)",
		Value: within(s.Rounds, o.board.halvings()), Unit: algo.Mistakes, Proved: true, With: with, Premises: targeted,
	}, {
		Name: "halving-printed",
		Source: "Kalavasis, PAC Learning with Pure DP and Online Learning, after Theorem 2: " +
			"log |H|, taken to base 2",
		Value: within(s.Rounds, o.board.lnSize/math.Ln2), Unit: algo.Mistakes, With: with, Premises: targeted,
	}}
}

// majority predicts the label that most versions predict; it is the rule of halving.
func majority(minus, plus versions) (float64, error) {
	if plus.size() > minus.size() {
		return 1, nil
	}
	return -1, nil
}

// halvings returns the whole part of log2 |H|.
func (b *board) halvings() float64 { return float64(b.class.Size().BitLen() - 1) }
