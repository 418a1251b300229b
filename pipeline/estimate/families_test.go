package estimate

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A family is a kind of success rate that the constants of a search were not chosen by: those were
// chosen by logistic rates of slope 2 and 5.
type family struct {
	name   string
	rate   testkit.Rate // at z = n/n*
	change func(*Find)  // from usual, within 1.25
	low    float64      // n* lies between low and high; 0: 300 to 10,000
	high   float64
}

// families are the kinds of success rates that BenchmarkFamilies and TestFamilies look at.
func families() []family {
	with := func(target, within float64) func(*Find) {
		return func(f *Find) { f.Target, f.Within = target, within }
	}
	chance := func(z, target float64) float64 {
		return 0.5 + 0.5*testkit.LogisticRate(3)(z, 2*target-1)
	}
	steps := func(slope float64) testkit.Rate { // two in an octave, target between two
		return func(z, target float64) float64 {
			return testkit.LogisticRate(slope)(math.Exp2((math.Floor(2*math.Log2(z)+1e-9)+0.5)/2), target)
		}
	}
	jump := func(below, above float64) testkit.Rate {
		return func(z, target float64) float64 {
			if z < 1 {
				return below * target
			}
			return 1 - above*(1-target)
		}
	}
	lowPlateau := func(z, target float64) float64 { // a little below target for three octaves
		switch {
		case z < 0.125:
			return 0.3 * target
		case z < 1:
			return target - 0.3*(1-target)
		}
		return testkit.LogisticRate(3)(1.3*z, target)
	}
	highPlateau := func(z, target float64) float64 { // a little above target for three octaves
		switch {
		case z < 1:
			return testkit.LogisticRate(3)(z/1.3, target)
		case z < 8:
			return target + 0.3*(1-target)
		}
		return 1
	}
	wiggly := func(z, target float64) float64 { // falls a little now and then
		return testkit.LogisticRate(3)(z*math.Exp(0.04*math.Sin(60*math.Log(z))), target)
	}
	dip := func(z, target float64) float64 { // falls far below n*
		return testkit.LogisticRate(3)(z, target) + 0.5*target*math.Exp(-20*math.Pow(math.Log(z*4), 2))
	}
	return []family{
		{name: "logistic/0.7", rate: testkit.LogisticRate(0.7), change: with(0.9, 1.5)},
		{name: "logistic/3", rate: testkit.LogisticRate(3), change: with(0.5, 1.25)},
		{name: "logistic/12", rate: testkit.LogisticRate(12), change: with(0.8, 1.1)},
		{name: "logistic/30", rate: testkit.LogisticRate(30), change: with(0.99, 1.05)},
		{name: "probit", rate: testkit.ProbitRate(2), change: with(0.75, 1.25)},
		{name: "gompertz/1", rate: testkit.GompertzRate(1), change: with(0.9, 2)},
		{name: "gompertz/3", rate: testkit.GompertzRate(3), change: with(0.95, 1.25)},
		{name: "weibull/0.7", rate: testkit.WeibullRate(0.7), change: with(0.9, 1.5)},
		{name: "weibull/1", rate: testkit.WeibullRate(1), change: with(0.95, 1.25)},
		{name: "weibull/4", rate: testkit.WeibullRate(4), change: with(0.5, 1.1)},
		{name: "power/0.5", rate: testkit.PowerRate(0.5), change: with(0.9, 2)},
		{name: "power/1", rate: testkit.PowerRate(1), change: with(0.9, 1.5)},
		{name: "power/2", rate: testkit.PowerRate(2), change: with(0.99, 1.25)},
		{name: "chance", rate: chance, change: with(0.9, 1.25)},
		{name: "steps/2", rate: steps(2), change: with(0.9, 1.25)},
		{name: "steps/6", rate: steps(6), change: with(0.8, 1.25)},
		{name: "jump/0-1", rate: jump(0, 0), change: with(0.9, 1.1)},
		{name: "jump/0.9-0.5", rate: jump(0.9, 0.5), change: with(0.95, 1.25)},
		{name: "jump/0.5-0.9", rate: jump(0.5, 0.9), change: with(0.75, 1.5)},
		{name: "plateau/below", rate: lowPlateau, change: with(0.9, 1.25)},
		{name: "plateau/above", rate: highPlateau, change: with(0.9, 1.25)},
		{name: "wiggly", rate: wiggly, change: with(0.9, 1.25)},
		{name: "dip", rate: dip, change: with(0.9, 1.25)},
		{name: "near-from/logistic", rate: testkit.LogisticRate(4), change: with(0.9, 1.25), low: 66, high: 100},
		{name: "near-from/weibull", rate: testkit.WeibullRate(1), change: with(0.9, 1.5), low: 66, high: 100},
		{
			name: "near-to/logistic", rate: testkit.LogisticRate(4), low: 2600, high: 4000,
			change: func(f *Find) { f.To, f.Within = 4096, 1.25 },
		},
		{
			name: "near-to/weibull", rate: testkit.WeibullRate(1), low: 2600, high: 4000,
			change: func(f *Find) { f.To, f.Target = 4096, 0.8 },
		},
		{
			name: "wide-axis", rate: testkit.WeibullRate(2), low: 1e6, high: 1e9,
			change: func(f *Find) { f.From, f.To, f.Within = 1, 1<<40, 1.25 },
		},
		{
			name: "every-size", rate: testkit.LogisticRate(4), low: 3, high: 30,
			change: func(f *Find) { f.From, f.To, f.Within = 1, 50, 1 },
		},
		{
			name: "list", rate: testkit.WeibullRate(2), low: 2, high: 10,
			change: func(f *Find) { f.From, f.To, f.Within, f.Ends = 1, 12, 1, true },
		},
		{
			name: "cells", rate: testkit.WeibullRate(2),
			change: func(f *Find) { f.Cells, f.Within = 500, 1.25 },
		},
		{
			name: "unsure", rate: testkit.GompertzRate(2),
			change: func(f *Find) { f.Confidence, f.Within = 0.6, 1.25 },
		},
		{
			name: "known-monotone", rate: testkit.WeibullRate(2),
			change: func(f *Find) { f.Monotone, f.Within = true, 1.25 },
		},
	}
}

// at returns the search of a family, the rate of its run i of runs, and n*.
func (f family) at(i, runs int) (find Find, rate func(int64) float64, star int64) {
	find = usual()
	find.Within, find.MaxTrials = 1.25, 1e9
	f.change(&find)
	low, high := f.low, f.high
	if low == 0 {
		low, high = 300, 10_000
	}
	// Halfway between two sizes: next to one, the rate there may be too near target for any search.
	place := math.Floor(low*math.Pow(high/low, (float64(i)+0.5)/float64(runs))) + 0.5
	rate = func(n int64) float64 { return f.rate(float64(n)/place, find.Target) }
	star = int64(math.Ceil(place))
	for star > find.From && rate(star-1) >= find.Target { // a wave
		star--
	}
	return find, rate, star
}

// A familyCost is what the searches of a family came to.
type familyCost struct {
	trials, mean float64 // geometric and arithmetic mean of the trials read, each over the bound of its run
	rounds       float64 // geometric mean
	wrong        int     // brackets
	open         int     // searches that ended without a narrow bracket
}

func (f family) cost(t interface{ Fatal(...any) }, index, runs int) (c familyCost) {
	var bounds, sum float64
	for i := range runs {
		find, rate, star := f.at(i, runs)
		s, err := NewSearch(find)
		if err != nil {
			t.Fatal(err)
		}
		w := world{rate: rate, seed: uint64(index)<<32 | uint64(i)}
		rounds := 0
		for ; !s.Done(); rounds++ {
			for _, b := range s.Want() {
				w.run(s, b)
			}
		}
		r := s.Result()
		bound := leastTrials(find, rate, star)
		c.trials += math.Log(float64(r.Trials)/bound) / float64(runs)
		c.rounds += math.Log(float64(rounds)) / float64(runs)
		bounds, sum = bounds+bound, sum+float64(r.Trials)
		if wrong(r, star) {
			c.wrong++
		}
		if r.Status != StatusDecided {
			c.open++
		}
	}
	c.trials, c.rounds, c.mean = math.Exp(c.trials), math.Exp(c.rounds), sum/bounds
	return c
}

// leastTrials returns a number of trials that no method reads fewer than on the average where rate
// is the truth and n* is star, if it always ends with a bracket as narrow as find asks for, and is
// wrong with probability at most level for every rate that does not fall, this one included. The
// method may know this very rate, and what it promises of the others makes it read on: a bound of
// the kind of Wald (1945) and of Garivier and Kaufmann (2016). Proof:
//
//   - Let k(p) = p ln(p/level) + (1-p) ln((1-p)/(1-level)) for p > level, else 0, and K(h) be the
//     mean number of trials at sizes from n* to h, each times the divergence d(n) of its success
//     rate from Target. An end High <= h is wrong where success is a hair less likely than Target
//     from n* to h, and as likely as before elsewhere. So K(h) >= k(F(h)), F(h) being the probability
//     of High <= h, by the change of measure to that rate.
//   - Where High is at least h, Low is at least the least size l(h) with which h makes a narrow
//     bracket. That is wrong where success is as likely as Target from l(h) to n* - 1. So the same
//     sum over these sizes is at least k(1 - F(h-1)).
//   - Trials at sizes up to h bring K at most u(h) each, the largest divergence from n* to h. So the
//     sum of k'(p)/u(h), for every p in (0, 1) at the h where F passes p, is a bound for the trials at
//     n* and above it, and so on for those below. Whatever F is, the sum of both is at least that with
//     the best h for each p.
func leastTrials(find Find, rate func(int64) float64, star int64) float64 {
	const parts = 200 // of the probabilities
	find.Step = max(1, find.Step)
	divergence := func(n int64) float64 {
		p := rate(n)
		sum := 0.0
		if p > 0 {
			sum += p * math.Log(p/find.Target)
		}
		if p < 1 {
			sum += (1 - p) * math.Log((1-p)/(1-find.Target))
		}
		return sum
	}
	// With h between two sizes of a grid, u is at most that at the larger and the other divergence at
	// most that at the smaller.
	type end struct{ above, below float64 }
	var ends []end
	low := func(h int64) int64 {
		l := max(find.From, min(h-1, int64(math.Ceil(float64(h)/find.Within))))
		for l > find.From && find.narrow(l-1, h) {
			l--
		}
		return l
	}
	stride := max(1, int64(float64(star)*(find.Within-1)/200))
	above := 0.0
	for h := star; h <= find.To && low(h) < star; h += stride {
		for n := h; n < min(h+stride, find.To+1); n += max(1, stride/4) {
			above = max(above, divergence(n))
		}
		above = max(above, divergence(min(h+stride-1, find.To)))
		below := 0.0
		for n := low(h); n < star; n += max(1, stride/4) {
			below = max(below, divergence(n))
		}
		ends = append(ends, end{above, below})
	}
	level := find.Level()
	growth := func(p float64) float64 { return max(0, math.Log(p/level*(1-level)/(1-p))) }
	sum := 0.0
	for i := range parts {
		p := (float64(i) + 0.5) / parts
		least := math.Inf(1)
		for _, e := range ends {
			cost := 0.0
			if g := growth(p); g > 0 {
				cost += g / e.above
			}
			if g := growth(1 - p); g > 0 {
				cost += g / e.below
			}
			least = min(least, cost)
		}
		sum += least / parts
	}
	return sum
}

// TestLeastTrials checks the bound where it is easy to work out.
func TestLeastTrials(t *testing.T) {
	find := usual()
	find.From, find.To, find.Within = 1, 10, 1
	rates := []float64{0, 0, 0, 0.2, 0.5, 0.95, 1, 1, 1, 1, 1} // by size
	got := leastTrials(find, func(n int64) float64 { return rates[n] }, 5)
	// Only the bracket from 4 to 5 is right and narrow, with probability 0.95 at least.
	divergence := func(p float64) float64 { return p*math.Log(p/0.9) + (1-p)*math.Log((1-p)/0.1) }
	want := math.Log(20)/divergence(0.5) + math.Log(20)/divergence(0.95)
	if math.Abs(got/want-1) > 0.02 {
		t.Errorf("at least %v trials, want %v", got, want)
	}
	// An oracle tests two ends that are as far from n* whatever comes, at half of the level each.
	const star, slope = 100_000.5, 5
	find = usual()
	find.Within = 1.25
	got = leastTrials(find, logistic(star, slope, find.Target), 100_001)
	rate := func(n float64) float64 { return 1 / (1 + math.Pow(n/star, -slope)/9) }
	if part := got / oracle(rate, star, find.Within, find.Confidence, find.Target); part < 0.67 || part > 0.69 {
		t.Errorf("at least %v times the trials of the oracle, want 0.68 times", part)
	}
}

// TestFamilies checks that brackets are wrong no more often than is stated, whatever the rate, and
// that searches end with them.
func TestFamilies(t *testing.T) {
	testkit.Long(t)
	const runs = 30
	for i, f := range families() {
		c := f.cost(t, i, runs)
		t.Logf("%s: %d of %d wrong, %d without a narrow bracket, %.2f times the trials that are needed", f.name,
			c.wrong, runs, c.open, c.trials)
		find, _, _ := f.at(0, runs)
		limit := mostMisses(runs, find.Level())
		if c.wrong > limit || c.open > limit {
			t.Errorf("%s: %d of %d wrong and %d open, at most %d are compatible with level %v", f.name,
				c.wrong, runs, c.open, limit, find.Level())
		}
	}
}

// BenchmarkFamilies reports what searches cost in trials beside [leastTrials], and how often they
// have to wait for outcomes, at kinds of rates that they were not made by.
func BenchmarkFamilies(b *testing.B) {
	runs := benchmarkRuns(40)
	for i, f := range families() {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				c := f.cost(b, i, runs)
				b.ReportMetric(c.trials, "ratio")
				b.ReportMetric(c.mean, "mean-ratio")
				b.ReportMetric(c.rounds, "rounds")
				b.ReportMetric(float64(c.wrong), "wrong")
				b.ReportMetric(float64(c.open), "open")
			}
		})
	}
}
