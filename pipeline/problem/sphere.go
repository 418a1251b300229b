package problem

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/schemas"
)

// sphere is the laws on the unit sphere of R^d: iso, skew and ball-margin.
type sphere struct {
	law    string
	tau, p float64   // margin, minority
	u, e   []float64 // orthonormal, drawn per trial; e for skew only
	naive  bool      // ball-margin: draw whole points and reject
}

func newSphere(p *schemas.Problem) *sphere {
	l := &sphere{law: p.Distribution, tau: p.Margin, p: p.Minority, u: make([]float64, p.Dim)}
	if l.law == skew {
		l.e = make([]float64, p.Dim)
	}
	// The better of the two ways to draw ball-margin accepts more than two of five proposals, whatever d and tau.
	l.naive = p.Dim == 1 || float64(l.tau*l.tau)*float64(p.Dim) < 0.25
	return l
}

// begin draws u uniformly, and e uniformly among the unit vectors orthogonal to u.
func (l *sphere) begin(r *rand.Rand) {
	squared := 0.0
	for squared == 0 {
		_, squared = normals(r, l.u, l.u)
	}
	norm := math.Sqrt(squared)
	for i := range l.u {
		l.u[i] /= norm
	}
	if l.law == skew {
		g := l.orthogonal(r, l.e)
		l.combine(l.e, 0, 1, g)
	}
}

func (l *sphere) draw(r *rand.Rand, x, y []float64) {
	d := len(l.u)
	for i := range y {
		row := x[i*d : (i+1)*d]
		if l.law == ballMargin && l.naive {
			y[i] = l.reject(r, row)
			continue
		}
		y[i] = coin(r)
		switch l.law {
		case iso:
			l.combine(row, float64(y[i]*l.tau), float64(y[i]*beside(l.tau)), l.orthogonal(r, row))
		case skew:
			l.skewed(r, row, y[i])
		case ballMargin:
			t, c := l.cap(r)
			l.combine(row, float64(y[i]*t), float64(y[i]*c), l.orthogonal(r, row))
		}
	}
}

// reject draws a uniform point until its margin is tau, and returns its label.
func (l *sphere) reject(r *rand.Rand, row []float64) float64 {
	for {
		along, squared := normals(r, row, l.u)
		norm := math.Sqrt(squared)
		if t := along / norm; math.Abs(t) >= l.tau {
			for i := range row {
				row[i] /= norm
			}
			return math.Copysign(1, t)
		}
	}
}

// cap draws t = |<u,x>| of a uniform point beyond the margin, and sqrt(1-t^2). s = t^2 has a density proportional to
// s^(-1/2) (1-s)^((d-3)/2) on [tau^2, 1]; proposed is the second factor alone, accepted with probability tau/sqrt(s).
func (l *sphere) cap(r *rand.Rand) (t, c float64) {
	low := float64(l.tau * l.tau)
	for {
		v := math.Expm1(2 * math.Log(1-r.Float64()) / float64(len(l.u)-1)) // v+1 is the power 2/(d-1) of a uniform number
		t = math.Sqrt(low - float64((1-low)*v))
		if float64(r.Float64()*t) < l.tau {
			return t, math.Sqrt((1 - low) * (1 + v))
		}
	}
}

// skewed fills row with y (tau u + sqrt(1-tau^2) q/|q|), q = s e + g/2, g uniform and orthogonal to u.
func (l *sphere) skewed(r *rand.Rand, row []float64, y float64) {
	s := 1.0
	if r.Float64() < l.p {
		s = -1
	}
	g := l.orthogonal(r, row)
	ge := 0.0
	for i, z := range row {
		ge += float64(z * l.e[i])
	}
	q := math.Sqrt(1.25 + float64(s*ge)/g.norm) // |q|^2 = 1 + 1/4 + s<g,e>
	c := y * beside(l.tau) / q
	l.combine(row, float64(y*l.tau), c/2, g)
	for i, e := range l.e {
		row[i] += float64(c * s * e)
	}
}

// residue says of a vector z how much of u it still holds, <z,u>, and the length of the rest.
type residue struct{ along, norm float64 }

// orthogonal fills z with normal numbers and takes its part along u away. Because rounding leaves some of it, above all where z
// is nearly parallel to u, the residue is measured for a second subtraction in combine.
func (l *sphere) orthogonal(r *rand.Rand, z []float64) residue {
	for {
		along, whole := normals(r, z, l.u)
		left, squared := 0.0, 0.0
		for i, u := range l.u {
			z[i] -= float64(along * u)
			left += float64(z[i] * u)
			squared += float64(z[i] * z[i])
		}
		squared -= float64(left * left)
		if squared > 1e-20*whole { // else there is nothing but rounding error; practically never
			return residue{left, math.Sqrt(squared)}
		}
	}
}

// combine turns z, as orthogonal left it, into t u + c g, where g is the unit vector of its part orthogonal to u.
func (l *sphere) combine(z []float64, t, c float64, g residue) {
	c /= g.norm
	t -= float64(c * g.along)
	for i, u := range l.u {
		z[i] = float64(c*z[i]) + float64(t*u)
	}
}

// normals fills z with independent standard normal numbers, and returns <z,u> and |z|^2. u may be z itself.
func normals(r *rand.Rand, z, u []float64) (along, squared float64) {
	for i := range z {
		v := r.NormFloat64()
		z[i] = v
		along += float64(v * u[i])
		squared += float64(v * v)
	}
	return along, squared
}

// beside is sqrt(1-t^2) without cancellation.
func beside(t float64) float64 { return math.Sqrt((1 - t) * (1 + t)) }

func coin(r *rand.Rand) float64 {
	if r.Uint64()>>63 == 0 {
		return -1
	}
	return 1
}
