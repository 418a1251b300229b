package adversary

import "github.com/shatterlab/shatter/schemas"

var random = Adversary{
	Name:    "random",
	Doc:     "asks points of the distribution; the truth is a fair coin",
	Reveals: "nothing: the truths are fair coins",
	Place:   1,
	Refuses: onDistribution(nil),
	rounds:  func(g game, _ schemas.Adversary) (Rounds, error) { return &randomRounds{blindRounds{g}}, nil },
}

type randomRounds struct{ blindRounds }

func (o *randomRounds) Next(x []float64)      { o.draw(x) }
func (o *randomRounds) Truth(float64) float64 { return o.against(0) }
