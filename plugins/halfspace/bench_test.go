package halfspace

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
)

var benchSizes = []struct{ points, n, k int }{{4096, 1000, 10}, {4096, 1000, 3}, {4096, 1000, 100}}

// BenchmarkScores measures the counts for all points of a net, in floating-point operations per
// second, beside as many in inner products of four vectors of 16 KB in all. BenchmarkDot takes one
// inner product after the other, each a single sum: the difference is what blocking is worth.
func BenchmarkScores(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("M=%d/n=%d/k=%d", size.points, size.n, size.k), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			t := tableOf(b, benchSample(size.n, size.k))
			net, counts := randomNet(r, size.points, size.k), make([]int32, size.points)
			b.ReportAllocs()
			flops := 2 * size.points * size.n * size.k
			testkit.Beside(b, func() {
				if err := t.countBelow(b.Context(), counts, net, 0.1); err != nil {
					b.Fatal(err)
				}
			}, func() { sink += plainProducts(flops) })
			reportFlops(b, flops)
		})
	}
}

func BenchmarkDot(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("M=%d/n=%d/k=%d", size.points, size.n, size.k), func(b *testing.B) {
			sample := benchSample(size.n, size.k)
			net, counts := randomNet(rand.New(rand.NewPCG(1, 2)), size.points, size.k), make([]int32, size.points)
			for b.Loop() {
				plainCounts(counts, net, sample, 0.1)
			}
			reportFlops(b, 2*size.points*size.n*size.k)
		})
	}
}

// plainCounts writes what countBelow must give, one inner product after the other.
func plainCounts(counts []int32, net []float64, sample *algo.Data, limit float64) {
	d := sample.Dim()
	for m := range counts {
		counts[m] = 0
		for i := range sample.Len() {
			if sample.Y(i)*plainDot(net[m*d:(m+1)*d], sample.X(i)) < limit {
				counts[m]++
			}
		}
	}
}

func plainDot(a, b []float64) float64 {
	sum := 0.0
	for j, x := range a {
		sum += float64(x * b[j])
	}
	return sum
}

// plainProducts does so many floating-point operations, two for each number of an inner product.
func plainProducts(flops int) float64 {
	rows, w, sum := make([][4]float64, 512), make([]float64, 512), 0.0
	for ; flops > 0; flops -= 8 * len(rows) {
		a, b, c, d := four(rows, w)
		sum += a + b + c + d
	}
	return sum
}

func reportFlops(b *testing.B, each int) {
	b.ReportMetric(float64(each)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gflop/s")
}

var gradientSizes = []struct{ n, d int }{{1400, 10}, {1 << 16, 50}, {1 << 18, 50}}

// BenchmarkGradient measures one gradient at 0, where every example counts, beside a sum of the same
// numbers, which BenchmarkRead measures alone: a gradient cannot be faster than reading them once.
func BenchmarkGradient(b *testing.B) {
	for _, size := range gradientSizes {
		b.Run(fmt.Sprintf("n=%d/d=%d", size.n, size.d), func(b *testing.B) {
			t := tableOf(b, benchSample(size.n, size.d))
			w, gradient := make([]float64, size.d), make([]float64, size.d)
			b.SetBytes(int64(8 * size.n * size.d))
			b.ReportAllocs()
			testkit.Beside(b, func() { t.hingeGradient(gradient, w, 0.1) }, func() { sink += sumOf(t.fours) })
			reportFlops(b, 4*size.n*size.d)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range gradientSizes {
		b.Run(fmt.Sprintf("n=%d/d=%d", size.n, size.d), func(b *testing.B) {
			t := tableOf(b, benchSample(size.n, size.d))
			b.SetBytes(int64(8 * size.n * size.d))
			for b.Loop() {
				sink += sumOf(t.fours)
			}
		})
	}
}

func sumOf(x [][4]float64) float64 {
	var a, b, c, d, e, f, g, h float64
	for ; len(x) >= 2; x = x[2:] {
		p, q := &x[0], &x[1]
		a += p[0]
		b += p[1]
		c += p[2]
		d += p[3]
		e += q[0]
		f += q[1]
		g += q[2]
		h += q[3]
	}
	return a + b + c + d + e + f + g + h
}

var sink float64

// BenchmarkTrial measures a whole trial with the default parameters.
func BenchmarkTrial(b *testing.B) {
	sample := benchSample(1400, 10)
	b.Run("exponential", func(b *testing.B) {
		t := trialOf(exponentialSetting(10, ExponentialParams{Net: Auto}), 1)
		for b.Loop() {
			if _, err := learnExponential(b.Context(), t, sample); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("noisy-gradient", func(b *testing.B) {
		t := trialOf(gradientSetting(10, GradientParams{Steps: 400, Rate: 0.01}), 1)
		for b.Loop() {
			if _, err := learnGradient(b.Context(), t, sample); err != nil {
				b.Fatal(err)
			}
		}
	})
}
