package problem

import (
	"math/rand/v2"

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
	case p.spec.Distribution == needle:
		return newAtoms(p.exact)
	}
	return &evenly{domain: p.domain, target: targetOf(&p.spec)}
}

// segment is the set of values low..high that a hypothesis on an ordered domain labels +1.
type segment struct{ low, high uint64 }

func (s segment) label(v uint64) float64 {
	if s.low <= v && v <= s.high {
		return 1
	}
	return -1
}

// targetOf is the fixed target on an ordered domain.
func targetOf(p *schemas.Problem) segment {
	x := p.Domain
	switch {
	case p.Class == thresholds:
		return segment{x / 2, x - 1}
	case p.Class == intervals && p.Distribution == uniform:
		return segment{x / 4, 3*x/4 - 1}
	}
	return segment{x / 2, x / 2}
}

// support is all points of a law on an ordered domain, with labels and weights; nil where there are too many, and for halfspaces.
func support(p *schemas.Problem) *points {
	s := &points{}
	add := func(v uint64, w float64) {
		if w > 0 {
			s.x = append(s.x, float64(v))
			s.y = append(s.y, targetOf(p).label(v))
			s.w = append(s.w, w)
		}
	}
	switch c, a := p.Domain/2, p.Mass; {
	case p.Class == halfspace:
		return nil
	case p.Distribution == uniform && p.Domain > maxSupport:
		return nil
	case p.Distribution == uniform:
		for v := range p.Domain {
			add(v, 1/float64(p.Domain))
		}
	case p.Class == thresholds:
		add(c-1, a)
		add(c, a)
		add(p.Domain-1, 1-float64(2*a))
	case p.Class == point:
		add(c, a)
		add(0, 1-a)
	case p.Class == intervals:
		add(c-1, a)
		add(c, a)
		add(c+1, a)
		add(0, 1-float64(3*a))
	}
	return s
}

// evenly is the uniform law on 0..domain-1.
type evenly struct {
	domain uint64
	target segment
}

func (l *evenly) begin(*rand.Rand) {}

func (l *evenly) draw(r *rand.Rand, x, y []float64) {
	for i := range y {
		v := r.Uint64N(l.domain)
		x[i], y[i] = float64(v), l.target.label(v)
	}
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
