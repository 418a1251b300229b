package distribution

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas"
)

// A hyperplane whose normal has the angle a in (0, pi/2) to u errs, in d >= 3 dimensions, with
// probability E[I(1 - s^2; d/2-1, 1/2)]/2, where s = min(1, cot(a) m/sqrt(1-m^2)), I is the
// regularized incomplete beta function and the mean is over m. In two dimensions it errs with
// probability P(s < 1)/2. Beyond pi/2 the error is one minus that of pi - a.
var iso = Distribution{
	Name: "iso",
	Doc: "y is a fair coin and yx = m u + sqrt(1-m^2) g. The margin m in [tau, 1], with 1/m uniform, and g, " +
		"uniform on the unit sphere orthogonal to u, are drawn for each example",
	Fits:     fitsBall,
	Keys:     []*Key{&margin},
	LeastDim: 2, // requires a direction orthogonal to u
	Size:     uncountable,
	MarginAt: func(_ int, tau, v float64) float64 { return randomMarginAt(tau, v) },
	Formula:  func(*schemas.Problem) bool { return true },
	open: openIso(randomMargin, func(tau, f float64) float64 {
		s := math.Sin(f)
		return tau * math.Cos(f) / (s * s) // 1/m is uniform
	}),
}

// isoFixed is iso with m = tau. Any d linearly independent examples determine the target.
var isoFixed = Distribution{
	Name: "iso-fixed",
	Doc: "like iso, but every margin m is exactly tau, so that d examples determine the target. It " +
		"reproduces published tables, and makes learners that use the margin look better than they are",
	Fits:     fitsBall,
	Keys:     []*Key{&margin},
	LeastDim: 2,
	Size:     uncountable,
	MarginAt: func(_ int, tau, _ float64) float64 { return tau },
	Formula:  func(*schemas.Problem) bool { return true },
	open:     openIso(fixedMargin, nil),
}

// openIso opens a distribution of points that are symmetric around the target.
func openIso(m drawMargin, density func(tau, f float64) float64) func(*schemas.Problem, concept.Spec) Opened {
	return func(p *schemas.Problem, _ concept.Spec) Opened {
		exact := marginDistribution{dim: p.Dim, tau: p.Margin}
		if density != nil {
			exact.density = func(f float64) float64 { return density(p.Margin, f) }
		}
		angles := sync.OnceValue(func() *angleErrors { return newAngleErrors(exact) })
		return Opened{Sampler: func() Sampler { return &isoSampler{newHalfspace(p), m, angles} }}
	}
}

type isoSampler struct {
	halfspace
	margin drawMargin
	angles func() *angleErrors
}

func (s *isoSampler) Draw(r *rand.Rand, x, y []float64) {
	d := len(s.Normal)
	for i := range y {
		row := x[i*d : (i+1)*d]
		y[i] = numeric.Coin(r)
		m := s.margin(r, s.tau)
		s.combine(row, float64(y[i]*m), float64(y[i]*cosine(m)), s.orthogonal(r, row))
	}
}
