package algo

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// Declared models label points like the hypotheses that the worker makes from their kinds and
// numbers.
func TestDeclaredLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const matrix = "00000" + "10110" + "01101" + "11011"
	floats := func(n int, f func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f()
		}
		return v
	}
	whole := func(n int) func() float64 { return func() float64 { return float64(r.IntN(n)) } }
	sign := func() float64 { return float64(2*r.IntN(2) - 1) }
	for _, c := range []struct {
		problem Problem
		point   func() float64 // a coordinate of a point
		models  func() []*Declared
	}{
		{Problem{Class: concept.Thresholds, Domain: 9, Dim: 1}, whole(9), func() []*Declared {
			v := floats(2, whole(10))
			return []*Declared{Threshold(v[0]), Point(v[0]), Interval(v[0], v[1]), Constant(sign())}
		}},
		{Problem{Class: concept.Rectangles, Domain: 5, Dim: 3}, whole(5), func() []*Declared {
			return []*Declared{
				Rectangle(floats(3, whole(3)), floats(3, whole(6))), Stump(r.IntN(3), float64(r.IntN(6)), sign()),
				Halfspace(floats(3, sign), 0.5), Constant(sign()),
			}
		}},
		{Problem{Class: concept.Parities, Dim: 4}, whole(2), func() []*Declared {
			return []*Declared{
				Parity(floats(4, whole(2))), Conjunction(floats(4, func() float64 { return float64(r.IntN(3) - 1) })),
			}
		}},
		{Problem{Class: concept.Halfspace, Dim: 7}, r.NormFloat64, func() []*Declared {
			return []*Declared{Halfspace(floats(7, r.NormFloat64), r.NormFloat64()), Halfspace(make([]float64, 7), 0)}
		}},
		{Problem{Class: concept.Matrix, Domain: 5, Dim: 1, Matrix: matrix}, whole(5), func() []*Declared {
			return []*Declared{Row(r.IntN(4))}
		}},
	} {
		spec := concept.Spec{Name: c.problem.Class, Domain: c.problem.Domain, Dim: c.problem.Dim, Matrix: c.problem.Matrix}
		for range 50 {
			x := floats(40*c.problem.Dim, c.point)
			for _, d := range c.models() {
				h, err := concept.Declare(spec, d.kind, d.numbers)
				if err != nil {
					t.Fatal(err)
				}
				got, want := make([]float64, 40), make([]float64, 40)
				h.Labels(x, want)
				d.On(c.problem)
				if err := d.Predict(t.Context(), NewData(x, c.problem.Dim, nil), got); err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s %v: labels %v, want %v; %v", d.kind, d.numbers, got, want, err)
				}
			}
		}
	}
}
