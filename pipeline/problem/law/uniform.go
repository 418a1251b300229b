package law

import (
	"math/bits"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var uniform = Law{
	Name: "uniform",
	Doc:  "every point of the domain, or column of the class matrix, is equally likely; the problem's target labels it",
	Fits: func(class string) bool {
		d, ok := concept.Lookup(class)
		return ok && d.Shape != concept.Ball && d.Shape != concept.InfiniteOrder
	},
	Uniform: true,
	design:  latticeDesign,
	Size:    func(p *schemas.Problem) float64 { return concept.Cardinality(classOf(p)) },
	open: func(p *schemas.Problem, class concept.Spec) Opened {
		target := targets(p, class)
		o := Opened{Sampler: func() Sampler {
			return &uniformSampler{side: concept.Side(class), dim: concept.Width(class), target: target(),
				design: latticeDesign(p)}
		}}
		if concept.Cardinality(class) <= MaxSupport {
			o.Support = lattice(concept.Side(class), concept.Width(class))
		}
		return o
	},
}

// uniformSampler draws points with coordinates 0..side-1.
type uniformSampler struct {
	side   uint64
	dim    int
	target concept.Target
	design Design
	array  array
}

func (s *uniformSampler) Begin(r *rand.Rand)     { s.target.Begin(r) }
func (s *uniformSampler) Target() concept.Target { return s.target }

func (s *uniformSampler) Draw(r *rand.Rand, x, y []float64) {
	for i := range x {
		x[i] = float64(int64(below(r, s.side)))
	}
	s.target.Labels(x, y)
}

// latticeDesign returns the design for points of whole numbers. On an order whose hypotheses change
// their label as often as they like nothing is gained by strata.
func latticeDesign(p *schemas.Problem) Design {
	d, _ := concept.Lookup(p.Class)
	switch {
	case d.Changes == 0:
		return Fresh
	case classOf(p).Dim == 1:
		return Strata
	case classOf(p).Dim == 2:
		return Grid
	case d.Axes == 1 && classOf(p).Dim <= maxArrayDim:
		return Array
	}
	return Fresh
}

// DrawEvaluation implements Evaluator.
func (s *uniformSampler) DrawEvaluation(r *rand.Rand, from, m int, x, y []float64) {
	switch {
	case s.design == Strata:
		parts := newParts(s.side, m)
		for i := range y {
			x[i] = parts.draw(r, from+i)
		}
	case s.design == Grid:
		k := gridSide(m)
		parts := newParts(s.side, k)
		row, column := from/k, from%k
		for i := range y {
			x[2*i], x[2*i+1] = parts.draw(r, row), parts.draw(r, column)
			if column++; column == k {
				row, column = row+1, 0
			}
		}
	case s.design == Array:
		if from == 0 {
			s.array.begin(r, s.side, s.dim, m)
		}
		s.array.draw(r, x)
	case s.side == 2:
		drawBits(r, s.dim, x)
	default:
		s.Draw(r, x, y)
		return
	}
	s.target.Labels(x, y)
}

// below returns r.Uint64N(n), inlined for powers of two.
func below(r *rand.Rand, n uint64) uint64 {
	if n&(n-1) == 0 {
		return r.Uint64() & (n - 1)
	}
	return r.Uint64N(n)
}

// parts cuts the numbers 0..side-1 into m parts of equal mass.
type parts struct {
	side, m uint64
	small   bool // all numbers of its divisions are below 2^52
}

func newParts(side uint64, m int) parts {
	high, low := bits.Mul64(side, uint64(m))
	return parts{side, uint64(m), high == 0 && low < 1<<52}
}

// draw returns a number from part i.
func (p *parts) draw(r *rand.Rand, i int) float64 { return p.number(i, below(r, p.side)) }

// number returns the number of part i that belongs to u, a uniform number below X: the quotient by m
// of i X + u. Those of all parts and all u together are each number, 0..X-1, m times.
func (p *parts) number(i int, u uint64) float64 {
	if p.small {
		// Rounding cannot reach the next whole number, which is 1/m away or more: half a unit in the
		// last place of the quotient is less.
		return float64(int64(float64(int64(uint64(i)*p.side+u)) / float64(int64(p.m))))
	}
	return float64(int64(quotient(uint64(i), p.side, u, p.m)))
}

// quotient returns the quotient of i x + u by m, where i < m and u < x.
func quotient(i, x, u, m uint64) uint64 {
	high, low := bits.Mul64(i, x)
	low, carry := bits.Add64(low, u, 0)
	q, _ := bits.Div64(high+carry, low, m)
	return q
}

// drawBits fills x with points of dim independent bits, of which one number of r gives up to 64.
func drawBits(r *rand.Rand, dim int, x []float64) {
	for ; len(x) > 0; x = x[dim:] {
		word := uint64(0)
		for j := range x[:dim] {
			if j%64 == 0 {
				word = r.Uint64()
			}
			x[j] = float64(word & 1)
			word >>= 1
		}
	}
}

// lattice returns all points of dim coordinates 0..side-1, in lexicographic order, with equal
// weights and without labels.
func lattice(side uint64, dim int) *Points {
	all := &Points{}
	x := make([]float64, dim)
	for {
		all.X = append(all.X, x...)
		j := dim - 1
		for ; j >= 0; j-- {
			if x[j]++; x[j] < float64(side) {
				break
			}
			x[j] = 0
		}
		if j < 0 {
			break
		}
	}
	n := len(all.X) / dim
	all.W = make([]float64, n)
	for i := range all.W {
		all.W[i] = 1 / float64(n)
	}
	return all
}
