package distribution

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas"
)

var skew = Distribution{
	Name: "skew",
	Doc: "like iso, with q/|q| instead of g, where q = s e + g/2, e is a uniform unit vector orthogonal to " +
		"u, drawn for each trial, and s is -1 with probability minority, otherwise +1: the average of yx " +
		"errs on the minority",
	Fits:     fitsBall,
	Keys:     []*Key{&margin, &minority},
	LeastDim: 2, // requires a direction orthogonal to u
	Size:     uncountable,
	open:     openSkew(randomMargin),
}

// skewFixed is skew with m = tau. Any d linearly independent examples determine the target.
var skewFixed = Distribution{
	Name:     "skew-fixed",
	Doc:      "like skew, but every margin m is exactly tau, for the same purpose as iso-fixed",
	Fits:     fitsBall,
	Keys:     []*Key{&margin, &minority},
	LeastDim: 2,
	Size:     uncountable,
	open:     openSkew(fixedMargin),
}

var minority = Key{
	Name:    "minority",
	Doc:     "the share p of the minority under the skew distributions, in (0, 0.5]",
	Default: 0.2,
	Field:   func(p *schemas.Problem) *float64 { return &p.Minority },
	Outside: func(p *schemas.Problem) string {
		if p.Minority > 0 && p.Minority <= 0.5 {
			return ""
		}
		return fmt.Sprintf("%v is outside (0, 0.5]", p.Minority)
	},
}

// openSkew opens a distribution of points most of which lean to one side of the target.
func openSkew(m drawMargin) func(*schemas.Problem, concept.Spec) Opened {
	return func(p *schemas.Problem, _ concept.Spec) Opened {
		return Opened{Sampler: func() Sampler {
			return &skewSampler{newHalfspace(p), m, p.Minority, make([]float64, p.Dim)}
		}}
	}
}

type skewSampler struct {
	halfspace
	margin   drawMargin
	minority float64
	e        []float64 // unit vector orthogonal to the normal
}

// Begin draws u, and then e uniformly among the unit vectors orthogonal to u.
func (s *skewSampler) Begin(r *rand.Rand) {
	s.Plane.Begin(r)
	g := s.orthogonal(r, s.e)
	s.combine(s.e, 0, 1, g)
}

func (s *skewSampler) Draw(r *rand.Rand, x, y []float64) {
	d := len(s.Normal)
	for i := range y {
		y[i] = numeric.Coin(r)
		s.point(r, x[i*d:(i+1)*d], y[i])
	}
}

// point fills row with y (m u + sqrt(1-m^2) q/|q|), q = s e + g/2, g uniform and orthogonal to u.
func (s *skewSampler) point(r *rand.Rand, row []float64, y float64) {
	m, sign := s.margin(r, s.tau), 1.0
	if r.Float64() < s.minority {
		sign = -1
	}
	g := s.orthogonal(r, row)
	ge := 0.0
	for i, z := range row {
		ge += float64(z * s.e[i])
	}
	q := math.Sqrt(1.25 + float64(sign*ge)/g.norm) // |q|^2 = 1 + 1/4 + s<g,e>
	c := y * cosine(m) / q
	s.combine(row, float64(y*m), c/2, g)
	for i, e := range s.e {
		row[i] += float64(c * sign * e)
	}
}
