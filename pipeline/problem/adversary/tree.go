package adversary

import (
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas"
)

var tree = Adversary{
	Name: "tree",
	Doc: "stores the hypotheses that agree with all truths so far, and asks the first point that splits " +
		"them into two parts of at least their Littlestone dimension minus one (thresholds: the middle, " +
		"into halves). The truth contradicts the answer: any deterministic learner makes as many mistakes " +
		"as the dimension of the class (Littlestone 1988). If it sees only the past, for learners with " +
		"randomized answers, the truth is a fair coin. Once one hypothesis is left, it asks points of the " +
		"distribution with the labels of that hypothesis",
	Reveals:    "nothing: there is no target, the truths contradict the answers",
	Place:      4,
	Refuses:    onDistribution(unsplittable),
	Sees:       []string{seesAnswers, seesPast},
	Knows:      coinsOrAnswers,
	Realizable: always,
	rounds: func(g game, a schemas.Adversary) (Rounds, error) {
		return newTreeRounds(g, a)
	},
}

// coinsOrAnswers returns the knowledge of an adversary that goes against the answer of a round
// or, if it sees only the past, against none.
func coinsOrAnswers(a schemas.Adversary) string {
	if a.Sees == seesPast {
		return theory.SeesNothing
	}
	return theory.SeesAnswers
}

// treeRounds asks the point that forces most mistakes, and goes against the answer while both
// labels are possible.
type treeRounds struct {
	blindRounds
	left  versionSpace
	past  bool // the truth is a fair coin, independent of answers
	asked []float64
}

func newTreeRounds(g game, a schemas.Adversary) (*treeRounds, error) {
	left, err := g.versions(a)
	if err != nil {
		return nil, err
	}
	asked := make([]float64, g.class.Dim)
	return &treeRounds{blindRounds: blindRounds{g}, left: left, past: a.Sees == seesPast, asked: asked}, nil
}

func (o *treeRounds) Next(x []float64) {
	if !o.left.split(x) {
		o.draw(x)
	}
	copy(o.asked, x)
}

func (o *treeRounds) Truth(answer float64) (truth float64) {
	minus, plus := o.left.labels(o.asked)
	switch {
	case !plus:
		truth = -1
	case !minus:
		truth = 1
	case o.past:
		truth = o.against(0)
	default:
		truth = o.against(answer)
	}
	o.left.restrict(o.asked, truth)
	return truth
}
