package halfspace

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/plugins/algo"
)

// table holds n vectors of one dimension, four beside each other: fours[g*dim+j][i] is coordinate j
// of vector 4g+i. Zero vectors fill up the last four.
type table struct {
	n, dim int
	fours  [][4]float64
}

func newTable(n, dim int) *table {
	return &table{n: n, dim: dim, fours: make([][4]float64, (n+3)/4*dim)}
}

// coordinate returns the address of coordinate j of vector i.
func (t *table) coordinate(i, j int) *float64 { return &t.fours[i/4*t.dim+j][i%4] }

// set writes factor times v into vector i.
func (t *table) set(i int, factor float64, v []float64) {
	for j, x := range v {
		*t.coordinate(i, j) = factor * x
	}
}

// newExamples returns the table of y_i x_i, projected where phi is not nil. It reports an error if
// an example lies outside the unit ball, because the sensitivity of a gradient, and with it the
// noise, would have another scale. It allows 1e-9 for rounding in the data: by that much the
// sensitivity, and mu with it, may exceed what is promised.
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
				"privacy needs at most 1 (scale the data by a public bound)", i, math.Sqrt(square))
		}
		if phi != nil { // which takes long in many dimensions
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			phi.apply(image, x)
			x = image
		}
		t.set(i, sample.Y(i), x)
	}
	return t, nil
}

// projection is a public linear map to fewer dimensions: k rows of independent normals of variance
// 1/k, so that lengths and inner products are kept on average (Johnson and Lindenstrauss 1984). A
// nil projection leaves vectors as they are.
type projection struct{ rows *table }

// newProjection draws a projection from d to k dimensions. It returns nil for k = 0.
func newProjection(r *rand.Rand, d, k int) *projection {
	if k == 0 {
		return nil
	}
	t := newTable(k, d)
	for i := range k {
		for j := range d {
			*t.coordinate(i, j) = r.NormFloat64() / math.Sqrt(float64(k))
		}
	}
	return &projection{t}
}

// projected draws a projection of the sample to k dimensions, and returns it with the table that
// newExamples makes of the sample.
func projected(ctx context.Context, r *rand.Rand, sample *algo.Data, k int) (*projection, *table, error) {
	phi := newProjection(r, sample.Dim(), k)
	examples, err := newExamples(ctx, sample, phi)
	return phi, examples, err
}

// apply writes the image of x, clipped to the unit ball, into image.
func (p *projection) apply(image, x []float64) {
	p.rows.products(image, x)
	clip(image)
}

// lift returns the vector whose inner product with every x is that of w with the image of x before
// clipping. Without a projection it is w.
func (p *projection) lift(w []float64) []float64 {
	if p == nil {
		return w
	}
	v := make([]float64, p.rows.dim)
	for i, x := range w {
		for j := range v {
			v[j] += float64(x * *p.rows.coordinate(i, j))
		}
	}
	return v
}

// clip scales v back onto the unit ball where it lies outside.
func clip(v []float64) {
	if square := squaredNorm(v); square > 1 {
		scale(v, 1/math.Sqrt(square))
	}
}

// scale multiplies v by factor.
func scale(v []float64, factor float64) {
	for i := range v {
		v[i] *= factor
	}
}

// squaredNorm returns the squared Euclidean norm of v, summed in order and without fused additions.
func squaredNorm(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x * x)
	}
	return sum
}
