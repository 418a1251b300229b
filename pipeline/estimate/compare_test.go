package estimate

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
