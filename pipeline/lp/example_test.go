package lp_test

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/lp"
)

// The largest 3x + 2y in the unit square where x + y is at most 1.5.
func ExampleSimplex() {
	var s lp.Simplex
	o, err := s.Maximize(&lp.Program{
		C: []float64{3, 2}, Low: []float64{0, 0}, High: []float64{1, 1},
		A: []float64{1, 1}, RowLow: []float64{math.Inf(-1)}, RowHigh: []float64{1.5},
	})
	fmt.Println(o.X, o.Value, o.Multipliers, err)
	// Output: [1 0.5] 4 [2] <nil>
}

// Each corner of the unit square is sqrt(1/2) away from the triangle of the other three.
func ExampleHullMargin() {
	m, err := lp.HullMargin([]float64{0, 0, 1, 0, 1, 1, 0, 1}, 2)
	fmt.Printf("%.6f %.6f %v\n", m.Lower, m.Upper, err)
	// Output: 0.707107 0.707107 <nil>
}
