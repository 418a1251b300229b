package adversary

import (
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var leaderKiller = Adversary{
	Name: "leader-killer",
	Doc: "asks points of the distribution; the truth is the opposite of the leader's label. The leader is " +
		"the first of the hypotheses with the fewest mistakes so far. A learner that contradicts the leader " +
		"never errs: the game is not a lower bound",
	Reveals:     "every truth in advance: the leader follows from the truths so far",
	Predictable: true,
	Place:       7,
	Refuses: onDistribution(func(p *schemas.Problem) string {
		if listable(p) {
			return ""
		}
		return fmt.Sprintf("needs a class matrix, or a class of at most %d hypotheses: take a smaller domain or d", maxListed)
	}),
	rounds: func(g game, _ schemas.Adversary) (Rounds, error) { return newLeaderKillerRounds(g) },
}

// leaderKillerRounds takes as long for a round as one label by each hypothesis.
type leaderKillerRounds struct {
	blindRounds
	members  []concept.Hypothesis
	mistakes []int     // mistakes of each member so far
	labels   []float64 // label of the current point by each member
}

func newLeaderKillerRounds(g game) (Rounds, error) {
	c, err := g.finite()
	if err != nil {
		return nil, err
	}
	n := int(c.Size().Int64())
	o := &leaderKillerRounds{
		blindRounds: blindRounds{g},
		members:     make([]concept.Hypothesis, n),
		mistakes:    make([]int, n),
		labels:      make([]float64, n),
	}
	for i := range o.members {
		o.members[i] = c.Member(uint64(i))
	}
	return o, nil
}

func (o *leaderKillerRounds) Next(x []float64) {
	o.draw(x)
	for i, h := range o.members {
		h.Labels(x, o.labels[i:i+1])
	}
}

func (o *leaderKillerRounds) Truth(float64) float64 {
	leader := slices.Index(o.mistakes, slices.Min(o.mistakes))
	truth := -o.labels[leader]
	for i, label := range o.labels {
		if label != truth {
			o.mistakes[i]++
		}
	}
	return truth
}
