package problem

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// law draws clean labelled examples. One that has a target of its own keeps it between begin and the next begin.
type law interface {
	begin(target *rand.Rand)
	draw(r *rand.Rand, x, y []float64) // len(y) examples
}

// newLaw makes the law of one drawer.
func (p *Problem) newLaw() law {
	switch {
	case p.data != nil:
		return &rows{x: p.data.x, y: p.data.y, dim: p.dim}
	case p.spec.Class == halfspace:
		return newSphere(&p.spec)
	case shapeOf(p.spec.Class) == endless:
		return noLaw{}
	case p.spec.Distribution == needle:
		return newAtoms(p.exact)
	}
	return newEvenly(&p.spec, p.matrix)
}

// noLaw is where an adversary chooses all points.
type noLaw struct{}

func (noLaw) begin(*rand.Rand) {}

func (noLaw) draw(*rand.Rand, []float64, []float64) {
	panic("problem: a sample of a class without a law")
}

// needles is all points of the needle law, with labels and weights.
func needles(p *schemas.Problem) *points {
	s := &points{}
	target := targetOf(p, "")
	if p.Class == intervals {
		target = concept.Box{Low: []float64{float64(p.Domain / 2)}, High: []float64{float64(p.Domain / 2)}}
	}
	add := func(v uint64, w float64) {
		if w > 0 {
			s.x = append(s.x, float64(v))
			s.y = append(s.y, target.Label([]float64{float64(v)}))
			s.w = append(s.w, w)
		}
	}
	switch c, a := p.Domain/2, p.Mass; p.Class {
	case thresholds:
		add(c-1, a)
		add(c, a)
		add(p.Domain-1, 1-float64(2*a))
	case point:
		add(c, a)
		add(0, 1-a)
	case intervals:
		add(c-1, a)
		add(c, a)
		add(c+1, a)
		add(0, 1-float64(3*a))
	}
	return s
}

// atoms is a law on a few weighted points.
type atoms struct {
	points
	upTo []float64 // cumulated weights of all points but the last
}

func newAtoms(s *points) *atoms {
	a := &atoms{points: *s}
	sum := 0.0
	for _, w := range s.w[:len(s.w)-1] {
		sum += w
		a.upTo = append(a.upTo, sum)
	}
	return a
}

func (l *atoms) begin(*rand.Rand) {}

func (l *atoms) draw(r *rand.Rand, x, y []float64) {
	for i := range y {
		u, k := r.Float64(), 0
		for k < len(l.upTo) && u >= l.upTo[k] {
			k++
		}
		x[i], y[i] = l.x[k], l.y[k]
	}
}

// rows is a population from which is drawn with replacement.
type rows struct {
	x, y []float64
	dim  int
}

func (l *rows) begin(*rand.Rand) {}

func (l *rows) draw(r *rand.Rand, x, y []float64) {
	d := l.dim
	for i := range y {
		k := int(r.Uint64N(uint64(len(l.y))))
		copy(x[i*d:(i+1)*d], l.x[k*d:(k+1)*d])
		y[i] = l.y[k]
	}
}
