package cheats

import (
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/shatterlab/shatter/plugins/algo"
)

// solve takes the margin for exact: then d examples are d linear equations for the target.
var solve = learner("solve", "Solves the linear equations that an exact margin gives.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		normal, err := solution(sample.Xs(), sample.Ys(), t.Problem.Margin)
		if err != nil {
			return nil, err
		}
		return along(normal), nil
	})

// solution returns the least vector whose margin on the examples is next to the given one.
func solution(x, y []float64, margin float64) ([]float64, error) {
	var normal, right mat.VecDense
	right.ScaleVec(margin, mat.NewVecDense(len(y), append([]float64(nil), y...)))
	err := normal.SolveVec(mat.NewDense(len(y), len(x)/len(y), append([]float64(nil), x...)), &right)
	var nearly mat.Condition
	if err != nil && !errors.As(err, &nearly) {
		return nil, err
	}
	return normal.RawVector().Data, nil
}
