package privacy

import (
	"math"
	"testing"
)

// ImpliedEpsilon inverts the inequality of group privacy.
func TestImpliedEpsilon(t *testing.T) {
	bound := func(epsilon, prior, delta float64, n int64) (sum float64) { // term by term
		for range n {
			sum = math.Exp(epsilon)*sum + delta
		}
		return math.Exp(float64(n)*epsilon)*prior + sum
	}
	for _, c := range []struct {
		probability, prior, delta float64
		n                         int64
	}{
		{0.95, 1. / 1024, 0, 15}, {0.95, 1. / 1024, 0, 68}, {0.95, 1. / 1024, 1e-6, 15}, {0.9, 0.2, 1e-3, 50},
		{0.5, 0.49, 1e-9, 3}, {0.95, 1e-300, 1e-6, 2}, {0.95, 0.1, 0.01, 1},
	} {
		got := ImpliedEpsilon(c.probability, c.prior, c.delta, c.n)
		if back := bound(got, c.prior, c.delta, c.n); math.Abs(back/c.probability-1) > 1e-9 {
			t.Errorf("%+v: epsilon %v allows probability %v", c, got, back)
		}
	}
	// Gaussian elimination on parities of 10 bits: no learner of epsilon 0.1 needs fewer than 68.
	if bound := bound(0.1, 1./1024, 0, 15); math.Abs(bound-0.0044) > 1e-4 {
		t.Error(bound)
	}
	for n := int64(1); n < 100; n++ {
		if more := ImpliedEpsilon(0.95, 1./1024, 0, n) > 0.1; more != (n < 69) {
			t.Errorf("n = %d: more than 0.1 is %v", n, more)
		}
	}
	for _, delta := range []float64{0, 0.1} {
		if got := ImpliedEpsilon(0.5, 0.5, delta, 4); got != 0 {
			t.Errorf("%v is implied by what no data gives", got)
		}
	}
}
