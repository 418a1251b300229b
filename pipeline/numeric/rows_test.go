package numeric

import (
	"math/rand/v2"
	"testing"
)

// TestRowProducts compares sums bit for bit with those of Dot.
func TestRowProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, size := range []struct{ n, d int }{
		{1, 1}, {3, 2}, {4, 3}, {7, 1}, {300, 13},
	} {
		x := make([]float64, size.n*size.d)
		v := make([]float64, size.d)
		for _, s := range [][]float64{x, v} {
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
	}
}
