package halfspace

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/matrix"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// A table holds n vectors of one dimension, row by row. Zero vectors complete the last group of
// four, because BLAS processes four rows at a time.
type table struct {
	n, dim int
	x      []float64
}

func newTable(n, dim int) *table {
	return &table{n: n, dim: dim, x: make([]float64, (n+3)/4*4*dim)}
}

// row returns vector i.
func (t *table) row(i int) []float64 { return t.x[i*t.dim:][:t.dim] }

// newExamples returns the table of y_i x_i, projected if phi is not nil. It returns an error if an
// example is outside the unit ball, because the sensitivity of a gradient, and with it the noise,
// would have another scale. It allows 1e-9 for rounding in the data; the sensitivity, and mu with
// it, may exceed its stated value by as much.
func newExamples(ctx context.Context, sample *algo.Data, phi *projection) (*table, error) {
	const largest = (1 + 1e-9) * (1 + 1e-9)
	dim := sample.Dim()
	var image []float64
	if phi != nil {
		dim = phi.rows.n
		image = make([]float64, dim)
	}
	t := newTable(sample.Len(), dim)
	for i := range t.n {
		x := sample.X(i)
		if square := squaredNorm(x); !(square <= largest) {
			return nil, fmt.Errorf("check the sample: row %d has norm %g: "+
				"privacy requires at most 1 (scale the data by a public bound)", i, math.Sqrt(square))
		}
		if phi != nil { // this takes long in many dimensions
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			phi.apply(image, x)
			x = image
		}
		for j, v := range x {
			t.row(i)[j] = sample.Y(i) * v
		}
	}
	return t, nil
}

// A projection is a public linear map to fewer dimensions: k rows of independent normals of
// variance 1/k, which preserves lengths and inner products on average (Johnson and Lindenstrauss
// 1984). A nil projection leaves vectors unchanged.
type projection struct{ rows *table }

// newProjection draws a projection from d to k dimensions. It returns nil for k = 0.
func newProjection(r *rand.Rand, d, k int) *projection {
	if k == 0 {
		return nil
	}
	t := newTable(k, d)
	for i := range k * d {
		t.x[i] = r.NormFloat64() / math.Sqrt(float64(k))
	}
	return &projection{t}
}

// projected draws a projection of the sample to k dimensions, and returns it with the result of
// newExamples for the sample.
func projected(ctx context.Context, r *rand.Rand, sample *algo.Data, k int) (*projection, *table, error) {
	phi := newProjection(r, sample.Dim(), k)
	examples, err := newExamples(ctx, sample, phi)
	return phi, examples, err
}

// apply writes the image of x, clipped to the unit ball, into image.
func (p *projection) apply(image, x []float64) {
	matrix.MultiplyRows(image, p.rows.x, x)
	clip(image)
}

// lift returns the vector whose inner product with every x equals that of w with the image of x
// before clipping. Without a projection it is w.
func (p *projection) lift(w []float64) []float64 {
	if p == nil {
		return w
	}
	v := make([]float64, p.rows.dim)
	for i, x := range w {
		for j, t := range p.rows.row(i) {
			v[j] += float64(x * t)
		}
	}
	return v
}

// clip scales v back onto the unit ball if it is outside.
func clip(v []float64) {
	if square := squaredNorm(v); square > 1 {
		scale(v, 1/math.Sqrt(square))
	}
}

func scale(v []float64, factor float64) {
	for i := range v {
		v[i] *= factor
	}
}

func squaredNorm(v []float64) float64 { return numeric.Dot(v, v) }
