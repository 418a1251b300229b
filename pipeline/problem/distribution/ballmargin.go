package distribution

import (
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/mathext"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas"
)

var ballMargin = Distribution{
	Name: "ball-margin",
	Doc:  "x is uniform on the unit sphere, conditioned on |<u,x>| >= tau, and y is the sign of <u,x>",
	Fits: fitsBall,
	Keys: []*Key{&margin},
	Size: uncountable,
	// The share of the sphere with |<u,x>| >= t is I(1-t^2; (d-1)/2, 1/2), where I is the
	// regularized incomplete beta function.
	MarginAt: func(dim int, tau, v float64) float64 {
		if dim == 1 {
			return 1
		}
		a := float64(dim-1) / 2
		beyond := v * mathext.RegIncBeta(a, 0.5, (1-tau)*(1+tau))
		return math.Sqrt(1 - mathext.InvRegIncBeta(a, 0.5, beyond))
	},
	Formula: func(*schemas.Problem) bool { return true },
	open: func(p *schemas.Problem, _ concept.Spec) Opened {
		angles := sync.OnceValue(func() *angleErrors {
			return newAngleErrors(marginDistribution{p.Dim, p.Margin, func(f float64) float64 {
				return math.Pow(math.Cos(f), float64(p.Dim-2)) // density of the sphere
			}})
		})
		return Opened{Sampler: func() Sampler { return newBallMarginSampler(p, angles) }}
	},
}

type ballMarginSampler struct {
	halfspace
	angles func() *angleErrors
	naive  bool // draw whole points, and reject those inside the margin
}

func newBallMarginSampler(p *schemas.Problem, angles func() *angleErrors) *ballMarginSampler {
	s := &ballMarginSampler{halfspace: newHalfspace(p), angles: angles}
	// The better of the two ways to draw accepts more than two of five proposals, for all d and
	// tau.
	s.naive = p.Dim == 1 || float64(s.tau*s.tau)*float64(p.Dim) < 0.25
	return s
}

func (s *ballMarginSampler) Draw(r *rand.Rand, x, y []float64) {
	d := len(s.Normal)
	for i := range y {
		row := x[i*d : (i+1)*d]
		if s.naive {
			y[i] = s.reject(r, row)
			continue
		}
		y[i] = numeric.Coin(r)
		t, c := s.cap(r)
		s.combine(row, float64(y[i]*t), float64(y[i]*c), s.orthogonal(r, row))
	}
}

// reject draws uniform points until one has the margin tau, and returns its label.
func (s *ballMarginSampler) reject(r *rand.Rand, row []float64) float64 {
	for {
		along, squared := normals(r, row, s.Normal)
		norm := math.Sqrt(squared)
		if t := along / norm; math.Abs(t) >= s.tau {
			for i := range row {
				row[i] /= norm
			}
			return math.Copysign(1, t)
		}
	}
}

// cap draws t = |<u,x>| of a uniform point beyond the margin, and returns it with sqrt(1-t^2).
// The square s = t^2 has a density proportional to s^(-1/2) (1-s)^((d-3)/2) on [tau^2, 1]: values
// are proposed by the second factor alone, and accepted with probability tau/sqrt(s).
func (s *ballMarginSampler) cap(r *rand.Rand) (t, c float64) {
	low := float64(s.tau * s.tau)
	for {
		// v+1 is a uniform number to the power 2/(d-1)
		v := math.Expm1(2 * math.Log(1-r.Float64()) / float64(len(s.Normal)-1))
		t = math.Sqrt(low - float64((1-low)*v))
		if float64(r.Float64()*t) < s.tau {
			return t, math.Sqrt((1 - low) * (1 + v))
		}
	}
}
