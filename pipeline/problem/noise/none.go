package noise

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
)

var none = Noise{
	Name:    "none",
	Doc:     "all labels are those of the target",
	flipper: func(float64, concept.Shape) Flipper { return noFlips{} },
}

type noFlips struct{}

func (noFlips) Flip(*rand.Rand, []float64, []float64) {}
