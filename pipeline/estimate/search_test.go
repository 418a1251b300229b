package estimate

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A world is a simulated cell: outcomes are a function of size and repetition.
type world struct {
	rate    func(n int64) float64 // success rate
	failing bool                  // all misses are failures
	least   int64                 // smaller sizes are refused
	seed    uint64
}

func (w world) outcome(n int64, rep int) Outcome {
	u := rand.New(rand.NewPCG(w.seed, uint64(n)<<24^uint64(rep))).Float64()
	switch {
	case u < w.rate(n):
		return Success
	case w.failing:
		return Failed
	default:
		return Miss
	}
}

// solve runs a search to its end. It runs only the trials that the search wants, in their order.
func (w world) solve(t interface{ Fatal(...any) }, find Find) Result {
	s, err := NewSearch(find)
	if err != nil {
		t.Fatal(err)
	}
	for !s.Done() {
		if w.refuse(s) {
			continue
		}
		for _, b := range s.Want() {
			w.run(s, b)
		}
	}
	return s.Result()
}

// refuse refuses the sizes that the search needs and the world does not support, and reports
// whether there are any.
func (w world) refuse(s *Search) bool {
	refused := false
	for _, n := range s.Needs() {
		if n < w.least {
			s.Infeasible(n, "too small")
			refused = true
		}
	}
	return refused
}

func (w world) run(s *Search, b Block) {
	for i := range b.Count {
		s.Add(b.N, b.First+i, w.outcome(b.N, b.First+i))
	}
}

// A size whose rate is nearly the target takes no more than about a third of the limit, and the sizes
// next to it are shown insufficient and sufficient all the same.
func TestSpentSizes(t *testing.T) {
	const limit = 50000
	rate := func(n int64) float64 { return []float64{0.87, 0.9001, 0.93}[min(max(n, 13), 15)-13] }
	for seed := range uint64(3) {
		r := world{rate: rate, seed: seed}.solve(t, Find{
			From: 1, To: 10000, Within: 1.05, Confidence: 0.95, Target: 0.9, Cells: 1, MaxTrials: limit,
		})
		for _, p := range r.Points {
			if p.Consumed > limit/2 {
				t.Errorf("seed %d: %d of %d trials at n = %d", seed, p.Consumed, r.Trials, p.N)
			}
		}
		if r.Status != StatusUndecided || r.Low != 13 || r.High != 15 {
			t.Errorf("seed %d: %s, bracket (%d, %d]: %s", seed, r.Status, r.Low, r.High, r.Reason)
		}
	}
}

// logistic returns a rate that equals target at star and has that slope in ln n.
func logistic(star, slope, target float64) func(int64) float64 {
	return func(n int64) float64 {
		return 1 / (1 + (1-target)/target*math.Pow(float64(n)/star, -slope))
	}
}

func constant(rate float64) func(int64) float64 { return func(int64) float64 { return rate } }

func usual() Find {
	return Find{From: 64, To: 1_000_000, Within: 1.5, Confidence: 0.95, Target: 0.9, Cells: 1, MaxTrials: 1_000_000}
}

func TestSearchEnds(t *testing.T) {
	with := func(change func(*Find)) Find { f := usual(); change(&f); return f }
	step := func(n int64) func(int64) float64 {
		return func(m int64) float64 {
			if m >= n {
				return 1
			}
			return 0
		}
	}
	for _, c := range []struct {
		name   string
		world  world
		find   Find
		status string
		reason string // required substring
		low    int64
		high   int64 // 0, 0 if decided: the bracket is narrow and contains star
		star   int64
	}{
		{"step", world{rate: step(1000)}, usual(), StatusDecided, "", 0, 0, 1000},
		{"step, every integer", world{rate: step(1000)}, with(func(f *Find) { f.Within = 1 }),
			StatusDecided, "", 999, 1000, 1000},
		{"step, from 1", world{rate: step(3)}, with(func(f *Find) { f.From = 1; f.Within = 1.01 }),
			StatusDecided, "", 2, 3, 3},
		{"step at to", world{rate: step(1000)}, with(func(f *Find) { f.To = 1000 }), StatusDecided, "", 0, 0, 1000},
		{"step, huge range", world{rate: step(123_456_789_012)},
			with(func(f *Find) { f.From = 1; f.To = 1e12; f.Within = 1.01 }),
			StatusDecided, "", 0, 0, 123_456_789_012},
		{"step, huge range, every integer", world{rate: step(123_456_789_012)},
			with(func(f *Find) { f.From = 3; f.To = 1e12; f.Within = 1 }),
			StatusDecided, "", 123_456_789_011, 123_456_789_012, 0},
		{"step, multiples of 10", world{rate: step(1003)}, with(func(f *Find) { f.Step, f.Within = 10, 1 }),
			StatusDecided, "", 1000, 1010, 1003},
		{"multiples of 10, from and to", world{rate: constant(0)}, with(func(f *Find) { f.Step, f.From, f.To = 10, 3, 999 }),
			StatusAboveRange, "", 990, 0, 0},
		{"always wrong", world{rate: constant(0)}, usual(), StatusAboveRange, "", 1_000_000, 0, 0},
		{"always right", world{rate: constant(1)}, usual(), StatusBelowRange, "", 0, 64, 0},
		{"always failing", world{rate: constant(0), failing: true}, usual(), StatusFailed, "not one trial", 1_000_000, 0, 0},
		{"mostly failing", world{rate: constant(0.1), failing: true}, usual(), StatusAboveRange, "", 1_000_000, 0, 0},
		{"one size, sufficient", world{rate: constant(1)}, with(func(f *Find) { f.To = 64 }), StatusBelowRange, "", 0, 64, 0},
		{"one size, insufficient", world{rate: constant(0)}, with(func(f *Find) { f.To = 64 }),
			StatusAboveRange, "", 64, 0, 0},
		{"all refused", world{rate: constant(1), least: 2_000_000}, usual(), StatusInfeasible, "too small", 1_000_000, 0, 0},
		{"some refused", world{rate: constant(1), least: 1000}, usual(), StatusDecided, "", 0, 0, 1000},
		{"refused, then insufficient", world{rate: constant(0), least: 1000}, usual(), StatusAboveRange, "", 1_000_000, 0, 0},
		{"at the target everywhere", world{rate: constant(0.9)}, with(func(f *Find) { f.MaxTrials = 20_000 }),
			StatusUndecided, "limit of 20000 trials", 0, 0, 0},
		{"limit below one step", world{rate: constant(1)}, with(func(f *Find) { f.MaxTrials = 15 }),
			StatusUndecided, "0 were used", 0, 0, 0},
		{"failing until the limit", world{rate: constant(0), failing: true}, with(func(f *Find) { f.MaxTrials = 50 }),
			StatusFailed, "not one trial", 2048, 0, 0},
		{"target one half", world{rate: step(1000)}, with(func(f *Find) { f.Target = 0.5 }), StatusDecided, "", 0, 0, 1000},
		{"target 0.999", world{rate: step(1000)}, with(func(f *Find) { f.Target = 0.999 }), StatusDecided, "", 0, 0, 1000},
		{"many cells", world{rate: step(1000)}, with(func(f *Find) { f.Cells = 1e6 }), StatusDecided, "", 0, 0, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.world.solve(t, c.find)
			if c.star > 0 && r.Low < c.star && c.star <= r.High && c.find.narrow(r.Low, r.High) && c.low == 0 {
				c.low, c.high = r.Low, r.High
			}
			if r.Status != c.status || r.Low != c.low || r.High != c.high || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("got %s (%s) %d to %d, want %s (%s) %d to %d",
					r.Status, r.Reason, r.Low, r.High, c.status, c.reason, c.low, c.high)
			}
			total := int64(0)
			for _, p := range r.Points {
				total += int64(p.Consumed)
			}
			if total != r.Trials || r.Trials > c.find.MaxTrials {
				t.Errorf("%d trials, points have %d, limit %d", r.Trials, total, c.find.MaxTrials)
			}
		})
	}
}

// TestSearchesEnd checks that a search ends for random goals and random cells.
func TestSearchesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		find := Find{
			From: 1 << rapid.IntRange(0, 20).Draw(t, "from"), To: maxSize >> rapid.IntRange(0, 20).Draw(t, "to"),
			Within:     1 + math.Exp(rapid.Float64Range(-40, 5).Draw(t, "within")),
			Confidence: rapid.SampledFrom([]float64{1e-9, 0.5, 0.999}).Draw(t, "confidence"),
			Target:     rapid.SampledFrom([]float64{1e-9, 0.001, 0.3, 0.9, 0.999, 1 - 1e-9}).Draw(t, "target"),
			Cells:      rapid.SampledFrom([]int{1, 1e6}).Draw(t, "cells"),
			MaxTrials:  rapid.SampledFrom([]int64{1, 100, 3000}).Draw(t, "limit"),
			Gap:        rapid.SampledFrom([]int64{0, 2, 1000}).Draw(t, "gap"),
			Ends:       rapid.Bool().Draw(t, "ends"),
		}
		star := float64(find.From) * math.Exp(rapid.Float64Range(-1, 28).Draw(t, "ln star"))
		rates := []func(int64) float64{
			logistic(star, rapid.SampledFrom([]float64{-5, 0.01, 1, 100, 1e6}).Draw(t, "slope"), find.Target),
			constant(rapid.Float64Range(0, 1).Draw(t, "rate")),
			func(n int64) float64 { return float64(n % 2) },
			func(n int64) float64 { return float64(bits.Len64(uint64(n)) % 2) },
		}
		w := world{
			rate:  rapid.SampledFrom(rates).Draw(t, "rate of success"),
			seed:  rapid.Uint64().Draw(t, "seed"),
			least: rapid.Int64Range(0, 1<<20).Draw(t, "least"),
		}
		s, err := NewSearch(find)
		if err != nil {
			t.Fatal(err)
		}
		for rounds := 0; !s.Done(); rounds++ {
			if rounds > 2000 {
				t.Fatalf("no end after %d rounds: %+v", rounds, s.Result())
			}
			if w.refuse(s) {
				continue
			}
			want := s.Want()
			if len(want) == 0 {
				t.Fatalf("nothing is wanted: %+v", s.Result())
			}
			s.Left()
			for _, b := range want {
				w.run(s, b)
			}
		}
		if r := s.Result(); r.Status == StatusDecided && !find.narrow(r.Low, r.High) {
			t.Fatalf("decided on %+v", r)
		}
	})
}

// TestNotMonotone checks that a search reports a sufficient size below an insufficient one.
func TestNotMonotone(t *testing.T) {
	find := usual()
	find.Target = 0.5
	r := world{rate: func(n int64) float64 {
		if n < 100 {
			return 1
		}
		return 0
	}}.solve(t, find)
	if r.Status != StatusUndecided || !strings.HasPrefix(r.Reason,
		"success falls: n = 64 is sufficient, n = 128 is not; search a range where it does not, by n.from and n.to") {
		t.Errorf("got %+v", r)
	}
}

func TestLost(t *testing.T) {
	start := func() *Search {
		s, err := NewSearch(usual())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	w := world{rate: constant(1)}
	s := start()
	s.Lost(64, 8, "gone")      // not needed yet
	s.Lost(100_000, 3, "gone") // never needed
	w.run(s, Block{64, 0, 8})
	s.Lost(64, 7, "known already")
	w.run(s, Block{128, 0, 7})
	if s.Done() {
		t.Fatalf("ended too early: %+v", s.Result())
	}
	w.run(s, Block{128, 7, 1}) // last trial of this round; the next round needs the lost trial
	want := Result{Status: StatusUndecided, Reason: "repetition 8 at n = 64 is lost: gone", Trials: 16}
	got := s.Result()
	for _, p := range got.Points {
		if p.Consumed != 8 {
			t.Errorf("point %+v, want 8 trials", p)
		}
	}
	if got.Points = nil; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}

	s = start()
	s.Lost(64, 10, "gone")
	w.run(s, Block{64, 10, 1}) // outcome of a lost trial
	w.run(s, Block{64, 0, 40})
	w.run(s, Block{128, 0, 40})
	if s.Done() {
		t.Errorf("a trial that came after all stays lost: %+v", s.Result())
	}
}

func TestFindIsChecked(t *testing.T) {
	for what, change := range map[string]func(*Find){
		"from":       func(f *Find) { f.From = 0 },
		"to":         func(f *Find) { f.To = 63 },
		"step":       func(f *Find) { f.Step = -1 },
		"steps":      func(f *Find) { f.From, f.To, f.Step = 64, 99, 100 },
		"2^40":       func(f *Find) { f.To = 1<<40 + 1 },
		"within":     func(f *Find) { f.Within = 0.9 },
		"ratio":      func(f *Find) { f.Within = math.NaN() },
		"confidence": func(f *Find) { f.Confidence = 1 },
		"target":     func(f *Find) { f.Target = 0 },
		"cells":      func(f *Find) { f.Cells = 0 },
		"limit":      func(f *Find) { f.MaxTrials = 0 },
	} {
		f := usual()
		change(&f)
		if s, err := NewSearch(f); err == nil || s != nil {
			t.Errorf("%s: %+v is accepted", what, f)
		}
	}
}

// The last trials at the upper end of a bracket decide nothing, and their success rate has no bias.
func TestFinalTrials(t *testing.T) {
	w := world{rate: logistic(500, 3, 0.9)}
	excess, variance := 0.0, 0.0
	for seed := range uint64(80) {
		w.seed = seed
		r := w.solve(t, usual())
		for _, p := range r.Points {
			if p.Final > 0 && (p.N != r.High || p.Final < minFinal) {
				t.Fatalf("seed %d: %d final trials at %d, bracket to %d", seed, p.Final, p.N, r.High)
			}
			rate := w.rate(p.N)
			for rep := p.Consumed - p.Final; rep < p.Consumed; rep++ {
				if variance += rate * (1 - rate); w.outcome(p.N, rep) == Success {
					excess++
				}
				excess -= rate
			}
		}
	}
	if z := excess / math.Sqrt(variance); variance < 80 || math.Abs(z) > 4 {
		t.Errorf("%.1f more successes than expected, variance %.1f", excess, variance)
	}
}

func drawFind(t *rapid.T) Find {
	from := rapid.Int64Range(1, 200).Draw(t, "from")
	return Find{
		From: from, To: from + int64(math.Exp(rapid.Float64Range(0, 9).Draw(t, "ln range"))) - 1,
		Step:       rapid.SampledFrom([]int64{0, 0, 1}).Draw(t, "step"),
		Within:     rapid.SampledFrom([]float64{1, 1.1, 1.5, 2, 3, 10}).Draw(t, "within"),
		Confidence: rapid.SampledFrom([]float64{0.5, 0.95}).Draw(t, "confidence"),
		Target:     rapid.SampledFrom([]float64{0.5, 0.9, 0.99}).Draw(t, "target"),
		Cells:      rapid.SampledFrom([]int{1, 40}).Draw(t, "cells"),
		MaxTrials:  rapid.SampledFrom([]int64{20, 400, 5000}).Draw(t, "limit"),
	}
}

func drawWorld(t *rapid.T, f Find) world {
	star := float64(f.From) * math.Exp(rapid.Float64Range(-1, 8).Draw(t, "ln star"))
	return world{
		rate:    logistic(star, rapid.SampledFrom([]float64{-2, 0, 2, 20}).Draw(t, "slope"), f.Target),
		failing: rapid.Bool().Draw(t, "failing"),
		least:   rapid.SampledFrom([]int64{0, 0, f.From + 1, 300, 1 << 30}).Draw(t, "least"),
		seed:    rapid.Uint64().Draw(t, "seed"),
	}
}

// TestOrderDoesNotMatter checks that the trials that a search reads and its decision do not
// depend on the order of outcomes, on repeated outcomes, or on trials that it did not want.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		find := drawFind(t)
		w := drawWorld(t, find)
		want := w.solve(t, find)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		s, err := NewSearch(find)
		if err != nil {
			t.Fatal(err)
		}
		type trial struct {
			n   int64
			rep int
		}
		var added []trial
		for !s.Done() {
			w.refuse(s)
			var trials []trial
			blocks := s.Want()
			if r.IntN(2) == 0 { // unrequested outcomes, as from an earlier run or the cache
				n := find.From + r.Int64N(find.To-find.From+1)
				blocks = append(blocks, Block{n, r.IntN(40), 1 + r.IntN(40)})
			}
			for _, b := range blocks {
				for i := range b.Count {
					if b.N >= w.least { // refused sizes are never run
						trials = append(trials, trial{b.N, b.First + i})
					}
				}
			}
			r.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
			trials = trials[:len(trials)-r.IntN(len(trials)/2+1)] // some arrive later
			for _, a := range trials {
				s.Add(a.n, a.rep, w.outcome(a.n, a.rep))
			}
			added = append(added, trials...)
			for range min(5, len(added)) { // and some twice
				a := added[r.IntN(len(added))]
				s.Add(a.n, a.rep, w.outcome(a.n, a.rep))
			}
		}
		if got := s.Result(); !cmp.Equal(got, want) {
			t.Fatal(cmp.Diff(want, got))
		}
		replay, err := NewSearch(find)
		if err != nil {
			t.Fatal(err)
		}
		r.Shuffle(len(added), func(i, j int) { added[i], added[j] = added[j], added[i] })
		for _, a := range added {
			replay.Add(a.n, a.rep, w.outcome(a.n, a.rep))
		}
		for !replay.Done() && w.refuse(replay) {
		}
		if got := replay.Result(); !cmp.Equal(got, want) {
			t.Fatalf("replay: %s", cmp.Diff(want, got))
		}
	})
}

// TestBlocksAreNewTrials checks that Want returns unknown trials without overlap, inside the
// bracket until that is narrow enough and outside of it from then on, and that these suffice to
// continue.
func TestBlocksAreNewTrials(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		find := drawFind(t)
		w := drawWorld(t, find)
		w.least = 0
		r := rand.New(rand.NewPCG(w.seed, 1))
		s, err := NewSearch(find)
		if err != nil {
			t.Fatal(err)
		}
		known := map[[2]int64]bool{} // keys: size and repetition
		for steps := 0; !s.Done(); steps++ {
			if steps > 10_000 {
				t.Fatal("the search does not end")
			}
			want := s.Want()
			if len(want) == 0 {
				t.Fatalf("nothing is wanted, but the search runs: %+v", s.Result())
			}
			seen := map[[2]int64]bool{}
			for i, b := range want {
				for j := range b.Count {
					id := [2]int64{b.N, int64(b.First + j)}
					if known[id] || seen[id] {
						t.Fatalf("block %d %+v: trial %v is known or named twice", i, b, id)
					}
					seen[id] = true
				}
				if outside := b.N <= s.low || b.N >= s.high; b.Count < 1 || b.First < 0 || outside != (s.spots != nil) {
					t.Fatalf("bad block %+v", b)
				}
			}
			b := want[r.IntN(len(want))]
			b.Count = min(b.Count, 1+r.IntN(100))
			w.run(s, b)
			for j := range b.Count {
				known[[2]int64{b.N, int64(b.First + j)}] = true
			}
		}
		if s.Want() != nil || s.Needs() != nil {
			t.Fatal("a search that is done wants more")
		}
	})
}
