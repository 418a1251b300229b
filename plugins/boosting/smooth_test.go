package boosting

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// TestSmoothBoost compares weights with their definition: 1 while N < 0, otherwise (1-gamma)^(N/2),
// where N grows by y h(x) - theta in each round. It checks that no example has more than a 1/(kappa
// n) share, that at the end fewer than kappa n examples have a margin of at most theta, and that
// the rounds stay within their limit.
func TestSmoothBoost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		tau := rapid.SampledFrom([]float64{0.2, 0.5, 0.9}).Draw(t, "tau")
		kappa := rapid.SampledFrom([]float64{0.05, 0.2, 0.6}).Draw(t, "kappa")
		n := rapid.IntRange(1, 60).Draw(t, "n")
		gamma := tau / 2
		sample := newDistribution(r, 3, tau, rapid.Bool().Draw(t, "skew")).draw(n)
		if rapid.Bool().Draw(t, "noisy") {
			sample = corrupt(sample, int(kappa*tau/4*float64(n)))
			gamma = tau / 4
		}
		f := newFading(gamma, kappa, sample)
		excess := make([]float64, n)
		for left := f.weigh(); left >= f.mass; left = f.weigh() {
			if float64(f.Rounds) > provedRounds(gamma, kappa) {
				t.Fatalf("round %d, want at most %v", f.Rounds, provedRounds(gamma, kappa))
			}
			sum := 0.0
			for i, e := range excess {
				want := 1.0
				if e >= 0 {
					want = math.Pow(1-gamma, e/2)
				}
				sum += want
				got := min(1, f.weights.u[i])
				if math.Abs(got-want) > 1e-9 {
					t.Fatalf("round %d: weight %v of example %d, want %v", f.Rounds, got, i, want)
				}
				if share := got / left; share > 1/(kappa*float64(n))*(1+1e-12) {
					t.Fatalf("round %d: example %d has a share of %v, more than 1/(kappa n)", f.Rounds, i, share)
				}
			}
			if math.Abs(left-sum) > 1e-8 {
				t.Fatalf("round %d: %v left, want %v", f.Rounds, left, sum)
			}
			f.center(1, left)
			f.step(noiseless)
			f.Rounds++
			for i := range excess {
				excess[i] += sample.Y(i)*numeric.Dot(f.released, sample.X(i)) - smoothMargin(gamma)
			}
		}
		low := 0
		for _, m := range f.margins() {
			if m <= smoothMargin(gamma)-1e-12 {
				low++
			}
		}
		if float64(low) >= f.mass {
			t.Fatalf("%d of %d margins are at most theta, want fewer than a %v share", low, n, kappa)
		}
	})
}

// provedRounds returns 1/(c kappa (2 gamma - theta - r)), see newFading.
func provedRounds(gamma, kappa float64) float64 {
	c, theta := -math.Log1p(-gamma)/2, smoothMargin(gamma)
	a := c * (1 + theta)
	r := (math.Expm1(a) - a) / c
	return 1 / (c * kappa * (2*gamma - theta - r))
}
