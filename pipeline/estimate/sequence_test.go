package estimate

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// ShowsAtLeast agrees with the numerically integrated bets: with a rate of sin^2 x, the mixture
// is uniform in x.
func TestShowsByBetsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		target := rapid.SampledFrom([]float64{0.05, 0.5, 0.9, 0.99}).Draw(t, "target")
		for _, c := range []struct {
			low, high float64 // limits of x
			shows     func(k, n int, target, level float64) bool
		}{
			{math.Asin(math.Sqrt(target)), math.Pi / 2, ShowsAtLeast},
			{0, math.Asin(math.Sqrt(target)), ShowsBelow},
		} {
			const steps = 20000
			sum := 0.0
			for i := range steps {
				sin, cos := math.Sincos(c.low + (c.high-c.low)*(float64(i)+0.5)/steps)
				sum += math.Exp(float64(k)*math.Log(sin*sin/target) + float64(n-k)*math.Log(cos*cos/(1-target)))
			}
			level := steps / sum // 1 divided by the e-process
			if level < 1e-12 || level > 0.5 {
				continue // levels that do not occur in use
			}
			if !c.shows(k, n, target, level*(1+1e-6)) || c.shows(k, n, target, level*(1-1e-6)) {
				t.Fatalf("%d of %d, target %v: not shown at the level %v of the bets, or below it", k, n, target, level)
			}
		}
	})
}

// A user who checks after each of 3,000 trials ever sees a false statement with probability at
// most level. The probabilities are exact, at the rate that is hardest to distinguish. The limits
// of Clopper and Pearson exceed level if used in this way.
func TestShowsToThoseWhoLookAtEachTrial(t *testing.T) {
	const most = 3000
	for _, level := range []float64{0.05, 0.001} {
		for _, rate := range []float64{0.9} {
			atLeast := everReported(rate, most, func(k, n int) bool { return ShowsAtLeast(k, n, rate, level) })
			below := everReported(1-rate, most, func(k, n int) bool { return ShowsBelow(n-k, n, rate, level) })
			exact := everReported(rate, most, func(k, n int) bool { return CPLower(k, n, level) >= rate })
			t.Logf("level %v, rate %v: at least %.2g, below %.2g, Clopper and Pearson %.2g", level, rate, atLeast, below, exact)
			if atLeast > level || below > level || exact < 2*level {
				t.Errorf("level %v, rate %v: at least with probability %v, below with %v, Clopper and Pearson %v",
					level, rate, atLeast, below, exact)
			}
			if atLeast < level/10 || below < level/10 {
				t.Errorf("level %v, rate %v: %v and %v waste most of the level", level, rate, atLeast, below)
			}
		}
	}
}

// everReported returns the probability that report is true after any of the first trials, of
// which each succeeds with probability rate. report must be monotone: if it is true, it is also
// true with more successes.
func everReported(rate float64, trials int, report func(k, n int) bool) float64 {
	alive := make([]float64, trials+2) // probability of k successes without a report, by k
	alive[0] = 1
	reported, from := 0.0, 1 // from: least number of successes with which report is true
	for n := 1; n <= trials; n++ {
		for k := min(n, from); k >= 0; k-- {
			p := alive[k] * (1 - rate)
			if k > 0 {
				p += alive[k-1] * rate
			}
			alive[k] = p
		}
		for from <= n && !report(from, n) {
			from++
		}
		if from <= n {
			reported += alive[from]
			alive[from] = 0
		}
	}
	return reported
}
