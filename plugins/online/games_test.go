package online

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// matrixProblem returns a problem with the class of rows of '0' and '1'.
func matrixProblem(rows []string) algo.Problem {
	return algo.Problem{Class: "matrix", Domain: uint64(len(rows[0])), Matrix: strings.Join(rows, ""), Realizable: true,
		Noise: "none"}
}

func settingOf[P any](p algo.Problem, rounds int, params P) algo.Setting[P] {
	p.Dim = max(1, p.Dim)
	return algo.Setting[P]{Params: params, Task: algo.Online, Problem: p, Rounds: rounds}
}

func begin[P any](t testing.TB, a algo.Algorithm[P], p algo.Problem, rounds int, params P) algo.Learner {
	t.Helper()
	s := settingOf(p, rounds, params)
	if err := a.Check(&s); err != nil {
		t.Fatal(err)
	}
	l, err := a.Online(context.Background(), &algo.Trial[P]{Setting: s, Rand: rand.New(rand.NewPCG(1, 1))})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answer returns a learner's prediction for a point. It checks that a second call returns the same.
func answer(t testing.TB, l algo.Learner, x []float64) float64 {
	t.Helper()
	var out, again [1]float64
	for _, to := range []*[1]float64{&out, &again} {
		if err := l.Predict(context.Background(), algo.NewData(x, len(x), nil), to[:]); err != nil {
			t.Fatal(err)
		}
	}
	if out != again || !(out[0] >= -1 && out[0] <= 1) {
		t.Fatalf("predicts %v, then %v", out, again)
	}
	return out[0]
}

func tell(t testing.TB, l algo.Learner, x []float64, y float64) {
	t.Helper()
	if err := l.Observe(context.Background(), algo.NewData(x, len(x), nil), []float64{y}); err != nil {
		t.Fatal(err)
	}
}

// learners starts a game of every algorithm except the online/ftpl-*.
func learners(t testing.TB, p algo.Problem, rounds int) map[string]algo.Learner {
	known := new(boards)
	return map[string]algo.Learner{
		"soa":               begin(t, soa(known), p, rounds, struct{}{}),
		"halving":           begin(t, halving(known), p, rounds, struct{}{}),
		"follow-the-leader": begin(t, followTheLeader(known), p, rounds, struct{}{}),
		"hedge":             begin(t, hedge(known), p, rounds, hedgeParams{Tuning: worstTuning}),
		"agnostic-experts":  begin(t, agnosticExperts(known), p, rounds, agnosticParams{}),
	}
}

// valueOf returns the bound with the given name.
func valueOf[P any](t testing.TB, a algo.Algorithm[P], s algo.Setting[P], name string) algo.Bound {
	t.Helper()
	list, err := a.Bound(&s)
	return finitetest.BoundNamed(t, list, err, name)
}

func tableOf(t testing.TB, p algo.Problem) *concept.LabelTable {
	t.Helper()
	b, err := new(boards).at(p)
	if err != nil {
		t.Fatal(err)
	}
	table, err := concept.NewLabelTable(b.class, b.spec)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// treeMistakes queries, as long as there is one, a point that splits the remaining functions into
// two parts whose Littlestone dimension is at least theirs minus one. It labels the point against
// the prediction, and returns the number of mistakes. Against a mean it uses the less likely label,
// and +1 against 0.
func treeMistakes(t testing.TB, l algo.Learner, p algo.Problem) (mistakes int) {
	t.Helper()
	table := tableOf(t, p)
	left := table.Versions()
	for depth := left.Ldim().Low; depth > 0; depth-- {
		v := 0
		for min(left.Restrict(v, -1).Ldim().Low, left.Restrict(v, 1).Ldim().Low) < depth-1 {
			v++
		}
		x := table.Point(v)
		a, y := answer(t, l, x), 1.0
		if a > 0 {
			y = -1
		}
		if (1-y*a)/2 >= 0.5 {
			mistakes++
		}
		tell(t, l, x, y)
		left = left.Restrict(v, y)
	}
	return mistakes
}

// worst returns the largest number of mistakes of a rule on labels that some function agrees with,
// over all sequences of points, by exhaustive search.
func worst(t testing.TB, points [][]float64, now versions, r rule, known map[string]int) int {
	key := fmt.Sprint(now)
	if n, ok := known[key]; ok {
		return n
	}
	most := 0
	for _, x := range points {
		minus, plus := now.split(x)
		prediction, err := r(minus, plus)
		if err != nil {
			t.Fatal(err)
		}
		for y, next := range map[float64]versions{-1: minus, 1: plus} {
			mistake := 0
			if prediction != y {
				mistake = 1
			}
			switch n := next.size(); {
			case n == now.size() && mistake == 1:
				t.Fatalf("errs on a point where all functions agree")
			case n > 0 && n < now.size():
				most = max(most, mistake+worst(t, points, next, r, known))
			}
		}
	}
	known[key] = most
	return most
}

// worstOf returns the largest number of mistakes of a rule on the class of p.
func worstOf(t testing.TB, p algo.Problem, r rule) int {
	t.Helper()
	b, err := new(boards).at(p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.all()
	if err != nil {
		t.Fatal(err)
	}
	table := tableOf(t, p)
	points := make([][]float64, table.Len())
	for v := range points {
		points[v] = table.Point(v)
	}
	return worst(t, points, all, r, map[string]int{})
}

// named returns the problem of a class by its name in the reference vectors.
func named(cls string, k int) algo.Problem {
	p := algo.Problem{Realizable: true, Noise: "none"}
	switch cls {
	case "thresholds", "intervals":
		if k == 1 {
			return matrixProblem([]string{"1", "0"})
		}
		p.Class, p.Domain = cls, uint64(k)
	case "points":
		p.Class, p.Domain = cls, uint64(k)
	case "parities":
		p.Class, p.Dim = cls, k
	case "mono_conj":
		p.Class, p.Dim = "monotone-conjunctions", k
	case "parities_basis":
		rows := make([]string, 1<<k)
		for i := range rows {
			rows[i] = fmt.Sprintf("%0*b", k, i)
		}
		return matrixProblem(rows)
	}
	return p
}

func TestDimensionVectors(t *testing.T) {
	type vector struct {
		Cls          string
		K, H         int
		M            []string
		Ldim, Forced int
		SOA          int `json:"soa_worst"`
		Halving      int `json:"halving_worst"`
	}
	var v struct {
		Named, Random []vector
		Gap           vector `json:"halving_gap"`
	}
	finitetest.ReadJSON(t, "testdata/dimensions.json", &v)
	if len(v.Named) == 0 || len(v.Random) == 0 {
		t.Fatal("no vectors")
	}
	check := func(name string, p algo.Problem, functions, ldim, forced int) {
		known := new(boards)
		if got := valueOf(t, soa(known), settingOf(p, 0, struct{}{}), "ldim"); got.Value != float64(ldim) || !got.Proved ||
			got.Source == "" {
			t.Errorf("%s: %+v, want %d", name, got, ldim)
		}
		got := valueOf(t, halving(known), settingOf(p, 0, struct{}{}), "halvings")
		if got.Value != float64(bits.Len(uint(functions))-1) || !got.Proved {
			t.Errorf("%s: %+v of %d functions", name, got, functions)
		}
		for learner, l := range learners(t, p, max(1, forced)) {
			got := treeMistakes(t, l, p)
			if got < forced || learner == "soa" && got != forced {
				t.Errorf("%s: the tree adversary forces %d mistakes on %s, want %d", name, got, learner, forced)
			}
		}
	}
	for _, c := range v.Named {
		p, name := named(c.Cls, c.K), fmt.Sprintf("%s %d", c.Cls, c.K)
		check(name, p, c.H, c.Ldim, c.Forced)
		if c.H > 40 || c.Cls == "points" && c.H > 10 { // too many version spaces
			continue
		}
		if got := worstOf(t, p, largerDimension); got != c.Ldim {
			t.Errorf("%s: soa errs %d times at worst, want %d", name, got, c.Ldim)
		}
		if got := worstOf(t, p, majority); got < c.Ldim || got > bits.Len(uint(c.H))-1 {
			t.Errorf("%s: halving errs %d times at worst", name, got)
		}
	}
	for _, c := range append(v.Random, v.Gap) {
		p, name := matrixProblem(c.M), fmt.Sprint(c.M)
		check(name, p, len(c.M), c.Ldim, c.Ldim)
		if soa, halving := worstOf(t, p, largerDimension), worstOf(t, p, majority); soa != c.SOA || halving != c.Halving {
			t.Errorf("%s: soa errs %d times at worst and halving %d, want %d and %d", name, soa, halving, c.SOA, c.Halving)
		}
	}
	if v.Gap.SOA != 2 || v.Gap.Halving != 3 {
		t.Errorf("the gap class: %+v", v.Gap)
	}
}

// randomRows draws the rows of a small class.
func randomRows(t *rapid.T) []string {
	m := rapid.IntRange(1, 6).Draw(t, "points")
	rows := rapid.SliceOfNDistinct(rapid.IntRange(0, 1<<m-1), 1, min(10, 1<<m), rapid.ID[int]).Draw(t, "rows")
	text := make([]string, len(rows))
	for i, row := range rows {
		text[i] = fmt.Sprintf("%0*b", m, row)
	}
	return text
}

// plainLdim computes the Littlestone dimension by its definition.
func plainLdim(rows []string) int {
	best := len(rows) - 1
	if len(rows) > 1 {
		best = 0
		for v := range rows[0] {
			if zero, one := agreeing(rows, v, '0'), agreeing(rows, v, '1'); len(zero) > 0 && len(one) > 0 {
				best = max(best, 1+min(plainLdim(zero), plainLdim(one)))
			}
		}
	}
	return best
}

// agreeing returns the rows with the given label at a point.
func agreeing(rows []string, v int, label byte) (agree []string) {
	for _, row := range rows {
		if row[v] == label {
			agree = append(agree, row)
		}
	}
	return agree
}

// Bisection forces floor(log2 |H|) mistakes on thresholds, and soa makes no more, up to domains of
// 2^40.
func TestThresholdsOfAnyDomain(t *testing.T) {
	for k := 3; k <= 40; k++ {
		for _, domain := range []uint64{1 << k, 1<<k - 1} {
			for _, noConstant := range []bool{false, true} {
				p := algo.Problem{Class: "thresholds", Domain: domain, NoConstant: noConstant, Realizable: true, Noise: "none"}
				functions := domain + 1
				if noConstant {
					functions--
				}
				d := bits.Len64(functions) - 1
				known := new(boards)
				for name, l := range map[string]algo.Learner{
					"soa": begin(t, soa(known), p, 50, struct{}{}), "halving": begin(t, halving(known), p, 50, struct{}{}),
					"follow-the-leader": begin(t, followTheLeader(known), p, 50, struct{}{}),
				} {
					got := bisect(t, l, functions)
					if got < d || got != d && name != "follow-the-leader" {
						t.Errorf("%s, domain %d, %d functions: %d mistakes, want %d", name, domain, functions, got, d)
					}
				}
			}
		}
	}
}

// bisect forces mistakes on l until one threshold remains, and returns their number. Each mistake
// reduces at least 2^d thresholds to at least 2^(d-1).
func bisect(t testing.TB, l algo.Learner, functions uint64) (mistakes int) {
	t.Helper()
	for lo, end := uint64(0), functions; end-lo > 1; mistakes++ {
		cut := lo + 1<<(bits.Len64(end-lo)-2)
		x := []float64{float64(cut - 1)}
		if answer(t, l, x) > 0 {
			tell(t, l, x, -1)
			lo = cut
		} else {
			tell(t, l, x, 1)
			end = cut
		}
	}
	return mistakes
}

// For every class, a point's number is its index in the label table, and its column holds the
// labels of the functions.
func TestBoards(t *testing.T) {
	for _, p := range []algo.Problem{
		{Class: "thresholds", Domain: 9}, {Class: "points", Domain: 70}, {Class: "intervals", Domain: 12},
		{Class: "stumps", Domain: 5, Dim: 3},
		{Class: "rectangles", Domain: 4, Dim: 2}, {Class: "parities", Dim: 5}, {Class: "monotone-conjunctions", Dim: 4},
		{Class: "conjunctions", Dim: 4},
		matrixProblem([]string{"010", "111", "001"}),
	} {
		b, err := new(boards).at(p)
		if err != nil {
			t.Fatal(err)
		}
		table := tableOf(t, p)
		for v := range table.Len() {
			x := table.Point(v)
			if err := b.domain.Check(x); err != nil {
				t.Error(err)
			}
			if got := b.domain.Number(x); got != v {
				t.Fatalf("%s: point %v has number %d, want %d", p.Class, x, got, v)
			}
			for range 2 { // the second time from the board's cache
				for i, c := range b.column(x) {
					for k := range 64 {
						var label [1]float64
						if f := uint64(64*i + k); f < b.size {
							b.class.Member(f).Labels(x, label[:])
						}
						if (c>>k&1 == 1) != (label[0] > 0) {
							t.Fatalf("%s: point %v, function %d: %v", p.Class, x, 64*i+k, label)
						}
					}
				}
			}
		}
		if len(b.columns) != table.Len() {
			t.Errorf("%s: %d columns kept for %d points", p.Class, len(b.columns), table.Len())
		}
		b.columns, b.room = map[string][]uint64{}, 0
		if c := b.column(table.Point(0)); len(b.columns) != 0 || len(c) == 0 {
			t.Errorf("%s: a column is kept without room", p.Class)
		}
	}
}
