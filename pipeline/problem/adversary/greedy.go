package adversary

import (
	"encoding/binary"
	"math"

	"github.com/shatterlab/shatter/schemas"
)

var greedy = Adversary{
	Name: "greedy",
	Doc: "asks points of the distribution and contradicts the answer or, if it sees only the past, the last " +
		"label observed at this point; if that is 0, or there is none, the truth is a fair coin",
	Reveals: "nothing: the truths contradict the answers; if it sees only the past, the truth at a repeated " +
		"point is the opposite of the last label there",
	Place:   8,
	Refuses: onDistribution(nil),
	Sees:    []string{seesAnswers, seesPast},
	rounds: func(g game, a schemas.Adversary) (Rounds, error) {
		o := &greedyRounds{game: g}
		if a.Sees == seesPast {
			o.last = map[string]float64{}
		}
		return o, nil
	},
}

type greedyRounds struct {
	game
	last  map[string]float64 // last label by point; nil: truths go against the answer
	asked string
}

func (o *greedyRounds) Next(x []float64) {
	o.draw(x)
	if o.last == nil {
		return
	}
	var key []byte
	for _, v := range x {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	o.asked = string(key)
}

func (o *greedyRounds) Truth(answer float64) float64 {
	if o.last != nil {
		answer = o.last[o.asked]
	}
	return o.against(answer)
}

func (o *greedyRounds) Observe(label float64) {
	if o.last != nil {
		o.last[o.asked] = label
	}
}
