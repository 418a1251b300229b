package prediction

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// A generator holds the k hypotheses of one trial and shrinks them: G_oblivious (Algorithm 3) or
// G_halfspace (Algorithm 4).
type generator interface {
	// votes returns how many of the k hypotheses label x +1. It does not change the generator.
	votes(x []float64) int
	// hard recomputes the hypotheses after the hard query x received its random label.
	hard(x []float64, label float64) error
	// public returns the answer, -1 or +1, to x once the budget is spent. It depends only on public
	// data: hard queries and released labels.
	public(x []float64) float64
	// released receives the answer to an ordinary query, which public may use.
	released(x []float64, label float64)
	// inexact returns the number of hypotheses computed so far that may differ from the exact ones.
	inexact() int
}

// defaults holds methods for generators whose hypotheses are exact, and whose public answers do not
// use the answers to ordinary queries.
type defaults struct{}

func (defaults) released([]float64, float64) {}
func (defaults) inexact() int                { return 0 }

// A block holds the points, row-major, and the labels of m examples.
type block struct{ x, y []float64 }

// static is a generator that does not shrink: it keeps the result of plain empirical risk
// minimization on every block. It does not learn from the queries, so all of its public answers are
// equal.
type static struct{ generator }

func (static) hard([]float64, float64) error { return nil }

func (static) public([]float64) float64 { return -1 }

func (static) released([]float64, float64) {}

// newGenerator makes the generator of the problem's class over the given blocks. affine matters
// only for classes that can have an offset.
func newGenerator(p algo.Problem, affine bool, blocks []block) (generator, error) {
	f := familyOf(p.Class)
	if f.generator == nil {
		return nil, algo.Invalid("prediction: no empirical risk minimizer for class %q: use one of %s",
			p.Class, strings.Join(allClasses(), ", "))
	}
	if side := concept.Side(finite.SpecOf(p)); side > 0 {
		for _, b := range blocks {
			if err := checkPoints(side, p.Dim, b.x); err != nil {
				return nil, err
			}
		}
	}
	return f.generator(p, affine, blocks)
}

// checkPoints returns an error if a coordinate of the points x (row-major) is not an integer in
// 0..domain-1. The generators require that.
func checkPoints(domain uint64, dim int, x []float64) error {
	for i, v := range x {
		if !(v >= 0 && v < float64(domain)) || v != math.Floor(v) {
			return fmt.Errorf("coordinate %v of point %d: want a whole number from 0 to %d", v, i/dim, domain-1)
		}
	}
	return nil
}

// partition deals the sample to k blocks of n/k examples by a random permutation. It drops the
// remaining n mod k examples.
func partition(sample *algo.Data, k int, r *rand.Rand) ([]block, error) {
	n := sample.Len()
	if err := enough(n, k); err != nil {
		return nil, err
	}
	m, dim := n/k, sample.Dim()
	order := r.Perm(n)
	x, y := make([]float64, 0, k*m*dim), make([]float64, 0, k*m)
	blocks := make([]block, k)
	for i := range blocks {
		for _, j := range order[i*m : (i+1)*m] {
			x, y = append(x, sample.X(j)...), append(y, sample.Y(j))
		}
		blocks[i] = block{x[i*m*dim:], y[i*m:]}
	}
	return blocks, nil
}

func labelOf(positive bool) float64 {
	if positive {
		return 1
	}
	return -1
}

// enough returns an Infeasible error if n examples do not fill k blocks.
func enough(n, k int) error {
	if n < k {
		return algo.Infeasible("n = %d examples do not fill k = %d blocks: raise n, or lower k as far as privacy allows",
			n, k)
	}
	return nil
}
