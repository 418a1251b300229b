package estimate

import (
	"math"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// within returns base with another rate at the sizes from..to-1.
func within(base func(int64) float64, from, to int64, rate float64) func(int64) float64 {
	return func(n int64) float64 {
		if from <= n && n < to {
			return rate
		}
		return base(n)
	}
}

// TestFallsAreFound checks how often spot checks detect that success falls, and their cost.
func TestFallsAreFound(t *testing.T) {
	base := logistic(150, 5, 0.9)
	plateau := within(within(constant(0.95), 300, 1000, 0.6), 100, 300, 0.91)
	for _, c := range []struct {
		name string
		rate func(int64) float64
		rare float64 // permitted share of runs that miss the fall
	}{
		{"a long dip", within(base, 400, 3000, 0.7), 0.1},
		{"a short dip", within(base, 230, 300, 0.5), 0.25},
		{"a bump", within(base, 60, 70, 0.97), 0.1},
		{"odd sizes are worse", func(n int64) float64 { return base(n) / float64(1+n%2) }, 0.1},
		{"a plateau, then a dip", within(plateau, 1, 100, 0.3), 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, runs, find := 0, 4, usual()
			find.From, find.Within = 16, 1.25
			if testkit.LongRun() {
				runs = 100
			}
			var plain, all int64
			for seed := range uint64(runs) {
				find.Monotone = true
				plain += world{rate: c.rate, seed: seed}.solve(t, find).Trials
				find.Monotone = false
				r := world{rate: c.rate, seed: seed}.solve(t, find)
				all += r.Trials
				switch {
				case r.Status == StatusNotMonotone && !strings.Contains(r.Reason, "success falls: "):
					t.Errorf("reason %q", r.Reason)
				case r.Status == StatusNotMonotone || r.Status == StatusUndecided:
					found++
				}
			}
			t.Logf("%d of %d found, with %.2f times the trials", found, runs, float64(all)/float64(plain))
			if misses := runs - found; misses > mostMisses(runs, c.rare) {
				t.Errorf("%d of %d found", found, runs)
			}
		})
	}
}

// TestNobodyIsAccused checks that a monotone success rate is rarely reported as falling, and that
// the spot checks need at most a quarter of the trials on average.
func TestNobodyIsAccused(t *testing.T) {
	runs := 4
	if testkit.LongRun() {
		runs = 80
	}
	for name, rate := range map[string]func(int64) float64{
		"slow": logistic(150, 2, 0.9), "usual": logistic(150, 5, 0.9), "steep": logistic(150, 20, 0.9),
		"step": within(constant(0.95), 1, 150, 0.3), "small step": within(constant(0.93), 1, 150, 0.85),
	} {
		t.Run(name, func(t *testing.T) {
			find, accused := usual(), 0
			find.From, find.Confidence = 16, 0.8
			var plain, all int64
			for seed := range uint64(runs) {
				find.Monotone = true
				before := world{rate: rate, seed: seed}.solve(t, find)
				find.Monotone = false
				r := world{rate: rate, seed: seed}.solve(t, find)
				plain, all = plain+before.Trials, all+r.Trials
				if r.Low != before.Low || r.High != before.High {
					t.Fatalf("spot checks changed the bracket (%d, %d] to (%d, %d]", before.Low, before.High, r.Low, r.High)
				}
				if r.Status == StatusNotMonotone {
					accused++
				}
			}
			factor := float64(all) / float64(plain)
			t.Logf("%d of %d accused, with %.3f times the trials", accused, runs, factor)
			if accused > mostMisses(runs, 1-find.Confidence) || factor > 1.25+0.1/math.Sqrt(float64(runs)) {
				t.Errorf("%d of %d accused, with %.3f times the trials", accused, runs, factor)
			}
		})
	}
}

// TestOrderBetsAreFair computes the exact mean wealth of the bets against the order of two rates,
// when the rates are in order.
func TestOrderBetsAreFair(t *testing.T) {
	rates := []float64{0.001, 0.1, 0.4, 0.5, 0.7, 0.9, 0.97, 0.999}
	for _, size := range [][2]int{{4, 4}, {4, 12}, {12, 4}, {9, 30}, {40, 8}} {
		for i, low := range rates {
			for _, high := range rates[i:] {
				mean := 0.0
				binomial(int64(size[0]), low, func(k int64, p float64) {
					binomial(int64(size[1]), high, func(l int64, q float64) {
						a, b := Point{Consumed: size[0], Successes: int(k)}, Point{Consumed: size[1], Successes: int(l)}
						mean += p * q * math.Exp(againstOrder(&a, &b, math.Inf(-1)))
					})
				})
				if mean > 1 {
					t.Errorf("rates %v and %v, %v trials: mean %v", low, high, size, mean)
				}
			}
		}
	}
}

// TestOrderIsRefuted checks the evidence against orders that are clearly wrong, and that the
// lower bound on a grid is close to the least product.
func TestOrderIsRefuted(t *testing.T) {
	a, b := &Point{Consumed: 40, Successes: 40}, &Point{Consumed: 40, Successes: 10}
	least := math.Inf(1)
	for logit := -6.0; logit < 6; logit += 0.001 {
		least = min(least, againstRate(a, logit, +1)+againstRate(b, logit, -1))
	}
	got := againstOrder(a, b, 0)
	if got > least || got < least-1.5 || got < 10 {
		t.Errorf("evidence %v, the least product has %v", got, least)
	}
	if got := againstOrder(b, a, math.Inf(-1)); !math.IsInf(got, -1) {
		t.Errorf("rates in order: evidence %v", got)
	}
}

// TestSpotsThatCannotBeHad checks that a refused or lost spot does not stop a search.
func TestSpotsThatCannotBeHad(t *testing.T) {
	find := usual()
	find.From = 16
	s, err := NewSearch(find)
	if err != nil {
		t.Fatal(err)
	}
	w := world{rate: logistic(150, 5, 0.9), seed: 3}
	refused, lost := false, false
	for !s.Done() {
		if s.spots != nil && !refused {
			refused = true
			s.Infeasible(s.spots.below[0].N, "too small")
			continue
		}
		if s.spots != nil && !lost {
			lost = true
			s.Lost(s.spots.above[0].N, 1, "gone")
			continue
		}
		for _, b := range s.Want() {
			w.run(s, b)
		}
	}
	if r := s.Result(); r.Status != StatusDecided || !refused || !lost {
		t.Errorf("%+v", r)
	}
}
