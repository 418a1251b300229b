package online

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// soa returns the standard optimal algorithm. It predicts the label that keeps the versions with
// the larger Littlestone dimension, and -1 on a tie. Two parts of the same dimension d make a whole
// of d+1, so that every mistake lowers the dimension.
//
// On the natural numbers finitely many thresholds label a given point +1, and infinitely many label
// it -1: soa predicts -1 until the first point is labeled +1.
func soa(known *boards) algo.Algorithm[struct{}] {
	return complete(algo.Algorithm[struct{}]{
		Name: "online/soa",
		Doc: "Standard optimal algorithm: predicts the label that keeps the larger Littlestone dimension; " +
			"the smallest possible number of mistakes on a target in the class.",
		Metrics: eliminationMetrics(),
	}, func(s *algo.Setting[struct{}]) (opening, error) {
		return known.optimal(s.Problem)
	}, func(t *algo.Trial[struct{}], o opening) (algo.Learner, error) {
		e := &elimination{trial: t, board: o.board, now: o.all, rule: largerDimension}
		e.proved, e.printed = float64(o.ldim), float64(o.ldim)
		if o.board.infinite() {
			e.proved, e.printed = 0, math.NaN() // elimination.learn sets proved at the first point labeled +1
		}
		return e, nil
	}, soaBounds)
}

// soaBounds returns bounds on the mistakes that soa makes on a target in the class.
func soaBounds(s *algo.Setting[struct{}], o opening) []algo.Bound {
	if o.board.infinite() {
		return []algo.Bound{{
			Name: "first-positive",
			Source: "1 + floor(log2(x - lo + 1)) mistakes, for the first point x labeled +1 and " +
				"the largest point lo - 1 before it: no bound for all games (Littlestone 1988)",
			Value: within(s.Rounds, math.Inf(1)), Unit: algo.Mistakes, Proved: true, Premises: targeted,
		}}
	}
	return []algo.Bound{{
		Name: "ldim",
		Source: "mistakes on a target in the class " +
			"(Littlestone 1988; Kalavasis, PAC Learning with Pure DP and Online Learning, Lemma 1)",
		Value: within(s.Rounds, float64(o.ldim)), Unit: algo.Mistakes, Proved: true,
		With:     map[string]float64{"ldim": float64(o.ldim)},
		Premises: targeted,
	}}
}

// largerDimension predicts the label whose versions have the larger Littlestone dimension; it is
// the rule of soa.
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

// An opening is the state of an algorithm with version spaces before the first round.
type opening struct {
	board *board
	all   versions // the version space of all functions
	ldim  int      // its Littlestone dimension; unset in the result of start
}

// start returns the opening of p without the dimension, whose computation can take long.
func (s *boards) start(p algo.Problem) (opening, error) {
	b, err := s.finite(p)
	if err != nil {
		return opening{}, err
	}
	all, err := b.all()
	return opening{board: b, all: all}, err
}

// solved returns the opening of p with its dimension, for a class of finitely many functions.
func (s *boards) solved(p algo.Problem) (opening, error) {
	o, err := s.start(p)
	if err == nil {
		o.ldim, err = o.all.ldim()
	}
	return o, err
}

// optimal returns the opening of p for soa, which also supports infinite orders that are not dense,
// such as the natural numbers; there the dimension is concept.Unbounded.
func (s *boards) optimal(p algo.Problem) (opening, error) {
	b, err := s.at(p)
	switch {
	case err != nil:
		return opening{}, err
	case !b.infinite():
		return s.solved(p)
	case b.definition.Dense:
		return opening{}, algo.Invalid("online/soa: class %q is a dense order: a point between the truths so far splits the "+
			"remaining functions into two parts of infinite Littlestone dimension, and neither is larger: use %s",
			p.Class, b.learners())
	}
	return opening{b, span{b, b.definition.First, math.MaxUint64}, concept.Unbounded}, nil
}
