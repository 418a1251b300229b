package estimate

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// choose returns the binomial coefficient.
func choose(n, k int) float64 {
	c, _ := new(big.Float).SetInt(new(big.Int).Binomial(int64(n), int64(k))).Float64()
	return c
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

func TestSignTest(t *testing.T) {
	for a := range 30 {
		for b := range 30 {
			want := 0.0
			for k := range min(a, b) + 1 {
				want += 2 * choose(a+b, k) / math.Pow(2, float64(a+b))
			}
			if got := SignTest(a, b); !near(got, min(1, want)) {
				t.Errorf("%d to %d: %v, want %v", a, b, got, min(1, want))
			}
		}
	}
	if got := SignTest(0, 5000); got != 0 && got > 1e-300 {
		t.Error(got)
	}
	if got := SignTest(500000, 500100); got < 0.9 || got > 1 { // z = 0.1
		t.Error(got)
	}
}

// ever returns the probability that a test of fair coins is at most level after one of the first n
// flips, if one looks after each.
func ever(test func(a, b int) float64, n int, level float64) float64 {
	alive, rejected := []float64{1}, 0.0 // by heads
	for flips := 1; flips <= n; flips++ {
		next := make([]float64, flips+1)
		for heads, p := range alive {
			next[heads] += p / 2
			next[heads+1] += p / 2
		}
		for heads := range next {
			if test(heads, flips-heads) <= level {
				rejected += next[heads]
				next[heads] = 0
			}
		}
		alive = next
	}
	return rejected
}

// TestSequentialSignTest checks that somebody who stops when the pairs look good is not fooled by
// the sequential test, but is by the exact one.
func TestSequentialSignTest(t *testing.T) {
	for _, level := range []float64{0.3, 0.05, 0.001} {
		if got := ever(SequentialSignTest, 600, level); got > level || got == 0 {
			t.Errorf("sequential: rejects at level %v with probability %v", level, got)
		}
		if got := ever(SignTest, 600, level); got <= level {
			t.Errorf("exact: rejects at level %v with probability %v, though one looks after each pair", level, got)
		}
	}
	if SequentialSignTest(0, 0) != 1 {
		t.Error("no pair shows nothing")
	}
}

func TestFisher(t *testing.T) {
	if got := Fisher(3, 4, 1, 4); !near(got, 34.0/70) { // the lady tasting tea
		t.Errorf("%v", got)
	}
	for n := 1; n <= 8; n++ {
		for m := 1; m <= 8; m++ {
			for k := range n + 1 {
				for l := range m + 1 {
					want, here := 0.0, choose(n, k)*choose(m, l)
					for x := max(0, k+l-m); x <= min(n, k+l); x++ {
						if w := choose(n, x) * choose(m, k+l-x); w <= here {
							want += w / choose(n+m, k+l)
						}
					}
					if got := Fisher(k, n, l, m); !near(got, want) {
						t.Fatalf("%d of %d, %d of %d: %v, want %v", k, n, l, m, got, want)
					}
				}
			}
		}
	}
}

func TestPairedTest(t *testing.T) {
	// 3+2-1 and 3+2+1, and their opposites, each for both signs of 0.
	if got := PairedTest([]float64{3, -1, 2, 0}); !near(got, 8.0/16) {
		t.Errorf("%v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 10).Draw(t, "differences")
		for i := range d {
			d[i] = math.Round(d[i])
		}
		// The share of choices of signs that are rejected at a level is at most that level.
		var p []float64
		for signs := range 1 << len(d) {
			e := slices.Clone(d)
			for i := range e {
				if signs>>i&1 == 1 {
					e[i] = -e[i]
				}
			}
			p = append(p, PairedTest(e))
		}
		slices.Sort(p)
		for i, v := range p {
			if share := float64(i+1) / float64(len(p)); share > v+1e-12 && (i+1 == len(p) || p[i+1] > v) {
				t.Fatalf("%v: %v of all signs have a p-value of at most %v", d, share, v)
			}
		}
	})
	many := make([]float64, 40)
	for i := range many {
		many[i] = 1
	}
	if got := PairedTest(many); got != math.Pow(2, -39) { // as much as 40 signs can show
		t.Errorf("equal differences: %v", got)
	}
	for _, none := range [][]float64{nil, {0}, make([]float64, 50)} {
		if got := PairedTest(none); got != 1 {
			t.Errorf("%v: %v", none, got)
		}
	}
}

// TestPairedTestOfMany compares Student's tail with tables: two-sided 0.05 at 39 degrees of freedom
// is t = 2.0227.
func TestPairedTestOfMany(t *testing.T) {
	d := make([]float64, 40)
	for i := range d {
		d[i] = float64(2*(i%2) - 1)
	}
	shift := 2.0227 * math.Sqrt(40.0/39) / math.Sqrt(40)
	for i := range d {
		d[i] += shift
	}
	if got := PairedTest(d); math.Abs(got-0.05) > 1e-4 {
		t.Errorf("%v", got)
	}
}

func TestHolm(t *testing.T) {
	want := []float64{0.03, 0.06, 0.06, 0.02}
	for i, got := range Holm([]float64{0.01, 0.04, 0.03, 0.005}) {
		if !near(got, want[i]) {
			t.Errorf("%d: %v, want %v", i, got, want[i])
		}
	}
	if len(Holm(nil)) != 0 {
		t.Error("of nothing")
	}
}

func TestCompare(t *testing.T) {
	decided := func(low, high int64) Side { return Side{Status: StatusDecided, Low: low, High: high} }
	fixed := Side{Status: StatusUndecided, Fixed: true}
	online := Side{Fixed: true}
	test := func(of string, p float64, pairs int) []Test { return []Test{{of, p, SignTest(pairs, 0)}} }
	brackets := []string{"brackets"}
	for _, c := range []struct {
		name    string
		a, b    Side
		tests   []Test
		verdict string
		by      []string
	}{
		{"overlap", decided(100, 200), decided(150, 300), nil, NotToldApart, nil},
		// n* <= 200 and n* > 200.
		{"touch", decided(100, 200), decided(200, 300), nil, Differ, brackets},
		{"touch the other way", decided(200, 300), decided(100, 200), nil, Differ, brackets},
		{"overlap, test", decided(100, 200), decided(150, 300), test("successes", 0.05, 99), Differ, []string{"successes"}},
		{"overlap, no test", decided(100, 200), decided(150, 300), test("successes", 0.0501, 99), NotToldApart, nil},
		{"apart, test", decided(100, 200), decided(300, 400), test("errors", 0, 99), Differ, []string{"brackets", "errors"}},
		{"undecided", decided(100, 200), Side{Status: StatusUndecided, Low: 150}, nil, Unknown, nil},
		{"undecided, but apart", decided(100, 200), Side{Status: StatusUndecided, Low: 300}, nil, Differ, brackets},
		{"above", decided(100, 200), Side{Status: StatusAboveRange, Low: 1000}, nil, Differ, brackets},
		{"both above", Side{Status: StatusAboveRange, Low: 1000}, Side{Status: StatusInfeasible, Low: 500}, nil, NotToldApart, nil},
		{"below", decided(0, 0), Side{Status: StatusBelowRange, High: 10}, nil, NotToldApart, nil},
		{"failed", Side{Status: StatusFailed}, Side{Status: StatusFailed}, test("successes", 1, 99), Unknown, nil},
		{"lists", fixed, fixed, test("successes", 0.5, 99), NotToldApart, nil},
		{"lists of a few trials", fixed, fixed, test("successes", 0.5, 5), Unknown, nil},
		{"lists without a common n", fixed, fixed, nil, Unknown, nil},
		{"online", online, online, test("regret", 0.5, 10), NotToldApart, nil},
		{"few online trials", online, online, test("regret", 0.25, 3), Unknown, nil},
	} {
		got := Compare([]Pair{{c.a, c.b, c.tests}}, 0.05)[0]
		if got.Verdict != c.verdict || !slices.Equal(got.By, c.by) {
			t.Errorf("%s: %+v, want %s by %v", c.name, got, c.verdict, c.by)
		}
	}
	// In a larger family a test that rejects alone need not reject.
	pairs := []Pair{{fixed, fixed, test("successes", 0.03, 99)}, {fixed, fixed, test("successes", 0.9, 99)}}
	got := []string{Compare(pairs[:1], 0.05)[0].Verdict, Compare(pairs, 0.05)[0].Verdict}
	if diff := cmp.Diff([]string{Differ, NotToldApart}, got); diff != "" {
		t.Error(diff)
	}
}

// twins gives the success bits of two cells: in a share of the trials one draw decides for both.
type twins struct {
	seed   uint64
	shared float64
	rates  [2]func(n int64) float64
}

func (w twins) success(side int, n int64, rep int) bool {
	var r rand.PCG
	r.Seed(w.seed, uint64(n)<<24^uint64(rep))
	draw := func() float64 { return float64(r.Uint64()>>11) / (1 << 53) }
	one, own, both := draw(), draw(), draw()
	if side == 1 && both >= w.shared {
		one = own
	}
	return one < w.rates[side](n)
}

// search runs the search of one side to its end.
func (w twins) search(t *testing.T, side int, find Find) Result {
	t.Helper()
	s, err := NewSearch(find)
	if err != nil {
		t.Fatal(err)
	}
	for !s.Done() {
		for _, b := range s.Want() {
			for rep := b.First; rep < b.First+b.Count; rep++ {
				outcome := Miss
				if w.success(side, b.N, rep) {
					outcome = Success
				}
				s.Add(b.N, rep, outcome)
			}
		}
	}
	return s.Result()
}

// discordant counts the pairs in which only a succeeded and in which only b succeeded, among those
// that both searches read.
func (w twins) discordant(a, b Result) (onlyA, onlyB int) {
	read := map[int64]int{}
	for _, p := range a.Points {
		read[p.N] = p.Consumed
	}
	for _, p := range b.Points {
		for rep := range min(p.Consumed, read[p.N]) {
			switch x, y := w.success(0, p.N, rep), w.success(1, p.N, rep); {
			case x && !y:
				onlyA++
			case y && !x:
				onlyB++
			}
		}
	}
	return onlyA, onlyB
}

// TestReplicasAreTheSame checks that two replicas are told apart no more often than is stated,
// however alike their trials are: by brackets and tests together, and by the tests alone. It logs
// the exact test, which takes the numbers of trials as fixed, for comparison.
func TestReplicasAreTheSame(t *testing.T) {
	const pairs, level = 2, 0.05
	runs := 120
	if !testkit.LongRun {
		runs /= 10
	}
	find := Find{From: 16, To: 100_000, Within: 2, Confidence: 0.9, Target: 0.9, Cells: 2 * pairs, MaxTrials: 2000}
	rate := func(n int64) float64 { return 1 / (1 + math.Pow(300/float64(n), 3)) }
	for _, c := range []struct {
		name   string
		shared float64
	}{{"data of their own", 0}, {"data half shared", 0.5}, {"data almost all shared", 0.95}} {
		t.Run(c.name, func(t *testing.T) {
			wrong, byTests, byExact := 0, 0, 0
			for run := range uint64(runs) {
				var family, exact []Pair
				for k := range uint64(pairs) {
					w := twins{seed: run*pairs + k, shared: c.shared, rates: [2]func(int64) float64{rate, rate}}
					a, b := w.search(t, 0, find), w.search(t, 1, find)
					x, y := w.discordant(a, b)
					family = append(family, sequential(a, b, x, y))
					exact = append(exact, Pair{Tests: []Test{{"successes", SignTest(x, y), 0}}})
				}
				any, tests := false, false
				for _, j := range Compare(family, level) {
					any = any || j.Verdict == Differ
					tests = tests || slices.Contains(j.By, "successes")
				}
				wrong, byTests = wrong+bit(any), byTests+bit(tests)
				byExact += bit(slices.ContainsFunc(Compare(exact, level), func(j Judgement) bool { return j.Verdict == Differ }))
			}
			t.Logf("%d of %d told apart, %d by tests; the exact test: %d", wrong, runs, byTests, byExact)
			all := 1 - find.Confidence + level
			if limit := mostMisses(runs, all); wrong > limit {
				t.Errorf("%d of %d told apart, at most %d are compatible with level %v", wrong, runs, limit, all)
			}
			if limit := mostMisses(runs, level); byTests > limit {
				t.Errorf("%d of %d told apart by tests, at most %d are compatible with level %v", byTests, runs, limit, level)
			}
		})
	}
}

// TestOthersDiffer checks that cells whose n* differ by a factor are told apart by their brackets,
// and mostly by the few trials that both read as well.
func TestOthersDiffer(t *testing.T) {
	find := Find{From: 16, To: 100_000, Within: 1.5, Confidence: 0.95, Target: 0.9, Cells: 2, MaxTrials: 20_000}
	at := func(middle float64) func(int64) float64 {
		return func(n int64) float64 { return 1 / (1 + math.Pow(middle/float64(n), 2)) }
	}
	byTests := 0
	for seed := range uint64(20) {
		w := twins{seed: seed, shared: 0.5, rates: [2]func(int64) float64{at(100), at(300)}}
		a, b := w.search(t, 0, find), w.search(t, 1, find)
		x, y := w.discordant(a, b)
		got := Compare([]Pair{sequential(a, b, x, y)}, 0.05)
		if !slices.Contains(got[0].By, "brackets") {
			t.Errorf("seed %d: %+v of %+v and %+v, %d to %d", seed, got[0], a, b, x, y)
		}
		byTests += bit(slices.Contains(got[0].By, "successes"))
	}
	if byTests < 15 {
		t.Errorf("%d of 20 told apart by tests", byTests)
	}
}

// sequential returns the pair of two searches, of which onlyA and onlyB pairs of trials succeeded
// on one side alone.
func sequential(a, b Result, onlyA, onlyB int) Pair {
	return Pair{
		A:     Side{Status: a.Status, Low: a.Low, High: a.High},
		B:     Side{Status: b.Status, Low: b.Low, High: b.High},
		Tests: []Test{{Of: "successes", P: SequentialSignTest(onlyA, onlyB)}},
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
