package estimate

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// star returns the least size in the range at which a non-decreasing rate reaches the target, or
// To + 1 if none does.
func star(rate func(int64) float64, f Find) int64 {
	return int64(numeric.BisectInt(float64(f.From-1), float64(f.To+1), func(n float64) bool {
		return rate(int64(n)) >= f.Target
	}))
}

// wrong reports whether a result makes a false statement about n*.
func wrong(r Result, n int64) bool {
	return r.Low >= n || r.High != 0 && r.High < n
}

// mostMisses returns the number of misses among runs that a true miss probability of p exceeds
// with probability 1 %.
func mostMisses(runs int, p float64) int {
	b := distuv.Binomial{N: float64(runs), P: p}
	k := 0
	for b.CDF(float64(k)) < 0.99 {
		k++
	}
	return k
}

// binomial calls visit for the numbers of successes in n trials of probability p that are
// likelier than about 1e-20, with their probabilities.
func binomial(n int64, p float64, visit func(k int64, probability float64)) {
	spread := 10 * math.Sqrt(float64(n)*p*(1-p))
	first := max(0, int64(float64(n)*p-spread)-10)
	last := min(n, int64(float64(n)*p+spread)+10)
	logFactorial := func(k int64) float64 { l, _ := math.Lgamma(float64(k) + 1); return l }
	q := math.Exp(logFactorial(n) - logFactorial(first) - logFactorial(n-first) +
		float64(first)*math.Log(p) + float64(n-first)*math.Log1p(-p))
	for k := first; k <= last; k++ {
		visit(k, q)
		q *= float64(n-k) / float64(k+1) * p / (1 - p)
	}
}

// cached caches the values of a rate that is slow to compute.
func cached(rate func(int64) float64) func(int64) float64 {
	known := map[int64]float64{}
	return func(n int64) float64 {
		if _, ok := known[n]; !ok {
			known[n] = rate(n)
		}
		return known[n]
	}
}

// needle returns the success rate of the exponential mechanism over thresholds of a domain that
// differ from the good one on a point of mass a to either side. With kL and kR examples there, it
// succeeds with probability 1/(1 + L e^(-epsilon kL/2) + R e^(-epsilon kR/2)).
func needle(domain, a, epsilon float64) func(int64) float64 {
	left := domain / 2
	right := domain - 1 - left
	return cached(func(n int64) float64 {
		sum := 0.0
		binomial(n, a, func(l int64, pl float64) {
			binomial(n-l, a/(1-a), func(r int64, pr float64) {
				sum += pl * pr / (1 + left*math.Exp(-epsilon/2*float64(l)) + right*math.Exp(-epsilon/2*float64(r)))
			})
		})
		return sum
	})
}

// proportion returns the success rate of a private proportion: the mean of n values 0 or 1 with
// mean q, plus Laplace noise of scale 1/(epsilon n), is within alpha of q.
func proportion(q, epsilon, alpha float64) func(int64) float64 {
	return cached(func(n int64) float64 {
		below := func(x float64) float64 { // distribution function of the Laplace distribution
			tail := math.Exp(-math.Abs(x)*epsilon*float64(n)) / 2
			if x < 0 {
				return tail
			}
			return 1 - tail
		}
		sum := 0.0
		binomial(n, q, func(k int64, p float64) {
			d := float64(k)/float64(n) - q
			sum += p * (below(alpha-d) - below(-alpha-d))
		})
		return sum
	})
}

// TestCoverage checks that brackets are wrong no more often than is stated, and what they cost in
// trials, over distributions from steep to flat.
func TestCoverage(t *testing.T) {
	flat := func(below, from float64) func(int64) float64 {
		return func(n int64) float64 {
			if float64(n) < from {
				return below
			}
			return 0.9
		}
	}
	exponential := func(floor float64) func(int64) float64 {
		return func(n int64) float64 { return max(floor, 1-20*math.Exp(-0.005*float64(n))) }
	}
	for _, c := range []struct {
		name   string
		rate   func(int64) float64
		runs   int
		star   int64   // known value; 0: unknown
		most   float64 // largest median
		change func(*Find)
	}{
		{"needle, 2^8", needle(1<<8, 0.1, 1), 400, 205, 2000, func(f *Find) { f.Target = 0.95 }},
		{"needle, 2^32", needle(1<<32, 0.1, 1), 200, 586, 2000, func(f *Find) { f.Target = 0.95; f.Confidence = 0.8 }},
		{"proportion", proportion(0.3, 0.2, 0.04), 100, 0, 20_000, func(f *Find) { f.Confidence = 0.8 }},
		{"exponential", exponential(0), 100, 1060, 1000, func(*Find) {}},
		{"exponential from chance", exponential(0.5), 100, 1060, 1500, func(f *Find) { f.From = 1 }},
		{"slow", logistic(1200, 2, 0.9), 100, 0, 6000, func(f *Find) { f.Confidence = 0.8 }},
		{"no confidence", logistic(1200, 5, 0.9), 200, 0, 1000, func(f *Find) { f.Confidence = 0.5 }},
		// The hardest case: the rate is just below the target below n* and just reaches it above.
		{"flat", flat(0.899, 1000), 100, 0, 2000, func(f *Find) { f.Confidence = 0.5; f.MaxTrials = 2000 }},
		{"flat from the start", flat(0.9, 0), 100, 0, 2000, func(f *Find) { f.Confidence = 0.5; f.MaxTrials = 2000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			find := usual()
			find.To = 1 << 12
			c.change(&find)
			truth := star(c.rate, find)
			if c.star != 0 && truth != c.star {
				t.Errorf("n* = %d, want %d", truth, c.star)
			}
			if !testkit.LongRun() {
				c.runs /= 20
			}
			misses, decided := 0, 0
			var trials []int64
			for seed := range uint64(c.runs) {
				r := world{rate: c.rate, seed: seed}.solve(t, find)
				trials = append(trials, r.Trials)
				if wrong(r, truth) {
					misses++
				}
				if r.Status == StatusDecided {
					decided++
				}
			}
			slices.Sort(trials)
			t.Logf("n* = %d: %d of %d decided, %d wrong, trials %d, %d",
				truth, decided, c.runs, misses, trials[c.runs/2], trials[c.runs*9/10])
			if limit := mostMisses(c.runs, 1-find.Confidence); misses > limit {
				t.Errorf("%d of %d wrong, at most %d are compatible with confidence %v", misses, c.runs, limit, find.Confidence)
			}
			// The other runs reported a fall.
			if find.MaxTrials > 2000 && c.runs-decided > mostMisses(c.runs, 1-find.Confidence) {
				t.Errorf("%d of %d decided", decided, c.runs)
			}
			if median := float64(trials[c.runs/2]); median > c.most {
				t.Errorf("%v trials at the median, want at most %v", median, c.most)
			}
		})
	}
}

// TestBetsAreFair checks that no bet has a positive expected gain: it computes the exact mean of
// the wealth of a unit bet on one side, at rates on the other side and at Target.
func TestBetsAreFair(t *testing.T) {
	for _, target := range []float64{0.05, 0.5, 0.9, 0.999} {
		var b belief
		b.learn([]*point{
			{Point: Point{N: 500, Consumed: 40, Successes: 20}, x: math.Log(500)},
			{Point: Point{N: 2000, Consumed: 40, Successes: 39}, x: math.Log(2000)},
		}, target, 4, 9)
		o := newFixedBets(target)
		for _, n := range []int64{1, 8, 200} {
			for _, share := range []float64{0, 0.3, 0.9} {
				for s, rate := range map[side]float64{insufficient: target + share*(1-target), sufficient: target - share*target} {
					x := math.Log(900)
					staked, alone := 0.0, 0.0
					for k := range n + 1 {
						p := distuv.Binomial{N: float64(n), P: rate}.Prob(float64(k))
						staked += p * math.Exp(b.stake(x, target, s, int(k), int(n)))
						alone += p * math.Exp(o.wealth(s, int(k), int(n)))
					}
					if staked > 1+1e-9 || alone > 1+1e-9 || share == 0 && min(staked, alone) < 1-1e-9 {
						t.Errorf("side %d of %v, rate %v, %d trials: a unit grows to %v and %v", s, target, rate, n, staked, alone)
					}
				}
			}
		}
		for x := 3.0; x < 9; x += 0.37 { // growths and Target agree on the side
			for i := range b.growths {
				g := b.growths[i]
				success, miss := g.rates(x)
				if (success < target) != (g.crossing > x) || math.Abs(success+miss-1) > 1e-12 {
					t.Errorf("growth %+v at %v: %v, %v", g, x, success, miss)
				}
			}
		}
	}
}

// TestEvidenceIsFair checks that the e-process against the true n* has no positive expected gain
// in a round. It runs searches, and in each of their rounds computes the exact mean over all
// outcomes of the round, which must not exceed the previous value of the e-process.
func TestEvidenceIsFair(t *testing.T) {
	for _, target := range []float64{0.9} {
		find := usual()
		find.From, find.To, find.Target, find.Confidence = 100, 4096, target, 0.999
		w := world{rate: logistic(150, 2, target), seed: 5}
		type told struct {
			n          int64
			first      int
			count, won int
		}
		var history []told
		replay := func(rounds ...told) *Search {
			s, err := NewSearch(find)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range slices.Concat(history, rounds) {
				for i := range r.count {
					outcome := Miss
					if i < r.won {
						outcome = Success
					}
					s.Add(r.n, r.first+i, outcome)
				}
			}
			return s
		}
		against := func(s *Search, star int64) (log float64) { // e-process against n* = star
			for _, p := range s.read {
				if p.N >= star {
					log += p.wealth[insufficient]
				} else {
					log += p.wealth[sufficient]
				}
			}
			return log
		}
		checked := 0 // number of rounds in which the belief bets
		for range 9 {
			s := replay()
			blocks := s.Want()
			if s.Done() || s.spots != nil || len(blocks) > 2 {
				break
			}
			if len(blocks) == 1 {
				blocks = append(blocks, Block{N: blocks[0].N})
			}
			a, b := blocks[0], blocks[1]
			if a.Count*b.Count > 300 {
				break
			}
			stars := []int64{a.N, b.N, b.N + 1, (a.N + b.N) / 2}
			rates := []float64{0, 0.5} // fractions of the distance from Target to the end of its side
			mean := make([]float64, len(stars)*len(rates))
			for i := range a.Count + 1 {
				for j := range b.Count + 1 {
					next := replay(told{a.N, a.First, a.Count, i}, told{b.N, b.First, b.Count, j})
					for k := range mean {
						star, part := stars[k/len(rates)], rates[k%len(rates)]
						chance := func(b Block, won int) float64 {
							p := target + part*(1-target)
							if b.N < star {
								p = target - part*target
							}
							return distuv.Binomial{N: float64(b.Count), P: p}.Prob(float64(won))
						}
						mean[k] += chance(a, i) * chance(b, j) * math.Exp(against(next, star))
					}
				}
			}
			for k := range mean {
				star := stars[k/len(rates)]
				if before := math.Exp(against(s, star)); mean[k] > before*(1+1e-9) {
					t.Errorf("target %v, round of %v: E(%d) grows from %v to %v on the average", target, blocks, star, before,
						mean[k])
				}
			}
			if !s.doubling {
				checked++
			}
			for _, b := range s.Want() {
				won := 0
				for i := range b.Count {
					if w.outcome(b.N, b.First+i) == Success {
						won++
					}
				}
				history = append(history, told{b.N, b.First, b.Count, won})
			}
		}
		if checked < 4 {
			t.Errorf("target %v: the belief bets in %d rounds", target, checked)
		}
	}
}

// TestPredictions checks that Left predicts the remaining trials within a factor of three at the median.
func TestPredictions(t *testing.T) {
	find := usual()
	find.Within = 1.25
	var early, late []float64 // predicted over actual trials, before and after a third of them
	for seed := range uint64(20) {
		w := world{rate: logistic(1000+60*float64(seed), 2+float64(seed%4), find.Target), seed: seed}
		total := float64(w.solve(t, find).Trials)
		s, err := NewSearch(find)
		if err != nil {
			t.Fatal(err)
		}
		for !s.Done() {
			sum := 0
			for _, b := range s.Left() {
				sum += b.Count
			}
			ratio := float64(sum) / (total - float64(s.trials))
			if s.trials < int64(total/3) {
				early = append(early, ratio)
			} else {
				late = append(late, ratio)
			}
			for _, b := range s.Want() {
				w.run(s, b)
			}
		}
		if len(s.Left()) > 0 {
			t.Fatal("something is left of a search that is done")
		}
	}
	slices.Sort(early)
	slices.Sort(late)
	part := func(x []float64, share int) float64 { return x[len(x)*share/100] }
	t.Logf("predicted over actual trials: %.2f (%.2f to %.2f) in the first third, then %.2f (%.2f to %.2f)",
		part(early, 50), part(early, 10), part(early, 90), part(late, 50), part(late, 10), part(late, 90))
	for what, ratios := range map[string][]float64{"first": early, "later": late} {
		if median := part(ratios, 50); median < 1.0/3 || median > 3 {
			t.Errorf("%s: %.2f times the trials are predicted", what, median)
		}
	}
}
