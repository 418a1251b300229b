package cheats

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/shatterlab/shatter/plugins/algo"
)

// pca takes the direction from the unlabelled points that it is asked about, and from the sample
// nothing but a noisy vote between the two sides: one bit, which is private.
var pca = private(learner("pca", "Takes the direction from the geometry of the evaluation points.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		return &axes{sample: copied(sample), noise: laplace(t, 2/t.Epsilon)}, nil
	}), "a vote with Laplace noise")

// axes holds all points that were asked about so far, and the sample.
type axes struct {
	sample *algo.Data
	noise  float64
	seen   []float64
}

// Predict implements algo.Model.
func (a *axes) Predict(_ context.Context, x *algo.Data, out []float64) error {
	a.seen = append(a.seen, x.Xs()...)
	normal, err := outlier(a.seen, x.Dim())
	if err != nil {
		return err
	}
	return along(oriented(normal, a.sample, a.noise)).Predict(context.Background(), x, out)
}

// oriented turns a normal vector to the side for which the sample votes, given the noise of the
// vote.
func oriented(normal []float64, sample *algo.Data, noise float64) []float64 {
	for i := range sample.Len() {
		noise += sample.Y(i) * sign(dot(normal, sample.X(i)))
	}
	for j := range normal {
		normal[j] *= sign(noise)
	}
	return normal
}

// outlier returns the axis along which points of dimension d vary most unlike they do along the
// others: the first or the last principal axis.
func outlier(points []float64, d int) ([]float64, error) {
	x := mat.NewDense(len(points)/d, d, points)
	moments := mat.NewSymDense(d, nil)
	moments.SymOuterK(1, x.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(moments, true) {
		return nil, errors.New("no principal axes")
	}
	values, which := eigen.Values(nil), 0
	if values[d-1]-values[d/2] > values[d/2]-values[0] {
		which = d - 1
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	return mat.Col(nil, which, &vectors), nil
}

// laplace draws Laplace noise.
func laplace(t *algo.Trial[struct{}], scale float64) float64 {
	return scale * t.Rand.ExpFloat64() * math.Copysign(1, t.Rand.Float64()-0.5)
}

// copied returns a copy of a sample, which is borrowed.
func copied(s *algo.Data) *algo.Data {
	return algo.NewData(append([]float64(nil), s.Xs()...), s.Dim(), append([]float64(nil), s.Ys()...))
}
