package noise

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
)

var random = Noise{
	Name:    "random",
	Doc:     "each label is wrong with probability rate, independently of all others",
	Rate:    true,
	flipper: func(rate float64, _ concept.Shape) Flipper { return randomFlips(rate) },
}

type randomFlips float64

func (rate randomFlips) Flip(r *rand.Rand, _, y []float64) {
	for i := range y {
		if r.Float64() < float64(rate) {
			y[i] = -y[i]
		}
	}
}
