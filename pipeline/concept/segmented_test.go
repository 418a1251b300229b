package concept

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The segments whose score is not computed cannot have the highest score.
func TestHighest(t *testing.T) {
	scores := map[string]func(count, behind, u float64) float64{
		"gumbel": func(count, behind, u float64) float64 { return math.Log(count) - behind - math.Log(-math.Log(u)) },
		"flip":   func(count, behind, u float64) float64 { return -math.Log(-math.Expm1(math.Log(u)/count)) - behind },
	}
	picks := map[string]func([]segment, int, float64, []float64) int{"gumbel": gumbel, "flip": flip}
	rapid.Check(t, func(t *rapid.T) {
		eps := rapid.SampledFrom([]float64{0, 1e-9, 0.01, 1, 30, 1e300, math.Inf(1)}).Draw(t, "eps")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		list := make([]segment, rapid.IntRange(1, 40).Draw(t, "segments"))
		extreme := []float64{0x1p-53, 0.5, 1 - 0x1p-53}
		u, least := make([]float64, len(list)), math.MaxInt
		for i := range list {
			list[i] = segment{err: r.IntN(1 << r.IntN(8)), count: 1 + r.Uint64()>>(1+r.IntN(63))}
			least, u[i] = min(least, list[i].err), uniform(r)
			if r.IntN(4) == 0 {
				u[i] = extreme[r.IntN(len(extreme))]
			}
		}
		for name, score := range scores {
			best, top := 0, math.Inf(-1)
			for i, s := range list {
				if v := score(float64(s.count), penalty(eps, s.err-least), u[i]); v > top {
					best, top = i, v
				}
			}
			if got := picks[name](list, least, eps, u); got != best {
				t.Fatalf("%s at eps %v picks %d of %v at %v, want %d", name, eps, got, list, u, best)
			}
		}
	})
}

// logAbove returns a close upper bound of the logarithm.
func TestLogAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "mantissa"), rapid.IntRange(-1022, 1022).Draw(t, "exponent"))
		if above := logAbove(v) - math.Log(v); !(above > 0 && above < 0.07) {
			t.Fatalf("ln %v: off by %v", v, above)
		}
	})
}
