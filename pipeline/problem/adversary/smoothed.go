package adversary

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var smoothed = Adversary{
	Name: "smoothed",
	Doc: "like tree, but with probability rate it asks a uniform point of the domain instead, and " +
		"contradicts the answer there only if both labels are possible",
	Reveals: "nothing: there is no target, the truths contradict the answers",
	Place:   6,
	Refuses: onDistribution(unsplittable),
	Sees:    []string{seesAnswers, seesPast},
	Rate: &Rate{
		Default: 0.1,
		Outside: func(rate float64) string {
			if rate > 0 && rate <= 1 {
				return ""
			}
			return fmt.Sprintf("%v is outside (0, 1]; without uniform points it is the kind %s", rate, tree.Name)
		},
	},
	Knows:      coinsOrAnswers,
	Realizable: always,
	rounds: func(g game, a schemas.Adversary) (Rounds, error) {
		o, err := newTreeRounds(g, a)
		if err != nil {
			return nil, err
		}
		return &smoothedRounds{treeRounds: *o, rate: a.Rate, side: concept.Side(g.class)}, nil
	},
}

type smoothedRounds struct {
	treeRounds
	rate float64
	side uint64
}

func (o *smoothedRounds) Next(x []float64) {
	if o.r.Float64() >= o.rate {
		o.treeRounds.Next(x)
		return
	}
	for j := range x {
		x[j] = float64(o.r.Uint64N(o.side))
	}
	copy(o.asked, x)
}
