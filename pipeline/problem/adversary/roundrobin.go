package adversary

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var roundRobin = Adversary{
	Name: "round-robin",
	Doc: "cycles through the points 0..X-1 of the class points, all labeled -1: in each round only the " +
		"hypothesis of the current point errs. A learner that exploits this never errs: the game is not a " +
		"lower bound",
	Reveals:     "every truth in advance: all are -1",
	Predictable: true,
	Place:       3,
	Refuses: onDistribution(func(p *schemas.Problem) string {
		if p.Class == concept.Points {
			return ""
		}
		return "needs the class " + concept.Points
	}),
	rounds: func(g game, _ schemas.Adversary) (Rounds, error) {
		return &roundRobinRounds{blindRounds: blindRounds{g}}, nil
	},
}

type roundRobinRounds struct {
	blindRounds
	next uint64
}

func (o *roundRobinRounds) Next(x []float64) {
	x[0] = float64(o.next)
	if o.next++; o.next == o.class.Domain {
		o.next = 0
	}
}

func (o *roundRobinRounds) Truth(float64) float64 { return -1 }
