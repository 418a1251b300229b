// Package matrix multiplies the rows of a row-major table with vectors by BLAS.
package matrix

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// MultiplyRows writes the inner products with v of the first len(out) rows of x, each of len(v) numbers.
// It is two to three times as fast as [numeric.RowProducts], and the order of its sums depends on the
// number of rows: use it where that is fixed, as in learning from a sample.
func MultiplyRows(out, x, v []float64) {
	if len(out) > 0 {
		blas64.Gemv(blas.NoTrans, 1, rowsOf(x, len(out), len(v)), vector(v), 0, vector(out))
	}
}

// AddRows adds to sum the first len(w) rows of x, each of len(sum) numbers and weighted by w, in BLAS's order.
func AddRows(sum, x, w []float64) {
	if len(w) > 0 {
		blas64.Gemv(blas.Trans, 1, rowsOf(x, len(w), len(sum)), vector(w), 1, vector(sum))
	}
}

func rowsOf(x []float64, n, d int) blas64.General {
	return blas64.General{Rows: n, Cols: d, Stride: d, Data: x}
}

func vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }
