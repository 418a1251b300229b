package numeric

import (
	"math/rand/v2"
	"testing"
)

// TestRows compares sums bit for bit with plain loops.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, size := range []struct{ n, d int }{
		{1, 1}, {3, 2}, {4, 3}, {7, 1}, {300, 13},
	} {
		x := make([]float64, size.n*size.d)
		v, w := make([]float64, size.d), make([]float64, size.n)
		for _, s := range [][]float64{x, v, w} {
			for i := range s {
				s[i] = r.NormFloat64()
			}
		}
		products := make([]float64, size.n)
		RowProducts(products, x, v)
		for i, got := range products {
			if want := Dot(x[i*size.d:(i+1)*size.d], v); got != want {
				t.Fatalf("n %d, d %d: RowProducts[%d] = %v, want %v", size.n, size.d, i, got, want)
			}
		}
		sum := make([]float64, size.d)
		AddRows(sum, x, w)
		for j, got := range sum {
			if want := column(x, w, size.d, j); got != want {
				t.Fatalf("n %d, d %d: AddRows[%d] = %v, want %v", size.n, size.d, j, got, want)
			}
		}
	}
}

// column returns coordinate j of what AddRows adds: whole groups of four rows, then the others.
func column(x, w []float64, d, j int) float64 {
	at := func(i int) float64 { return float64(x[i*d+j] * w[i]) }
	sum, i := 0.0, 0
	for ; i+4 <= len(w); i += 4 {
		sum += (at(i) + at(i+1)) + (at(i+2) + at(i+3))
	}
	for ; i < len(w); i++ {
		sum += at(i)
	}
	return sum
}
