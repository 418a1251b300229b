package boosting

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// withoutAVX2 runs f as on a processor that lacks AVX2.
func withoutAVX2(f func()) {
	defer func(had bool) { hasAVX2 = had }(hasAVX2)
	hasAVX2 = false
	f()
}

// TestGoldenWithoutAVX2 runs trials with the Go code alone.
func TestGoldenWithoutAVX2(t *testing.T) {
	withoutAVX2(func() {
		t.Run("trials", TestGoldenTrials)
		t.Run("metrics", TestGoldenMetrics)
	})
}

// sources draw numbers to test with.
var sources = map[string]func(r *rand.Rand) float64{
	"normal":   (*rand.Rand).NormFloat64,
	"denormal": func(r *rand.Rand) float64 { return r.NormFloat64() * 0x1p-1060 },
	"huge":     func(r *rand.Rand) float64 { return r.NormFloat64() * 0x1p1022 },
	"any":      func(r *rand.Rand) float64 { return math.Float64frombits(r.Uint64()) },
	"special": func(r *rand.Rand) float64 {
		borders := []float64{0, 1e-310, 1, 708, math.Nextafter(708, 709), 709, math.Nextafter(709, 710),
			math.MaxFloat64, math.Inf(1), math.NaN()}
		return math.Copysign(borders[r.IntN(len(borders))], r.NormFloat64())
	},
	"exponent": func(r *rand.Rand) float64 { return 1600*r.Float64() - 800 },
}

// TestAVX2HasTheBitsOfGo compares what the kernels write with and without AVX2. A NaN may be any.
func TestAVX2HasTheBitsOfGo(t *testing.T) {
	if !hasAVX2 {
		t.Skip("this processor has no AVX2")
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			for n := range 71 {
				for _, d := range []int{n % 9, 70 - n} {
					checkTwins(t, n, d, func() float64 { return source(r) })
				}
			}
			for _, n := range []int{blockRows - 1, blockRows, 4*blockRows - 1, 4 * blockRows, 9*blockRows + 5} {
				checkTwins(t, n, 3, func() float64 { return source(r) })
			}
		})
	}
}

// checkTwins runs all kernels on n rows of d numbers, with and without AVX2.
func checkTwins(t *testing.T, n, d int, source func() float64) {
	t.Helper()
	draw := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = source()
		}
		return v
	}
	x, v, s, y, few := draw(n*d), draw(d), draw(n), draw(n), draw(2)
	u := draw(n)
	for i, v := range u { // weights
		if u[i] = math.Abs(v); math.IsNaN(v) {
			u[i] = math.Inf(1)
		}
	}
	factor, shift := math.Abs(few[0]), few[1]
	if !(factor < 1e300) {
		factor = 1e300
	}
	for name, kernel := range map[string]func(out []float64) []float64{
		"inner":      func(out []float64) []float64 { inner(out, x, v); return out },
		"gather":     func([]float64) []float64 { out := slices.Clone(v); gather(out, x, y); return out },
		"capWeights": func(out []float64) []float64 { capWeights(out, u, y, factor); return out },
		"lower": func(out []float64) []float64 {
			smallest, largest := lower(out, u, y, shift, math.Inf(1), math.Inf(-1))
			return append(out, smallest+0, largest+0) // adding 0 turns -0 into 0
		},
		"exps": func(out []float64) []float64 { exps(out, s, shift); return out },
		"exponentials": func(out []float64) []float64 {
			capped, tail := exponentials(out, s, shift)
			return append(out, float64(capped), tail)
		},
		"split": func([]float64) []float64 { capped, tail := split(u, factor); return []float64{float64(capped), tail} },
		"total": func([]float64) []float64 { return []float64{total(u)} },
	} {
		got := kernel(make([]float64, n))
		var want []float64
		withoutAVX2(func() { want = kernel(make([]float64, n)) })
		for i := range want {
			if math.Float64bits(got[i]) != math.Float64bits(want[i]) && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
				t.Fatalf("%s, n %d, d %d: number %d is %v (%x) with AVX2 and %v (%x) without",
					name, n, d, i, got[i], math.Float64bits(got[i]), want[i], math.Float64bits(want[i]))
			}
		}
	}
}
