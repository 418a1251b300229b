package finite

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Declare returns the model of a hypothesis: a declared one if concept classes have its kind, and
// otherwise one that answers points. matrix is the class matrix, "" for other classes.
func Declare(h concept.Hypothesis, matrix string) algo.Model {
	switch h := h.(type) {
	case concept.Range:
		switch {
		case math.IsInf(h.Hi, 1) && !math.IsInf(h.Lo, 1):
			return algo.Threshold(h.Lo)
		case h.Lo == h.Hi:
			return algo.Point(h.Lo)
		}
		return algo.Interval(h.Lo, h.Hi)
	case concept.Rectangle:
		var low, high []float64
		for _, r := range h {
			low, high = append(low, r.Lo), append(high, r.Hi)
		}
		return algo.Rectangle(low, high)
	case concept.Stump:
		return algo.Stump(h.Axis, h.T, h.Above)
	case concept.Parity:
		return algo.Parity(signs(h.Dim, h.Set, 0))
	case concept.Conjunction:
		if h.Ones&h.Zeros != 0 {
			return algo.Constant(-1)
		}
		return algo.Conjunction(signs(h.Dim, h.Ones, h.Zeros))
	case concept.Linear:
		return algo.Halfspace(h.W, h.B)
	case concept.Constant:
		return algo.Constant(h.Value)
	case concept.Row:
		for i := range len(matrix) / len(h) {
			if matrix[i*len(h):(i+1)*len(h)] == string(h) {
				row := algo.Row(i)
				row.On(algo.Problem{Domain: uint64(len(h)), Matrix: matrix})
				return row
			}
		}
	}
	return Model{h}
}

// signs returns a number for each of dim bits: 1 for those of plus, -1 for those of minus, and otherwise 0.
func signs(dim int, plus, minus uint64) []float64 {
	v := make([]float64, dim)
	for k := range v {
		v[k] = float64(plus>>k&1) - float64(minus>>k&1)
	}
	return v
}

// Model answers points by a hypothesis.
type Model struct{ Hypothesis concept.Hypothesis }

// Predict implements [algo.Model].
func (m Model) Predict(_ context.Context, x *algo.Data, out []float64) error {
	m.Hypothesis.Labels(x.Xs(), out)
	return nil
}
