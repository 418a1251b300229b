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
}

func (s *uniformSampler) Begin(r *rand.Rand)     { s.target.Begin(r) }
func (s *uniformSampler) Target() concept.Target { return s.target }

func (s *uniformSampler) Draw(r *rand.Rand, x, y []float64) {
	for i := range x {
		x[i] = float64(r.Uint64N(s.side))
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
	}
	return Fresh
}

// DrawEvaluation implements Evaluator.
func (s *uniformSampler) DrawEvaluation(r *rand.Rand, from, m int, x, y []float64) {
	switch {
	case s.design == Strata:
		for i := range y {
			x[i] = s.inPart(r, from+i, m)
		}
	case s.design == Grid:
		k := gridSide(m)
		for i := range y {
			x[2*i] = s.inPart(r, (from+i)/k, k)
			x[2*i+1] = s.inPart(r, (from+i)%k, k)
		}
	case s.side == 2:
		drawBits(r, s.dim, x)
	default:
		s.Draw(r, x, y)
		return
	}
	s.target.Labels(x, y)
}

// inPart returns a number from part i of m: the quotient by m of a uniform number in [i X, (i+1) X).
// Those of all parts together are each quotient, 0..X-1, m times.
func (s *uniformSampler) inPart(r *rand.Rand, i, m int) float64 {
	return float64(quotient(uint64(i), s.side, r.Uint64N(s.side), uint64(m)))
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
