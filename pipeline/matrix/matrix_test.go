package matrix

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Sums equal the sums of plain loops, up to rounding.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, size := range []struct{ n, d int }{{0, 2}, {1, 1}, {3, 2}, {4, 3}, {7, 1}, {300, 13}} {
		x := make([]float64, size.n*size.d)
		v, w := make([]float64, size.d), make([]float64, size.n)
		for _, s := range [][]float64{x, v, w} {
			for i := range s {
				s[i] = r.NormFloat64()
			}
		}
		products, sum := make([]float64, size.n), make([]float64, size.d)
		wantProducts, wantSum := make([]float64, size.n), make([]float64, size.d)
		for i := range size.n {
			for j := range size.d {
				wantProducts[i] += x[i*size.d+j] * v[j]
				wantSum[j] += x[i*size.d+j] * w[i]
			}
		}
		MultiplyRows(products, x, v)
		AddRows(sum, x, w)
		for i, got := range products {
			if math.Abs(got-wantProducts[i]) > 1e-12 {
				t.Fatalf("n %d, d %d: product %d = %v, want %v", size.n, size.d, i, got, wantProducts[i])
			}
		}
		for j, got := range sum {
			if math.Abs(got-wantSum[j]) > 1e-12 {
				t.Fatalf("n %d, d %d: sum %d = %v, want %v", size.n, size.d, j, got, wantSum[j])
			}
		}
	}
}
