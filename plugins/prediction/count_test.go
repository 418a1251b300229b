package prediction

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Four hypotheses at a time are counted as one is: on the boundary too, with zeros of either sign,
// and where a product is no number.
func TestCount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 0x1p-1074, -0x1p-1074, math.Inf(1), math.NaN()}
	for k := range 71 {
		for d := 1; d < 10; d++ {
			g := &halfspaces{blocks: make([][]float64, k), along: make([]float64, k)}
			g.v, g.u = make([]float64, k*d), make([]float64, d)
			few := r.IntN(2) == 0
			for _, list := range [][]float64{g.u, g.v} {
				for i := range list {
					list[i] = r.NormFloat64()
					if few {
						list[i] = values[r.IntN(len(values))]
					}
				}
			}
			want := 0
			for i := range k {
				if innerProduct(g.hypothesis(i), g.u) >= 0 {
					want++
				}
			}
			if got := g.count(); got != want {
				t.Errorf("%d hypotheses of %d numbers: %d votes, want %d", k, d, got, want)
			}
		}
	}
}

// BenchmarkCount measures the products of hypotheses with a vector: 2 k D operations.
func BenchmarkCount(b *testing.B) {
	for _, c := range []struct{ k, d int }{{300, 2}, {300, 8}, {2379, 6}} {
		b.Run(fmt.Sprintf("k=%d/d=%d", c.k, c.d), func(b *testing.B) {
			trial := newHalfspaceTrial(c.d, c.k, 20, 0, 1)
			g := newHalfspaces(b, trial.blocks, c.d, false)
			g.lift(trial.point())
			b.ReportAllocs()
			for b.Loop() {
				g.count()
			}
			b.ReportMetric(float64(2*c.k*c.d)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "flops/ns")
		})
	}
}
