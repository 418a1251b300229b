package estimate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world is a cell as the search meets it: outcomes are a function of size and repetition.
type world struct {
	rate    func(n int64) float64 // of success
	failing bool                  // whatever does not succeed has failed
	least   int64                 // smaller sizes are refused
	shared  bool                  // one uniform per repetition decides at all sizes: dependence as strong as it can be
	seed    uint64
}

func (w world) outcome(n int64, rep int) Outcome {
	stream := uint64(n) << 24
	if w.shared {
		stream = 0
	}
	u := rand.New(rand.NewPCG(w.seed, stream^uint64(rep))).Float64()
	switch {
	case u < w.rate(n):
		return Success
	case w.failing:
		return Failed
	default:
		return Miss
	}
}

// solve runs a search to its end, with only the trials that it wants and in their order.
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

// refuse answers what the search needs to know, and reports whether a size was refused.
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

// logistic has success rate target at star and that slope in ln n.
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
		reason string // part of it
		low    int64
		high   int64
	}{
		{"step", world{rate: step(1000)}, usual(), StatusDecided, "", 832, 1024},
		{"step, every integer", world{rate: step(1000)}, with(func(f *Find) { f.Within = 1 }), StatusDecided, "", 999, 1000},
		{"step, from 1", world{rate: step(3)}, with(func(f *Find) { f.From = 1; f.Within = 1.01 }), StatusDecided, "", 2, 3},
		{"step at to", world{rate: step(1000)}, with(func(f *Find) { f.To = 1000 }), StatusDecided, "", 832, 1000},
		{"step, huge range", world{rate: step(123_456_789_012)}, with(func(f *Find) { f.From = 1; f.To = 1e12; f.Within = 1.01 }),
			StatusDecided, "", 123_211_874_304, 123_614_527_488},
		{"always wrong", world{rate: constant(0)}, usual(), StatusAboveRange, "", 1_000_000, 0},
		{"always right", world{rate: constant(1)}, usual(), StatusBelowRange, "", 0, 64},
		{"always failing", world{rate: constant(0), failing: true}, usual(), StatusFailed, "not one trial", 1_000_000, 0},
		{"mostly failing", world{rate: constant(0.1), failing: true}, usual(), StatusAboveRange, "", 1_000_000, 0},
		{"one size, sufficient", world{rate: constant(1)}, with(func(f *Find) { f.To = 64 }), StatusBelowRange, "", 0, 64},
		{"one size, insufficient", world{rate: constant(0)}, with(func(f *Find) { f.To = 64 }), StatusAboveRange, "", 64, 0},
		{"all refused", world{rate: constant(1), least: 2_000_000}, usual(), StatusInfeasible, "too small", 1_000_000, 0},
		{"some refused", world{rate: constant(1), least: 1000}, usual(), StatusDecided, "", 704, 1024},
		{"refused, then insufficient", world{rate: constant(0), least: 1000}, usual(), StatusAboveRange, "", 1_000_000, 0},
		{"at the target everywhere", world{rate: constant(0.9)}, with(func(f *Find) { f.MaxTrials = 20_000 }), StatusUndecided, "limit of 20000 trials", 0, 0},
		{"limit below one step", world{rate: constant(1)}, with(func(f *Find) { f.MaxTrials = 31 }), StatusUndecided, "0 were used", 0, 0},
		{"failing until the limit", world{rate: constant(0), failing: true}, with(func(f *Find) { f.MaxTrials = 50 }), StatusFailed, "not one trial", 128, 0},
		{"target one half", world{rate: step(1000)}, with(func(f *Find) { f.Target = 0.5 }), StatusDecided, "", 832, 1024},
		{"target 0.999", world{rate: step(1000)}, with(func(f *Find) { f.Target = 0.999 }), StatusDecided, "", 832, 1024},
		{"many cells", world{rate: step(1000)}, with(func(f *Find) { f.Cells = 1e6 }), StatusDecided, "", 832, 1024},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.world.solve(t, c.find)
			if r.Status != c.status || r.Low != c.low || r.High != c.high || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("got %s (%s) %d to %d, want %s (%s) %d to %d", r.Status, r.Reason, r.Low, r.High, c.status, c.reason, c.low, c.high)
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

// One size is read as sufficient in the same round in which a larger one is read as insufficient.
func TestNotMonotone(t *testing.T) {
	find := usual()
	find.Target = 0.5
	r := world{rate: func(n int64) float64 {
		if n < 100 {
			return 1
		}
		return 0
	}}.solve(t, find)
	if r.Status != StatusUndecided || r.Reason != "not monotone: n = 64 is sufficient, n = 128 is not" {
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
	w := world{rate: constant(0.9)}
	s := start()
	s.Lost(64, 40, "gone")     // not needed yet
	s.Lost(100_000, 3, "gone") // never needed
	w.run(s, Block{64, 0, 40})
	s.Lost(64, 39, "known already")
	w.run(s, Block{128, 0, 31})
	if s.Done() {
		t.Fatalf("ended too early: %+v", s.Result())
	}
	w.run(s, Block{128, 31, 1}) // the last of this round; the next needs what is lost
	want := Result{Status: StatusUndecided, Reason: "repetition 40 at n = 64 is lost: gone", Trials: 64}
	got := s.Result()
	for _, p := range got.Points {
		if p.Consumed != 32 {
			t.Errorf("point %+v, want 32 trials", p)
		}
	}
	if got.Points = nil; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}

	s = start()
	s.Lost(64, 20, "gone")
	w.run(s, Block{64, 20, 1}) // had after all
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

func drawFind(t *rapid.T) Find {
	from := rapid.Int64Range(1, 200).Draw(t, "from")
	return Find{
		From: from, To: from + int64(math.Exp(rapid.Float64Range(0, 9).Draw(t, "ln range"))) - 1,
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

// What a search reads and decides does not depend on the order of outcomes, on doubled ones, or on trials that it did not want.
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
			switch r.IntN(3) {
			case 0:
				blocks = append(blocks, s.Guess(1+r.IntN(4))...)
			case 1:
				n := find.From + r.Int64N(find.To-find.From+1)
				blocks = append(blocks, Block{n, r.IntN(40), 1 + r.IntN(40)})
			}
			for _, b := range blocks {
				for i := range b.Count {
					if b.N >= w.least { // nobody runs a size that is refused
						trials = append(trials, trial{b.N, b.First + i})
					}
				}
			}
			r.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
			trials = trials[:len(trials)-r.IntN(len(trials)/2+1)] // some come later
			for _, a := range trials {
				s.Add(a.n, a.rep, w.outcome(a.n, a.rep))
			}
			added = append(added, trials...)
			for range min(5, len(added)) { // and some again
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

// Want and Guess name trials that are not known, on the grid, without overlap; and what is wanted is enough to go on.
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
		known := map[string]bool{}
		for steps := 0; !s.Done(); steps++ {
			if steps > 10_000 {
				t.Fatal("the search does not end")
			}
			want := s.Want()
			if len(want) == 0 {
				t.Fatalf("nothing is wanted, but the search runs: %+v", s.Result())
			}
			k := r.IntN(6)
			guess := s.Guess(k)
			if len(guess) > k {
				t.Fatalf("asked for %d guesses, got %d", k, len(guess))
			}
			seen := map[string]bool{}
			for i, b := range slices.Concat(want, guess) {
				for j := range b.Count {
					id := fmt.Sprint(b.N, "/", b.First+j)
					if known[id] || seen[id] {
						t.Fatalf("block %d %+v: trial %s is known or named twice", i, b, id)
					}
					seen[id] = true
				}
				if b.Count < 1 || b.First < 0 || s.grid.size(s.grid.atLeast(b.N)) != b.N {
					t.Fatalf("bad block %+v", b)
				}
			}
			b := want[r.IntN(len(want))]
			if len(guess) > 0 && r.IntN(2) == 0 {
				b = guess[0]
			}
			b.Count = min(b.Count, 1+r.IntN(100))
			w.run(s, b)
			for j := range b.Count {
				known[fmt.Sprint(b.N, "/", b.First+j)] = true
			}
		}
		if s.Want() != nil || s.Guess(3) != nil || s.Needs() != nil {
			t.Fatal("a search that is done wants more")
		}
	})
}

// walk visits every bracket that any sequence of decisions can lead to, and calls visit with it and the sizes opened there.
func walk(s *Search, visit func(low, high, first, second int)) {
	type bracket struct{ low, high int }
	seen := map[bracket]bool{}
	var from func(b bracket)
	from = func(b bracket) {
		if b.low == s.grid.last() || b.high == 0 || s.narrow(b.low, b.high) || seen[b] {
			return
		}
		seen[b] = true
		first, second := s.pair(b.low, b.high)
		visit(b.low, b.high, first, second)
		for _, next := range []bracket{{first, b.high}, {second, b.high}, {b.low, first}, {b.low, second}, {first, second}} {
			if next.low < next.high {
				from(next)
			}
		}
	}
	from(bracket{-1, s.grid.last() + 1})
}

// The union bound divides by the number of sizes on the grid: no sequence of decisions may open a size that is not on it, or
// reach a bracket where the search cannot go on.
func TestEveryDecisionSequence(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, find Find) (opened int) {
		s := &Search{find: find, grid: newGrid(find.From, find.To, find.Within)}
		sizes := map[int64]bool{}
		walk(s, func(low, high, first, second int) {
			if first <= low || second >= high || first > second {
				t.Fatalf("%+v: bracket %d to %d opens %d and %d", find, low, high, first, second)
			}
			alone := low >= 0 && high <= s.grid.last() && first == second
			if alone && (high-low > 2 || s.grid.size(high)-s.grid.size(low) != 2) {
				t.Fatalf("%+v: bracket %d to %d opens only %d", find, s.grid.size(low), s.grid.size(high), s.grid.size(first))
			}
			sizes[s.grid.size(first)], sizes[s.grid.size(second)] = true, true
		})
		if total := math.Round((1 - find.Confidence) / find.Level()); float64(len(sizes)) > total {
			t.Fatalf("%+v: %d sizes can be opened, the level counts %v", find, len(sizes), total)
		}
		return len(sizes)
	}
	find := usual()
	find.Within = 1.1
	if got := check(t, find); got < 440 {
		t.Errorf("%d sizes opened; the grid of 447 is finer than it needs to be", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		find := drawFind(t)
		find.Within = math.Exp(rapid.Float64Range(0.005, 2).Draw(t, "ln within"))
		find.Cells = 1
		check(t, find)
	})
}

func TestGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		find := drawFind(t)
		g := newGrid(find.From, find.To, find.Within)
		finer := newGrid(find.From, find.To, 1+(find.Within-1)*rapid.Float64Range(0.3, 1).Draw(t, "finer"))
		if g.size(0) != find.From || g.size(g.last()) != find.To {
			t.Fatalf("grid runs from %d to %d", g.size(0), g.size(g.last()))
		}
		for i := range g.last() + 1 {
			n := g.size(i)
			if g.atLeast(n) != i || finer.size(finer.atLeast(n)) != n {
				t.Fatalf("size %d at index %d is found at %d, and in a finer grid %d", n, i, g.atLeast(n), finer.size(finer.atLeast(n)))
			}
			if i == 0 {
				continue
			}
			before := g.size(i - 1)
			if gap := n - before; gap < 1 || gap > 1 && float64(gap-1) > float64(before)*(math.Cbrt(find.Within)-1) {
				t.Fatalf("neighbours %d and %d", before, n)
			}
			if gap := n - before; gap > 1 && g.atLeast(before+1) != i {
				t.Fatalf("least size from %d on is at %d, want %d", before+1, g.atLeast(before+1), i)
			}
		}
		for n := find.From; n < find.To; n *= 2 {
			if i := g.atLeast(n); g.size(i) != n || g.size(g.doubled(i)) != min(2*n, find.To) {
				t.Fatalf("doubling point %d: index %d, next %d", n, i, g.size(g.doubled(i)))
			}
		}
	})
}

func TestLargestGrids(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		within   float64
		last     int
	}{
		{1, 1 << 40, 1, 1<<40 - 1},
		{1, 1 << 40, 1.1, 32 + 35*32 - 1},
		{1 << 40, 1 << 40, 2, 0},
		{1, 1 << 40, 1e300, 40},
	} {
		g := newGrid(c.from, c.to, c.within)
		if g.last() != c.last || g.size(g.last()) != c.to || g.atLeast(c.to) != c.last {
			t.Errorf("%+v: last %d, size %d, found at %d", c, g.last(), g.size(g.last()), g.atLeast(c.to))
		}
	}
}

func TestCheckpoints(t *testing.T) {
	c := 0
	for _, want := range []int{16, 32, 48, 64, 80, 96, 112, 128, 144, 162, 182} {
		if c = checkpoint(c); c != want {
			t.Fatalf("got checkpoint %d, want %d", c, want)
		}
	}
}
