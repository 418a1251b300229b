package problem

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// shape is what the points of a class are.
type shape int

const (
	unknownShape shape = iota
	scalar             // a whole number below domain
	grid               // d whole numbers below domain
	bits               // d numbers, 0 or 1
	index              // the number of a column of the class matrix
	vector             // d numbers, a point of the unit ball
	endless            // a point of an infinite order
)

func shapeOf(class string) shape {
	switch class {
	case thresholds, point, intervals:
		return scalar
	case stumps, rectangles:
		return grid
	case conjunctions, monotone, parities:
		return bits
	case matrix:
		return index
	case halfspace:
		return vector
	case concept.Naturals, concept.Dyadics:
		return endless
	}
	return unknownShape
}

// classes are all names of classes.
func classes() []string {
	return []string{thresholds, point, intervals, stumps, rectangles, conjunctions, monotone, parities, halfspace, matrix, concept.Naturals, concept.Dyadics}
}

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

// side is the number of values that each number of a point may have; 0 for vectors and infinite orders.
func side(p *schemas.Problem) uint64 {
	switch shapeOf(p.Class) {
	case bits:
		return 2
	case vector, endless:
		return 0
	}
	return p.Domain
}

// width is the number of numbers per point.
func width(p *schemas.Problem) int {
	switch shapeOf(p.Class) {
	case scalar, index, endless:
		return 1
	}
	return p.Dim
}

// cardinality is the number of points of a class on whole numbers; +Inf for vectors and infinite orders.
func cardinality(p *schemas.Problem) float64 {
	if side(p) == 0 {
		return math.Inf(1)
	}
	return math.Pow(float64(side(p)), float64(width(p)))
}

// target labels points.
type target interface {
	begin(r *rand.Rand) // a new trial: draws it anew where it is not fixed
	label(x []float64) float64
}

// targetOf is the target of a uniform law on whole numbers; rows are the class matrix.
func targetOf(p *schemas.Problem, rows string) target {
	x := p.Domain
	whole := box{low: make([]float64, width(p)), high: make([]float64, width(p))}
	for j := range whole.high {
		whole.high[j] = float64(side(p) - 1)
	}
	switch p.Class {
	case thresholds, stumps: // the first number is at least X/2
		whole.low[0] = float64(x / 2)
	case point:
		whole.low[0], whole.high[0] = float64(x/2), float64(x/2)
	case intervals, rectangles: // the middle half of each number
		for j := range whole.low {
			whole.low[j], whole.high[j] = float64(x/4), float64(3*x/4-1)
		}
	case monotone: // the first two bits are 1
		for j := range min(2, p.Dim) {
			whole.low[j] = 1
		}
	case conjunctions: // the first bit is 1, the second 0
		whole.low[0] = 1
		if p.Dim > 1 {
			whole.high[1] = 0
		}
	case parities:
		return &parity{bits: make([]float64, p.Dim)}
	case matrix:
		return &row{matrix: rows, width: int(x)}
	}
	return whole
}

// box labels the points with low <= x <= high in every number +1.
type box struct{ low, high []float64 }

func (b box) begin(*rand.Rand) {}

func (b box) label(x []float64) float64 {
	for j, v := range x {
		if v < b.low[j] || v > b.high[j] {
			return -1
		}
	}
	return 1
}

// parity labels the points that have an odd number of ones among some bits +1: uniform among all choices of these, in each trial.
type parity struct{ bits []float64 }

func (p *parity) begin(r *rand.Rand) {
	for j := range p.bits {
		p.bits[j] = float64(r.Uint64() >> 63)
	}
}

func (p *parity) label(x []float64) float64 {
	ones := 0.0
	for j, v := range x {
		ones += float64(v * p.bits[j])
	}
	return 2*math.Mod(ones, 2) - 1
}

// row labels like one row of the class matrix: uniform among them, in each trial.
type row struct {
	matrix string
	width  int
	labels string
}

func (t *row) begin(r *rand.Rand) {
	i := r.IntN(len(t.matrix) / t.width)
	t.labels = t.matrix[i*t.width : (i+1)*t.width]
}

func (t *row) label(x []float64) float64 {
	if t.labels[int(x[0])] == '1' {
		return 1
	}
	return -1
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

func (l *evenly) begin(r *rand.Rand) { l.target.begin(r) }

func (l *evenly) draw(r *rand.Rand, x, y []float64) {
	for i := range x {
		x[i] = float64(r.Uint64N(l.side))
	}
	l.labels(x, y)
}

// labels labels the points x.
func (l *evenly) labels(x, y []float64) {
	for i := range y {
		y[i] = l.target.label(x[i*l.dim : (i+1)*l.dim])
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
