package estimate

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// star finds the least size in the range at which a non-decreasing rate reaches target; to + 1 if none does.
func star(rate func(int64) float64, f Find) int64 {
	low, high := f.From-1, f.To+1
	for low+1 < high {
		if middle := (low + high) / 2; rate(middle) >= f.Target {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// wrong reports whether a result says something false about n*.
func wrong(r Result, n int64) bool {
	return r.Low >= n || r.High != 0 && r.High < n
}

// mostMisses is the number of misses among runs that a true miss probability of p exceeds with probability 1 %.
func mostMisses(runs int, p float64) int {
	b := distuv.Binomial{N: float64(runs), P: p}
	k := 0
	for b.CDF(float64(k)) < 0.99 {
		k++
	}
	return k
}

func TestCoverage(t *testing.T) {
	const runs = 400
	exponential := func(c, r float64) func(int64) float64 {
		return func(n int64) float64 { return max(0, 1-c*math.Exp(-r*float64(n))) }
	}
	needle := func(hypotheses, epsilon float64) func(int64) float64 {
		return func(n int64) float64 { return 1 / (1 + hypotheses*math.Exp(-epsilon*0.05*float64(n))) }
	}
	flat := func(below, from float64) func(int64) float64 {
		return func(n int64) float64 {
			if float64(n) < from {
				return below
			}
			return 0.9
		}
	}
	for _, c := range []struct {
		name   string
		rate   func(int64) float64
		shared bool
		change func(*Find)
	}{
		{"exponential", exponential(20, 0.005), false, func(*Find) {}},
		{"exponential, shared data", exponential(20, 0.005), true, func(*Find) {}},
		{"needle", needle(1<<16, 1), false, func(*Find) {}},
		{"needle, shared data", needle(1<<32, 0.5), true, func(f *Find) { f.Within = 1.1 }},
		{"slow", logistic(1200, 2, 0.9), true, func(*Find) {}},
		// The hardest law: the target is hardly missed below n* and hardly reached above.
		{"flat", flat(0.899, 1000), false, func(f *Find) { f.Confidence = 0.5; f.MaxTrials = 5000 }},
		{"flat, shared data", flat(0.899, 1000), true, func(f *Find) { f.Confidence = 0.5; f.MaxTrials = 5000 }},
		{"flat from the start", flat(0.9, 0), false, func(f *Find) { f.Confidence = 0.5; f.MaxTrials = 5000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			find := usual()
			c.change(&find)
			truth := star(c.rate, find)
			misses, decided := 0, 0
			for seed := range uint64(runs) {
				r := world{rate: c.rate, shared: c.shared, seed: seed}.solve(t, find)
				if wrong(r, truth) {
					misses++
				}
				if r.Status == StatusDecided {
					decided++
				}
			}
			t.Logf("n* = %d: %d of %d decided, %d wrong", truth, decided, runs, misses)
			if limit := mostMisses(runs, 1-find.Confidence); misses > limit {
				t.Errorf("%d of %d wrong, at most %d are compatible with confidence %v", misses, runs, limit, find.Confidence)
			}
			if find.MaxTrials > 5000 && decided != runs {
				t.Errorf("%d of %d decided", decided, runs)
			}
		})
	}
}

// A single size tested at the worst truth, the target itself, errs no more often than its level, whenever one looks.
func TestLevelOfOneDecision(t *testing.T) {
	const runs = 2000
	find := usual()
	find.To, find.Confidence, find.MaxTrials = find.From, 0.9, 3000
	misses := 0
	for seed := range uint64(runs) {
		if r := (world{rate: constant(find.Target), seed: seed}).solve(t, find); r.Status == StatusAboveRange {
			misses++
		}
	}
	t.Logf("%d of %d wrong at level %v", misses, runs, find.Level())
	if limit := mostMisses(runs, find.Level()); misses > limit {
		t.Errorf("%d of %d wrong, at most %d are compatible with level %v", misses, runs, limit, find.Level())
	}
}

// oracle is the number of trials that would do if the success rates at both ends of an ideal bracket were known beforehand: ends
// at n*/sqrt(within) and n* sqrt(within), each tested at half the error probability by the likelihood ratio.
func oracle(rate func(float64) float64, n, within, confidence, target float64) float64 {
	sum := 0.0
	for _, end := range []float64{n / math.Sqrt(within), n * math.Sqrt(within)} {
		p := rate(end)
		divergence := p*math.Log(p/target) + (1-p)*math.Log((1-p)/(1-target))
		sum += math.Log(2/(1-confidence)) / divergence
	}
	return sum
}

// BenchmarkTrials reports what a search costs in trials: median and 90 % point over 101 places of n* between 1000 and 2000, beside
// the oracle's cost.
func BenchmarkTrials(b *testing.B) {
	for _, slope := range []float64{2, 5} {
		for _, within := range []float64{2, 1.5, 1.25, 1.1} {
			b.Run(fmt.Sprintf("slope=%v/within=%v", slope, within), func(b *testing.B) {
				find := usual()
				find.Within, find.MaxTrials = within, 1e9
				var trials []float64
				for b.Loop() {
					trials = trials[:0]
					for seed := range uint64(101) {
						rate := logistic(1000*math.Exp2(float64(seed)/101), slope, find.Target)
						trials = append(trials, float64(world{rate: rate, shared: true, seed: seed}.solve(b, find).Trials))
					}
				}
				slices.Sort(trials)
				continuous := func(n float64) float64 { return 1 / (1 + math.Pow(n/1000, -slope)/9) }
				ideal := oracle(continuous, 1000, within, find.Confidence, find.Target)
				b.ReportMetric(trials[50], "median")
				b.ReportMetric(trials[90], "p90")
				b.ReportMetric(ideal, "oracle")
				b.ReportMetric(trials[50]/ideal, "ratio")
			})
		}
	}
}

// A cell in the middle of its search, with an eighth of the next round missing.
func middle(b *testing.B) *Search {
	find := usual()
	find.Within = 1.01
	s, err := NewSearch(find)
	if err != nil {
		b.Fatal(err)
	}
	w := world{rate: logistic(1200, 2, find.Target), seed: 1}
	for s.trials < 20_000 {
		for _, block := range s.Want() {
			w.run(s, block)
		}
	}
	for _, block := range s.Want() {
		block.Count = block.Count * 7 / 8
		w.run(s, block)
	}
	return s
}

func BenchmarkWant(b *testing.B) {
	s := middle(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Want()
	}
}

func BenchmarkGuess(b *testing.B) {
	s := middle(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Guess(4)
	}
}

func BenchmarkAdd(b *testing.B) {
	find := usual()
	find.MaxTrials = 1 << 40
	s, err := NewSearch(find)
	if err != nil {
		b.Fatal(err)
	}
	w := world{rate: constant(find.Target), seed: 1}
	outcomes := make([]Outcome, 1<<16)
	for i := range outcomes {
		outcomes[i] = w.outcome(64, i)
	}
	b.ReportAllocs()
	for rep := 0; b.Loop(); rep++ {
		s.Add(64<<(rep/4096%2), rep/8192*4096+rep%4096, outcomes[rep%len(outcomes)])
	}
}
