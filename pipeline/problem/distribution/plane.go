package distribution

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// Plane is a hyperplane through 0. As a Target it labels the points on the side of its normal,
// and its own points, +1.
type Plane struct {
	Normal []float64 // of norm 1
}

// Begin draws the normal uniformly from the unit sphere, the class's distribution of targets.
func (p *Plane) Begin(r *rand.Rand) { concept.Direction(r, p.Normal) }

// Label implements concept.Target.
func (p *Plane) Label(x []float64) float64 {
	if numeric.Dot(x, p.Normal) >= 0 {
		return 1
	}
	return -1
}

// Labels implements concept.Target.
func (p *Plane) Labels(x, y []float64) { concept.LabelEach(x, y, p.Label) }

// Draw fills x with a uniform unit vector of the hyperplane; in one dimension with 0, its only
// point.
func (p *Plane) Draw(r *rand.Rand, x []float64) {
	if len(x) == 1 {
		x[0] = 0
		return
	}
	p.combine(x, 0, 1, p.orthogonal(r, x))
}

// residue describes a vector z from which its component along the normal u was subtracted.
type residue struct {
	along float64 // <z,u>, a rounding error
	norm  float64 // length of the component orthogonal to u
}

// orthogonal fills z with normal numbers and subtracts its component along the normal. Rounding
// leaves some of it, above all if z is nearly parallel to the normal. The residue is measured for
// a second subtraction in combine.
func (p *Plane) orthogonal(r *rand.Rand, z []float64) residue {
	for {
		along, whole := normals(r, z, p.Normal)
		left, squared := 0.0, 0.0
		for i, u := range p.Normal {
			z[i] -= float64(along * u)
			left += float64(z[i] * u)
			squared += float64(z[i] * z[i])
		}
		squared -= float64(left * left)
		if squared > 1e-20*whole { // otherwise only rounding error remains, which practically never happens
			return residue{left, math.Sqrt(squared)}
		}
	}
}

// combine changes z, as prepared by orthogonal, to t u + c g, where u is the normal and g the
// unit vector of the component of z that is orthogonal to u.
func (p *Plane) combine(z []float64, t, c float64, g residue) {
	c /= g.norm
	t -= float64(c * g.along)
	for i, u := range p.Normal {
		z[i] = float64(c*z[i]) + float64(t*u)
	}
}

// normals fills z with independent standard normal numbers, and returns <z,u> and |z|^2. u may be z
// itself.
func normals(r *rand.Rand, z, u []float64) (along, squared float64) {
	for i := range z {
		v := r.NormFloat64()
		z[i] = v
		along += float64(v * u[i])
		squared += float64(v * v)
	}
	return along, squared
}

// cosine returns sqrt(1-t^2) without cancellation.
func cosine(t float64) float64 { return math.Sqrt((1 - t) * (1 + t)) }
