package estimate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// overPositions returns a search over the positions of k values.
func overPositions(k int) Find {
	return Find{From: 1, To: int64(k), Within: 1, Gap: 2, Confidence: 0.8, Target: 0.9, Cells: 1, MaxTrials: 20_000,
		Ends: true}
}

// logGrid returns k values from low to high, with equal ratios.
func logGrid(low, high float64, k int) (values []float64) {
	for i := range k {
		values = append(values, low*math.Pow(high/low, float64(i)/float64(k-1)))
	}
	return values
}

// majority returns the probability that most of n labels are right where each is wrong with
// probability rate, and n is odd.
func majority(n int, rate float64) float64 {
	return distuv.Binomial{N: float64(n), P: rate}.CDF(float64(n / 2))
}

// TestCoverageOverPositions checks, for a search over the values of another number than n, against
// laws that are exactly known, that brackets are wrong no more often than is stated, and what they
// cost in trials.
func TestCoverageOverPositions(t *testing.T) {
	const runs = 300
	epsilons, rates := logGrid(0.1, 10, 21), logGrid(0.49, 0.05, 16)
	for _, c := range []struct {
		name  string
		k     int
		rate  func(i int) float64 // of success at the i-th value, from 0 on
		first int                 // at which it reaches 0.9; k: at none
		most  float64             // trials, at the median
	}{
		// The exponential mechanism over 2^8 thresholds at n = 205, where epsilon 1 gives 0.95.
		{"epsilon, needle", 21, func(i int) float64 { return needle(1<<8, 0.1, epsilons[i])(205) }, 10, 700},
		// The majority of 25 labels, of which each is wrong with that probability.
		{"noise_rate, majority of 25", 16, func(i int) float64 { return majority(25, rates[i]) }, 2, 700},
		{"none suffices", 12, func(int) float64 { return 0.5 }, 12, 200},
		{"all suffice", 12, func(int) float64 { return 1 }, 0, 200},
		{"a single step", 40, func(i int) float64 { return []float64{0.2, 1}[min(1, i/28)] }, 28, 700},
		{"slow", 50, func(i int) float64 { return 0.8 + 0.004*float64(i) }, 25, 20_000},
		{"two values", 2, func(i int) float64 { return []float64{0.8, 0.95}[i] }, 1, 1500},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := make([]float64, c.k+1)
			for i := range c.k {
				table[i+1] = c.rate(i)
			}
			rate := func(n int64) float64 { return table[n] }
			find := overPositions(c.k)
			truth := star(rate, find)
			if truth != int64(c.first)+1 {
				t.Fatalf("the first sufficient value is number %d, want %d: %v", truth-1, c.first, table[1:])
			}
			count := runs
			if !testkit.LongRun {
				count /= 12
			}
			misses, falls := 0, 0
			var trials []int64
			for seed := range uint64(count) {
				r := world{rate: rate, seed: seed}.solve(t, find)
				trials = append(trials, r.Trials)
				if wrong(r, truth) {
					misses++
				}
				if r.Status == StatusNotMonotone {
					falls++
				}
				if r.Status == StatusDecided && r.High-r.Low > 2 {
					t.Errorf("decided with %d and %d", r.Low, r.High)
				}
			}
			slices.Sort(trials)
			t.Logf("%d of %d wrong, %d taken for falling, trials %d, %d", misses, count, falls, trials[count/2],
				trials[count*9/10])
			if limit := mostMisses(count, 1-find.Confidence); max(misses, falls) > limit {
				t.Errorf("%d of %d wrong, %d taken for falling; at most %d are compatible with confidence %v", misses, count, falls,
					limit, find.Confidence)
			}
			if median := float64(trials[count/2]); median > c.most {
				t.Errorf("%v trials at the median, want at most %v", median, c.most)
			}
		})
	}
}

// TestWrongDirection checks that a search along which success falls, because its direction is wrong,
// says so, in the words of the numbers that it searches.
func TestWrongDirection(t *testing.T) {
	for _, k := range []int{2, 5, 21, 60} {
		for name, rate := range map[string]func(n int64) float64{
			"at once":   func(n int64) float64 { return []float64{1, 0}[min(1, n-1)] },
			"gradually": func(n int64) float64 { return 1 - float64(n-1)/float64(k-1) },
		} {
			unsaid := 0
			for seed := range uint64(20) {
				s, err := NewSearch(overPositions(k))
				if err != nil {
					t.Fatal(err)
				}
				s.Name(Words{func(n int64) string { return fmt.Sprintf("x = %d", n) }, "x is wrong", "turn it round"})
				w := world{rate: rate, seed: seed}
				for !s.Done() {
					for _, b := range s.Want() {
						w.run(s, b)
					}
				}
				r := s.Result()
				said := (r.Status == StatusNotMonotone || r.Status == StatusUndecided) &&
					strings.HasPrefix(r.Reason, "x is wrong: ") && strings.HasSuffix(r.Reason, "; turn it round")
				if !said || strings.Contains(r.Reason, "n =") || !strings.Contains(r.Reason, "x = ") {
					t.Logf("%d values, %s, seed %d: %s (%s), bracket %d to %d", k, name, seed, r.Status, r.Reason, r.Low, r.High)
					unsaid++
				}
			}
			if unsaid > 2 {
				t.Errorf("%d values, %s: %d of 20 searches do not say that success falls", k, name, unsaid)
			}
		}
	}
}
