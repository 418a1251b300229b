package population

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// Sampler draws rows with replacement. It implements distribution.Sampler.
type Sampler struct{ *Rows }

// Begin does nothing: no trial has anything of its own.
func (Sampler) Begin(*rand.Rand) {}

// Target returns nil: the file labels the rows.
func (Sampler) Target() concept.Target { return nil }

// Draw fills x and y with len(y) rows and their labels.
func (s Sampler) Draw(r *rand.Rand, x, y []float64) {
	d := s.Dim
	for i := range y {
		k := int(r.Uint64N(uint64(len(s.Y))))
		copy(x[i*d:(i+1)*d], s.Row(k))
		y[i] = s.Y[k]
	}
}
