package distribution

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var uniform = Distribution{
	Name: "uniform",
	Doc:  "every point of the domain, or column of the class matrix, is equally likely; the problem's target labels it",
	Fits: func(class string) bool {
		d, ok := concept.Lookup(class)
		return ok && d.Shape != concept.Ball && d.Shape != concept.InfiniteOrder
	},
	Uniform: true,
	Formula: func(*schemas.Problem) bool { return true },
	Size:    func(p *schemas.Problem) float64 { return concept.Cardinality(ClassOf(p)) },
	open: func(p *schemas.Problem, class concept.Spec) Opened {
		target := targets(p, class)
		o := Opened{Sampler: func() Sampler {
			return &uniformSampler{class: class, side: concept.Side(class), dim: concept.Width(class), target: target()}
		}}
		if concept.Cardinality(class) <= MaxSupport {
			o.Support = lattice(concept.Side(class), concept.Width(class))
		}
		return o
	},
}

// uniformSampler draws points with coordinates 0..side-1.
type uniformSampler struct {
	class  concept.Spec
	side   uint64
	dim    int
	target concept.Target
}

func (s *uniformSampler) Begin(r *rand.Rand)     { s.target.Begin(r) }
func (s *uniformSampler) Target() concept.Target { return s.target }

func (s *uniformSampler) Draw(r *rand.Rand, x, y []float64) {
	for i := range x {
		x[i] = float64(int64(below(r, s.side)))
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
