package law

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var iso = Law{
	Name: "iso",
	Doc: "y is a fair coin and yx = tau u + sqrt(1-tau^2) g, with g uniform on the unit sphere orthogonal to u: " +
		"every point has exactly the margin",
	Fits:     fitsBall,
	Keys:     []*Key{&margin},
	LeastDim: 2, // a direction orthogonal to u
	Size:     uncountable,
	open: func(p *schemas.Problem, _ concept.Spec) Opened {
		return Opened{Sampler: func() Sampler { return &isoSampler{newHalfspace(p)} }}
	},
}

type isoSampler struct{ halfspace }

func (s *isoSampler) Draw(r *rand.Rand, x, y []float64) {
	d := len(s.Normal)
	for i := range y {
		row := x[i*d : (i+1)*d]
		y[i] = coin(r)
		s.combine(row, float64(y[i]*s.tau), float64(y[i]*cosine(s.tau)), s.orthogonal(r, row))
	}
}
