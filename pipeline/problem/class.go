package problem

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// shape is what the points of a class are.
type shape = concept.Shape

const (
	unknownShape shape = 0
	scalar             = concept.Scalar
	grid               = concept.Grid
	bits               = concept.Bits
	index              = concept.Column
	vector             = concept.Ball
	endless            = concept.InfiniteOrder
)

func shapeOf(class string) shape { return concept.ShapeOf(class) }

// classes lists the names of all classes.
func classes() []string { return concept.Names() }

// lawsOf lists the distributions that fit a class.
func lawsOf(class string) []string {
	switch shapeOf(class) {
	case scalar:
		return []string{uniform, needle}
	case vector:
		return []string{iso, skew, ballMargin}
	case endless:
		return nil
	}
	return []string{uniform}
}

// named returns the class of a problem, without its matrix.
func named(p *schemas.Problem) concept.Spec {
	return concept.Spec{Name: p.Class, Domain: p.Domain, Dim: p.Dim}
}

// side returns the number of values of each number of a point; 0 for vectors and infinite orders.
func side(p *schemas.Problem) uint64 { return concept.Side(named(p)) }

// width returns the number of numbers per point.
func width(p *schemas.Problem) int { return concept.Width(named(p)) }

// cardinality returns the number of points of the domain; +Inf for vectors and infinite orders.
func cardinality(p *schemas.Problem) float64 { return concept.Cardinality(named(p)) }

// target labels points.
type target = concept.Target

// box is a target that does not change.
type box struct{ concept.Box }

// targetOf makes the target of a uniform law on whole numbers; rows are the class matrix.
func targetOf(p *schemas.Problem, rows string) target {
	d, ok := concept.Lookup(p.Class)
	if !ok || d.Target == nil {
		panic("problem: the class " + p.Class + " has no target of a uniform law")
	}
	spec := named(p)
	spec.Matrix = rows
	t := d.Target(spec)
	if b, ok := t.(concept.Box); ok {
		return box{b}
	}
	return t
}

// evenly is the uniform law on the points whose numbers are 0..side-1.
type evenly struct {
	side   uint64
	dim    int
	target target
}

func newEvenly(p *schemas.Problem, rows string) *evenly {
	return &evenly{side: side(p), dim: width(p), target: targetOf(p, rows)}
}

func (l *evenly) begin(r *rand.Rand) { l.target.Begin(r) }

func (l *evenly) draw(r *rand.Rand, x, y []float64) {
	for i := range x {
		x[i] = float64(r.Uint64N(l.side))
	}
	l.labels(x, y)
}

// labels labels the points x.
func (l *evenly) labels(x, y []float64) {
	for i := range y {
		y[i] = l.target.Label(x[i*l.dim : (i+1)*l.dim])
	}
}

// all is every point, in lexicographic order, with its weight and no labels.
func (l *evenly) all() *points {
	s := &points{}
	at := make([]float64, l.dim)
	for {
		s.x = append(s.x, at...)
		j := l.dim - 1
		for ; j >= 0; j-- {
			if at[j]++; at[j] < float64(l.side) {
				break
			}
			at[j] = 0
		}
		if j < 0 {
			break
		}
	}
	n := len(s.x) / l.dim
	s.w = make([]float64, n)
	fill(s.w, 1/float64(n))
	return s
}
