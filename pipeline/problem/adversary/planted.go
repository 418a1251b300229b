package adversary

import (
	"fmt"

	"github.com/shatterlab/shatter/schemas"
)

const maxPlanted = 0.5

var planted = Adversary{
	Name: "planted",
	Doc: "asks points of the distribution; the truth is the target's label, over data the row's own, " +
		"flipped with probability rate",
	Reveals: "nothing except the truths, which are labels of the target",
	Target:  true,
	Place:   2,
	Refuses: onDistribution(nil),
	Rate: &Rate{Outside: func(rate float64) string {
		if rate >= 0 && rate <= maxPlanted {
			return ""
		}
		return fmt.Sprintf("%v is outside [0, %v]", rate, maxPlanted)
	}},
	Realizable: func(a schemas.Adversary) bool { return a.Rate == 0 },
	rounds: func(g game, a schemas.Adversary) (Rounds, error) {
		return &plantedRounds{blindRounds: blindRounds{g}, rate: a.Rate}, nil
	},
}

type plantedRounds struct {
	blindRounds
	rate  float64
	truth float64
}

func (o *plantedRounds) Next(x []float64) {
	o.truth = o.draw(x)
	if o.r.Float64() < o.rate {
		o.truth = -o.truth
	}
}

func (o *plantedRounds) Truth(float64) float64 { return o.truth }
