package concept

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/lp"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

func separatorOf(t testing.TB, s Spec, kind string, seed uint64) (Finite, *Separator) {
	t.Helper()
	c := newFinite(t, s)
	z, err := NewSeparator(c, s, kind, seed)
	if err != nil {
		t.Fatalf("%+v, %s: %v", s, kind, err)
	}
	return c, z
}

// apart compares all pairs bit by bit.
func apart(c Finite, z *Separator) (least, most int) {
	n, m := int(c.Size().Int64()), z.Len()
	a, b := make([]float64, m), make([]float64, m)
	least = math.MaxInt
	for i := range n {
		c.Member(uint64(i)).Labels(z.Points, a)
		for j := range i {
			c.Member(uint64(j)).Labels(z.Points, b)
			h := 0
			for k := range a {
				if a[k] != b[k] {
					h++
				}
			}
			least, most = min(least, h), max(most, h)
		}
	}
	return least, most
}

// signRows returns the unit sign vectors.
func signRows(c Finite, z *Separator) []float64 {
	n, m := int(c.Size().Int64()), z.Len()
	rows := make([]float64, n*m)
	for i := range n {
		c.Member(uint64(i)).Labels(z.Points, rows[i*m:(i+1)*m])
	}
	for i := range rows {
		rows[i] /= math.Sqrt(float64(m))
	}
	return rows
}

// Every kind reports the true h for small members of every class, and the true spread and margin,
// with or without a formula.
func TestSeparatorsByEnumeration(t *testing.T) {
	testkit.Serial(t)
	for _, l := range smallFinites(t) {
		s := l.spec
		if len(l.members) < 2 {
			continue
		}
		for _, kind := range SeparatorKinds() {
			if kind == "code" && s.Name != "parities" || kind == drawnPrintedKind { // it need not separate
				continue
			}
			c, z := separatorOf(t, s, kind, 3)
			least, most := apart(c, z)
			if z.Hamming != least || least < 1 {
				t.Errorf("%+v, %s: h %d, want %d", s, kind, z.Hamming, least)
			}
			if want := spread(most, z.Len()); z.Spread != want && z.Spread != 4 {
				t.Errorf("%+v, %s: spread %v, want %v or 4", s, kind, z.Spread, want)
			}
			if z.Orthonormal != (s.Name == "parities" && kind == "cube") {
				t.Errorf("%+v, %s: orthonormal %v", s, kind, z.Orthonormal)
			}
			if c.Size().Int64() > 20 {
				continue
			}
			computed, err := lp.HullMargin(signRows(c, z), z.Len())
			if err != nil {
				t.Fatal(err)
			}
			got := z.HullMargin(c)
			if got.Lower > computed.Upper*(1+1e-9) || got.Upper < computed.Lower*(1-1e-9) ||
				got.Upper-got.Lower > 1e-9 {
				t.Errorf("%+v, %s: margin %v, computed %v", s, kind, got, computed)
			}
		}
	}
}

// The sizes of the sets.
func TestSeparatorLen(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		kind string
		m, h int
	}{
		{Spec{Name: "thresholds", Domain: 9}, "standard", 9, 1},
		{Spec{Name: "thresholds", Domain: 9, NoConstant: true}, "standard", 8, 1},
		{Spec{Name: "thresholds", Domain: 9, NoConstant: true}, "cube", 9, 1},
		{Spec{Name: "thresholds", Domain: 9, NoConstant: true}, "greedy", 8, 1},
		{Spec{Name: "points", Domain: 9}, "standard", 9, 2},
		{Spec{Name: "points", Domain: 9}, "greedy", 8, 1},
		{Spec{Name: "parities", Dim: 5}, "standard", 5, 1},
		{Spec{Name: "parities", Dim: 5}, "cube", 32, 16},
		{Spec{Name: "parities", Dim: 5}, "greedy", 5, 1},
		{Spec{Name: "monotone-conjunctions", Dim: 5}, "standard", 5, 1},
		{Spec{Name: "conjunctions", Dim: 3}, "standard", 8, 1},
		{Spec{Name: "stumps", Domain: 4, Dim: 3}, "standard", 10, 1},
		{Spec{Name: "stumps", Domain: 4, Dim: 3}, "cube", 64, 16},
		{Spec{Name: "rectangles", Domain: 4, Dim: 2}, "standard", 16, 1},
		// column 0 is constant
		{Spec{Name: "matrix", Domain: 5, Matrix: "10110" + "10011" + "11101"}, "standard", 4, 2},
		{Spec{Name: "matrix", Domain: 5, Matrix: "10110" + "10011" + "11101"}, "cube", 5, 2},
	} {
		_, z := separatorOf(t, c.spec, c.kind, 0)
		if z.Len() != c.m || z.Hamming != c.h || len(z.Points) != c.m*max(1, c.spec.Dim) {
			t.Errorf("%+v, %s: m %d, h %d, want %d, %d; points %v", c.spec, c.kind, z.Len(), z.Hamming, c.m, c.h,
				z.Points)
		}
	}
}

// Codes have a large distance in dimensions where the basis has a small one.
func TestCode(t *testing.T) {
	for d := 1; d <= 7; d++ {
		for seed := range uint64(4) {
			c, z := separatorOf(t, Spec{Name: "parities", Dim: d}, "code", seed)
			least, most := apart(c, z)
			if z.Len() != 10*d || z.Hamming != least || z.Spread != spread(most, z.Len()) {
				t.Errorf("d=%d, seed %d: m %d, h %d, spread %v, want h %d, %d", d, seed, z.Len(), z.Hamming, z.Spread,
					least, most)
			}
			again, err := NewSeparator(c, Spec{Name: Parities, Dim: d}, "code", seed)
			if err != nil || cmp.Diff(z.Points, again.Points) != "" {
				t.Errorf("d=%d, seed %d: another code the second time, %v", d, seed, err)
			}
			next, err := NewSeparator(c, Spec{Name: Parities, Dim: d}, "code", seed+1)
			if err != nil || d > 1 && cmp.Diff(z.Points, next.Points) == "" {
				t.Errorf("d=%d, seed %d: the same code as from the next seed, %v", d, seed, err)
			}
		}
	}
	if z, err := code(16, 1); err != nil || float64(z.Hamming) < 0.2*float64(z.Len()) {
		t.Errorf("d=16: %v, h %d of %d", err, z.Hamming, z.Len())
	}
}

// slowCover returns greedy set cover over an explicit list of pairs.
func slowCover(c Finite, domain []float64) (chosen []int) {
	n, points := int(c.Size().Int64()), len(domain)/c.Dim()
	labels := make([][]float64, n)
	for i := range labels {
		labels[i] = make([]float64, points)
		c.Member(uint64(i)).Labels(domain, labels[i])
	}
	open := map[[2]int]bool{}
	for i := range n {
		for j := range i {
			open[[2]int{j, i}] = true
		}
	}
	for len(open) > 0 {
		best, most := 0, 0
		for p := range points {
			gain := 0
			for pair := range open {
				if labels[pair[0]][p] != labels[pair[1]][p] {
					gain++
				}
			}
			if gain > most {
				best, most = p, gain
			}
		}
		chosen = append(chosen, best)
		for pair := range open {
			if labels[pair[0]][best] != labels[pair[1]][best] {
				delete(open, pair)
			}
		}
	}
	return chosen
}

// matrixSpec draws a matrix of different rows.
func matrixSpec(t *rapid.T, rows, columns int) Spec {
	m := rapid.IntRange(1, columns).Draw(t, "columns")
	text := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.RuneFrom([]rune("01")), m, m, m), 2, max(2, min(rows, 1<<m)),
		rapid.ID[string]).Draw(t, "rows")
	return Spec{Name: "matrix", Domain: uint64(m), Matrix: strings.Join(text, "")}
}

func TestGreedyAgainstPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := matrixSpec(t, 12, 9)
		c := newFinite(t, s)
		domain, err := allPoints(c.Dim(), s.Domain, 100)
		if err != nil {
			t.Fatal(err)
		}
		got, err := newCover(c, int(c.Size().Int64()), domain).run()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slowCover(c, domain), got); diff != "" {
			t.Fatalf("%s of %d (-want +got):\n%s", s.Matrix, s.Domain, diff)
		}
	})
}

// Rows of any width.
func TestMinHammingByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := matrixSpec(t, 12, 140)
		c := newFinite(t, s)
		for _, kind := range []string{"standard", "cube"} {
			z, err := NewSeparator(c, s, kind, 0)
			if err != nil {
				t.Fatal(err)
			}
			least, most := apart(c, z)
			if z.Hamming != least || z.Spread != spread(most, z.Len()) {
				t.Fatalf("%+v, %s: h %d, spread %v, want %d, %d", s, kind, z.Hamming, z.Spread, least, most)
			}
		}
	})
}

// sized is a class that is too large to construct; only its name, dimension and size are used.
type sized struct {
	Finite
	Spec
	size int64
}

func (c sized) Name() string   { return c.Spec.Name }
func (c sized) Dim() int       { return max(1, c.Spec.Dim) }
func (c sized) Size() *big.Int { return big.NewInt(c.size) }

func TestSeparatorRefuses(t *testing.T) {
	for _, c := range []struct {
		Spec
		size int64
		kind string
		want string
	}{
		{Spec{Name: Points, Domain: 4}, 4, "basis",
			`separator of kind "basis": use one of standard, cube, code, greedy`},
		{Spec{Name: Points, Domain: 4}, 4, "code", `separate class "points" by a code: only parities have one`},
		{Spec{Name: Points, Domain: 1}, 1, "standard",
			`separate class "points": a single hypothesis needs no separator, take a larger class`},
		{Spec{Name: Thresholds, Domain: 1 << 40}, 9, "standard",
			`separate with 1099511627776 points: use at most 4194304 points`},
		{Spec{Name: Parities, Dim: 25}, 9, "cube", `separate with 2^25 points of 25 numbers`},
		{Spec{Name: MonotoneConjunctions, Dim: 22}, 9, "cube",
			`use at most 4194304 points and 33554432 numbers in all: a smaller domain`},
		{Spec{Name: Parities, Dim: 6000}, 9, "standard", `separate with 6000 points of 6000 numbers`},
		{Spec{Name: Parities, Dim: 25}, 9, "code", `separate parities in dimension 25 by a code: use at most 24`},
		{Spec{Name: Stumps, Domain: 1 << 40, Dim: 1 << 16}, 9, "standard", `separate with 72057594037862401 points`},
		{Spec{Name: Intervals, Domain: 100}, 5051, "greedy",
			`list class "intervals": 5051 hypotheses, use at most 4096`},
		{Spec{Name: Intervals, Domain: 5000}, 9, "greedy", `use at most 4096 points`},
		{Spec{Name: Matrix, Domain: 3}, 1<<14 + 1, "cube", `list class "matrix": 16385 hypotheses, use at most 16384`},
	} {
		_, err := NewSeparator(sized{nil, c.Spec, c.size}, c.Spec, c.kind, 0)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, %s: error %v, want %s", c.Spec, c.kind, err, c.want)
		}
	}
}
