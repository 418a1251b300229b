package distribution

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// Exact is implemented by samplers that have formulas for errors.
type Exact interface {
	// Error returns the probability that h differs from the clean label of a random point of the
	// current trial. It returns false if there is no formula for h.
	Error(h concept.Hypothesis) (float64, bool)
}

// Error implements Exact.
func (s *uniformSampler) Error(h concept.Hypothesis) (float64, bool) {
	if flipping, ok := s.target.(*flippingTarget); ok {
		return flipping.error(s.class, h)
	}
	return concept.Disagreement(s.class, h, s.target)
}

// error returns the error of h under the distribution agnostic, for classes on the line. h errs
// on the points on which it differs from the hypothesis of the target, except the flipped ones
// there, and on all other flipped points.
func (t *flippingTarget) error(s concept.Spec, h concept.Hypothesis) (float64, bool) {
	if t.box == nil {
		return 0, false
	}
	b, ok := concept.BoxOf(s, h)
	if !ok {
		return 0, false
	}
	low, high, own, end := b.Low[0], b.High[0]+1, t.box.Low[0], t.box.High[0]+1
	if high < low { // -1 everywhere
		low, high = own, own
	}
	wrong := float64(t.flipped)
	for _, piece := range [][2]float64{
		{low, min(high, own)}, {max(low, end), high}, // inside h only
		{own, min(end, low)}, {max(own, high), end}, // inside the target only
	} {
		if from, to := piece[0], piece[1]; from < to {
			wrong += to - from - 2*t.flippedFrom(from, to)
		}
	}
	return wrong / float64(t.points), true
}

// flippedFrom returns the number of flipped points among from..to-1, which must all have the same
// label in the target.
func (t *flippingTarget) flippedFrom(from, to float64) float64 {
	first, m, n := t.number([]float64{from})
	last, _, _ := t.number([]float64{to - 1})
	return float64(stepsTo(last+1, m, n) - stepsTo(first, m, n))
}

// Error implements Exact: the error of a halfspace through the origin depends on its angle to the
// target.
func (s *isoSampler) Error(h concept.Hypothesis) (float64, bool) { return s.errorAt(h, s.angles) }

// Error implements Exact, as for isoSampler.
func (s *ballMarginSampler) Error(h concept.Hypothesis) (float64, bool) {
	return s.errorAt(h, s.angles)
}

// errorAt returns the error of a halfspace by its angle to the normal.
func (h *halfspace) errorAt(of concept.Hypothesis, angles func() *angleErrors) (float64, bool) {
	switch of := of.(type) {
	case concept.Constant:
		return 0.5, true // labels are fair coins
	case concept.Linear:
		if of.B != 0 {
			return 0, false
		}
		a, ok := angle(of.W, h.Normal)
		if !ok { // w = 0 labels all points +1
			return 0.5, true
		}
		return angles().at(a), true
	}
	return 0, false
}

// angle returns the angle between w and a unit vector u, in [0, pi], precise near 0 and pi; false if w is 0.
func angle(w, u []float64) (float64, bool) {
	scale := 0.0
	for _, v := range w {
		scale = max(scale, math.Abs(v))
	}
	if scale == 0 {
		return 0, false
	}
	var norm float64
	for _, v := range w {
		norm += float64((v / scale) * (v / scale))
	}
	norm = math.Sqrt(norm)
	var minus, plus float64 // squared distances of w/|w| and u, and of -w/|w| and u
	for i, v := range w {
		e := v / scale / norm
		minus += float64((e - u[i]) * (e - u[i]))
		plus += float64((e + u[i]) * (e + u[i]))
	}
	return 2 * math.Atan2(math.Sqrt(minus), math.Sqrt(plus)), true
}

// angleErrors holds the error of a halfspace as a function of the angle a to the target, for a
// distribution whose points are yx = m u + sqrt(1-m^2) g, g uniform on the unit sphere orthogonal
// to the target's normal u.
//
// A halfspace with the normal w errs iff <w, yx> = cos(a) m + sin(a) sqrt(1-m^2) z < 0, where z
// is the first coordinate of a uniform point of the unit sphere in d-1 dimensions. Given m =
// sin(f), this has the probability of z < -s, s = tan(f)/tan(a). For a <= pi/2 it is 0 if f >= a,
// and otherwise I(1-s^2; (d-2)/2, 1/2)/2, where I is the regularized incomplete beta function;
// 1/2 in two dimensions. Beyond pi/2 the error is 1 minus that of pi-a.
//
// The mean over m is stored as a Chebyshev series in x = sqrt(a - f0), f0 = arcsin(tau), in which
// it is smooth.
type angleErrors struct {
	from   float64   // f0: the error is 0 up to it
	series []float64 // Chebyshev coefficients on 0 <= x <= sqrt(pi/2 - f0)
}

// at returns the error at the angle a, in [0, pi].
func (e *angleErrors) at(a float64) float64 {
	if a > math.Pi/2 {
		return 1 - e.at(math.Pi-a)
	}
	if a <= e.from || e.series == nil {
		return 0
	}
	x := 2*math.Sqrt((a-e.from)/(math.Pi/2-e.from)) - 1
	var b0, b1, b2 float64 // Clenshaw's recurrence
	for i := len(e.series) - 1; i >= 0; i-- {
		b2, b1 = b1, b0
		b0 = float64(2*x*b1) - b2 + e.series[i]
	}
	return max(0, b0-float64(x*b1))
}

// marginDistribution describes the distribution of the margin m = sin(f) in [tau, 1]. density is
// a multiple of the density of the angle f, which may vary in size like 1/f^2 but is smooth
// otherwise; nil: m is always tau.
type marginDistribution struct {
	dim     int
	tau     float64
	density func(f float64) float64
}

// newAngleErrors computes the errors of all angles to an absolute error of 1e-10.
func newAngleErrors(m marginDistribution) *angleErrors {
	if m.dim == 1 {
		return &angleErrors{from: math.Pi}
	}
	e := &angleErrors{from: math.Asin(m.tau)}
	total := 1.0
	if m.density != nil {
		total = integrate(m.density, e.from, math.Pi/2, false)
	}
	width := math.Pi/2 - e.from
	for n := 32; ; n *= 2 {
		values := make([]float64, n) // at the Chebyshev points
		for i := range values {
			x := (1 + math.Cos(math.Pi*(float64(i)+0.5)/float64(n))) / 2
			values[i] = m.error(e.from+width*x*x, total)
		}
		e.series = chebyshev(values)
		if tail := e.series[n-4:]; maxAbs(tail) < 1e-11 || n == 2048 {
			return e
		}
	}
}

// error returns the error at the angle a, above arcsin(tau) and at most pi/2; total is the integral of the density.
func (m marginDistribution) error(a, total float64) float64 {
	t := math.Tan(a)
	given := func(f float64) float64 { return 0.5 * m.beyond(math.Tan(f)/t) }
	from := math.Asin(m.tau)
	if m.density == nil {
		return given(from)
	}
	return integrate(func(f float64) float64 { return given(f) * m.density(f) }, from, a, true) / total
}

// beyond returns the probability that |z| > s.
func (m marginDistribution) beyond(s float64) float64 {
	switch {
	case s >= 1:
		return 0
	case m.dim == 2:
		return 1
	}
	return mathext.RegIncBeta(float64(m.dim-2)/2, 0.5, (1-s)*(1+s))
}

// integrate integrates f from a to b, 0 < a < b, by Gauss-Legendre quadrature on pieces whose
// ends grow by factors of 2. If root is set, f may behave like a power of sqrt(b-x) at b, which a
// substitution makes smooth.
func integrate(f func(float64) float64, a, b float64, root bool) (sum float64) {
	const nodes = 40
	for a < b {
		to := min(2*a, b)
		if b-to < 0.1*(to-a) {
			to = b
		}
		if root && to == b {
			width := b - a
			sum += quad.Fixed(func(w float64) float64 { return f(b-width*w*w) * 2 * width * w }, 0, 1, nodes, nil, 0)
		} else {
			sum += quad.Fixed(f, a, to, nodes, nil, 0)
		}
		a = to
	}
	return sum
}

// chebyshev returns the coefficients of the Chebyshev series that has those values at the n Chebyshev points.
func chebyshev(values []float64) []float64 {
	n := len(values)
	c := make([]float64, n)
	for k := range c {
		for i, v := range values {
			c[k] += float64(v * math.Cos(math.Pi*float64(k)*(float64(i)+0.5)/float64(n)))
		}
		c[k] *= 2 / float64(n)
	}
	c[0] /= 2
	return c
}

func maxAbs(v []float64) (m float64) {
	for _, x := range v {
		m = max(m, math.Abs(x))
	}
	return m
}
