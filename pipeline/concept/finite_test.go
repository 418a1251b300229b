package concept

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lister is a class small enough to list.
type lister struct {
	Finite
	spec    Spec
	members []Hypothesis
	points  [][]float64 // all points of the domain
}

// list returns a class with all members and all points of its domain.
func list(t testing.TB, s Spec) lister {
	t.Helper()
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	l := lister{Finite: c.(Finite), spec: s, points: [][]float64{{}}}
	for i := range c.Size().Uint64() {
		l.members = append(l.members, l.Member(i))
	}
	for range c.Dim() {
		var longer [][]float64
		for _, p := range l.points {
			for v := range Side(s) {
				longer = append(longer, append(slices.Clone(p), float64(v)))
			}
		}
		l.points = longer
	}
	return l
}

// smallFinites returns the small classes of contractSpecs, of all definitions.
func smallFinites(t testing.TB) (all []lister) {
	t.Helper()
	for _, d := range definitions {
		for _, s := range contractSpecs(d) {
			if made, err := d.New(s); err == nil && made.Size() != nil {
				all = append(all, list(t, s))
			}
		}
	}
	return all
}

// smallExact returns the small classes with exact methods.
func smallExact(t testing.TB) []lister {
	t.Helper()
	return slices.DeleteFunc(smallFinites(t), func(l lister) bool {
		_, err := l.NewProfile()
		return errors.Is(err, ErrNoExactMethod)
	})
}

func (l lister) String() string {
	return fmt.Sprintf("%s of %v in dimension %d", l.Name(), l.Size(), l.Dim())
}

// sample draws up to n points, often the same ones, and their labels.
func (l lister) sample(t *rapid.T, n int) (x, y []float64) {
	for range rapid.IntRange(0, n).Draw(t, "n") {
		x = append(x, rapid.SampledFrom(l.points).Draw(t, "x")...)
		y = append(y, rapid.SampledFrom([]float64{-1, 1}).Draw(t, "y"))
	}
	return x, y
}

// If a class has more than 2^64 members, the first 2^64 have numbers; up to the documented
// domains all have one.
func TestMemberNumbersOfLargeClasses(t *testing.T) {
	const last = 6074000999 // largest domain with numbers for all intervals
	c := newFinite(t, Spec{Name: "intervals", Domain: last})
	size := c.Size().Uint64()
	if !c.Size().IsUint64() || newFinite(t, Spec{Name: "intervals", Domain: last + 1}).Size().IsUint64() {
		t.Error("the largest domain with numbers is another one")
	}
	for i, want := range map[uint64]Range{
		0: Interval(0, 0), last - 1: Interval(0, last-1), last: Interval(1, 1), size - 1: Empty(),
		size - 2: Interval(last-1, last-1),
		size - 4: Interval(last-2, last-2), size - 3: Interval(last-2, last-1),
	} {
		if got := c.Member(i); got != want {
			t.Errorf("interval %d: %v, want %v", i, got, want)
		}
	}
	// a (2X + 1 - a)/2 + b - a = i, in big integers
	h := newFinite(t, Spec{Name: "intervals", Domain: MaxDomain}).Member(math.MaxUint64).(Range)
	a, b := big.NewInt(int64(h.Lo)), big.NewInt(int64(h.Hi))
	i := new(big.Int).Sub(big.NewInt(2*MaxDomain+1), a)
	i.Mul(i, a).Rsh(i, 1).Add(i, b).Sub(i, a)
	if i.Uint64() != math.MaxUint64 || !i.IsUint64() || h.Hi >= MaxDomain || h.Lo > h.Hi {
		t.Errorf("interval 2^64-1 of the largest domain: %v", h)
	}
	const side = 92681 // largest domain with numbers for all rectangles
	c = newFinite(t, Spec{Name: "rectangles", Domain: side})
	size = c.Size().Uint64()
	if !c.Size().IsUint64() || newFinite(t, Spec{Name: "rectangles", Domain: side + 1}).Size().IsUint64() {
		t.Error("the largest domain with numbers is another one")
	}
	corner := Interval(side-1, side-1)
	for i, want := range map[uint64]Rectangle{
		size - 1: {Empty(), Empty()}, size - 2: {corner, corner}, side: {Interval(0, 0), Interval(1, 1)},
	} {
		if diff := cmp.Diff(want, c.Member(i)); diff != "" {
			t.Errorf("rectangle %d (-want +got):\n%s", i, diff)
		}
	}
	want := Rectangle{Interval(0, 0), Interval(0, 0), Interval(0, MaxDomain-1)}
	largest := newFinite(t, Spec{Name: "rectangles", Domain: MaxDomain, Dim: 3})
	if diff := cmp.Diff(want, largest.Member(MaxDomain-1)); diff != "" {
		t.Errorf("rectangle in 3 dimensions (-want +got):\n%s", diff)
	}
}

func newFinite(t interface{ Fatal(...any) }, s Spec) Finite {
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c.(Finite)
}

// problem is a sample with weights and a linear term.
type problem struct{ x, y, w, z, c []float64 }

// sum returns the objective of a Minimizer, by its definition.
func (p problem) sum(h Hypothesis) (s float64) {
	out := make([]float64, len(p.y))
	h.Labels(p.x, out)
	for i, label := range out {
		if label != p.y[i] {
			s += weightOf(p.w, i)
		}
	}
	out = make([]float64, len(p.c))
	h.Labels(p.z, out)
	for j, label := range out {
		s += p.c[j] * label
	}
	return s
}

// draw draws a problem with weights from number; w and c are sometimes nil.
func (l lister) draw(t *rapid.T, number *rapid.Generator[float64]) (p problem) {
	p.x, p.y = l.sample(t, 10)
	var y []float64
	p.z, y = l.sample(t, 8)
	if rapid.Bool().Draw(t, "weights") {
		p.w = rapid.SliceOfN(number, len(p.y), len(p.y)).Draw(t, "w")
	}
	if rapid.IntRange(0, 3).Draw(t, "term") > 0 {
		p.c = rapid.SliceOfN(number, len(y), len(y)).Draw(t, "c")
	}
	return p
}

// wholes returns numbers whose sums are exact, with many ties; the sums of reals are rounded.
func wholes() *rapid.Generator[float64] {
	return rapid.Map(rapid.IntRange(-2, 2), func(i int) float64 { return float64(i) })
}
func reals() *rapid.Generator[float64] { return rapid.Float64Range(-10, 10) }

// With exact sums the Minimizer returns the first member with the least sum, and that sum; with
// rounded sums, a member that is equally good.
func TestMinimizeByEnumeration(t *testing.T) {
	for _, l := range smallExact(t) {
		t.Run(l.String(), rapid.MakeCheck(func(t *rapid.T) {
			exact := rapid.Bool().Draw(t, "exact")
			number := reals()
			if exact {
				number = wholes()
			}
			p := l.draw(t, number)
			m, err := l.NewMinimizer(p.z)
			if err != nil {
				t.Fatal(err)
			}
			l.checkMinimum(t, m, p, exact)
			again := l.draw(t, number) // with the same scratch memory
			again.z, again.c = p.z, p.c
			l.checkMinimum(t, m, again, exact)
		}))
	}
}

func (l lister) checkMinimum(t *rapid.T, m Minimizer, p problem, exact bool) {
	h, least, err := m.Minimize(p.x, p.y, p.w, p.c)
	if err != nil {
		t.Fatal(err)
	}
	best := 0
	for i, g := range l.members {
		if p.sum(g) < p.sum(l.members[best]) {
			best = i
		}
	}
	want := p.sum(l.members[best])
	if exact && (least != want || !cmp.Equal(h, l.members[best])) {
		t.Fatalf("%v: %+v has %v, want member %d, %+v, with %v", l, h, least, best, l.members[best], want)
	}
	if math.Abs(least-want) > 1e-10 || math.Abs(p.sum(h)-want) > 1e-10 {
		t.Fatalf("%v: %+v has %v, said to be %v, want %v", l, h, p.sum(h), least, want)
	}
}

// On large domains the least sum is found next to a value, and the first of equal sums is
// returned there too.
func TestMinimizeOnLargeDomain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"thresholds", "points", "intervals", "stumps", "rectangles"}).Draw(t,
			"class")
		domain := rapid.SampledFrom([]uint64{1 << 20, MaxDomain}).Draw(t, "domain")
		c, err := New(Spec{Name: name, Domain: domain})
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.SampledFrom([]float64{0, 1, 3, 70000, float64(domain - 2), float64(domain - 1)})
		var p problem
		n, k := rapid.IntRange(0, 6).Draw(t, "n"), rapid.IntRange(0, 4).Draw(t, "m")
		p.x = rapid.SliceOfN(value, n*c.Dim(), n*c.Dim()).Draw(t, "x")
		p.z = rapid.SliceOfN(value, k*c.Dim(), k*c.Dim()).Draw(t, "z")
		p.y = rapid.SliceOfN(rapid.SampledFrom([]float64{-1, 1}), n, n).Draw(t, "y")
		p.w, p.c = rapid.SliceOfN(wholes(), n, n).Draw(t, "w"), rapid.SliceOfN(wholes(), k, k).Draw(t, "c")
		m, err := c.(Finite).NewMinimizer(p.z)
		if err != nil {
			t.Fatal(err)
		}
		h, least, err := m.Minimize(p.x, p.y, p.w, p.c)
		if err != nil {
			t.Fatal(err)
		}
		best := candidates(name, domain)[0]
		for _, g := range candidates(name, domain) {
			if p.sum(g) < p.sum(best) {
				best = g
			}
		}
		if least != p.sum(best) || !cmp.Equal(h, best) {
			t.Fatalf("%+v with %v, want %+v with %v", h, least, best, p.sum(best))
		}
	})
}

// candidates returns the hypotheses, in order, whose boundaries lie at or next to the values of
// TestMinimizeOnLargeDomain.
func candidates(name string, domain uint64) (all []Hypothesis) {
	x := float64(domain)
	ends := []float64{0, 1, 2, 3, 4, 70000, 70001, x - 2, x - 1}
	var intervals []Range
	for i, a := range ends {
		for _, b := range ends[i:] {
			intervals = append(intervals, Interval(a, b))
		}
	}
	switch name {
	case "thresholds":
		for _, a := range append(ends, x) {
			all = append(all, Threshold(a))
		}
	case "points":
		for _, a := range ends {
			all = append(all, Point(a))
		}
	case "intervals":
		for _, r := range intervals {
			all = append(all, r)
		}
		all = append(all, Empty())
	case "stumps":
		all = append(all, Stump{1, 0, math.Inf(1), 1}, Stump{1, 0, math.Inf(-1), 1})
		for _, a := range ends[1:] {
			all = append(all, Stump{1, 0, a, 1}, Stump{1, 0, a, -1})
		}
	case "rectangles":
		for _, r := range intervals {
			for _, s := range intervals {
				all = append(all, Rectangle{r, s})
			}
		}
		all = append(all, Rectangle{Empty(), Empty()})
	}
	return all
}

// Errors name the row and the value.
func TestBadRows(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		spec    Spec
		x, y, z []float64
		want    string
	}{
		{Spec{Name: "thresholds", Domain: 4}, []float64{0, 4}, []float64{1, 1}, nil,
			"point 4 of example 1: not in the domain"},
		{Spec{Name: "points", Domain: 4}, []float64{nan}, []float64{1}, nil,
			"point NaN of example 0: not in the domain"},
		{Spec{Name: "intervals", Domain: 4}, []float64{0}, []float64{0}, nil,
			"label 0 of example 0: neither -1 nor +1"},
		{Spec{Name: "intervals", Domain: 4}, nil, nil, []float64{3, 2.5},
			`coordinate 0 of point 1 of the linear term: 2.5 is not in the domain of class "intervals", ` +
				"the integers 0 to 3"},
		{Spec{Name: "stumps", Domain: 4, Dim: 2}, []float64{0, 0, 3, -1}, []float64{1, 1}, nil,
			`coordinate 1 of example 1: -1 is not in the domain of class "stumps", the integers 0 to 3`},
		{Spec{Name: "stumps", Domain: 4, Dim: 2}, []float64{0, 0}, []float64{2}, nil, "label 2 of example 0"},
		{Spec{Name: "stumps", Domain: 4, Dim: 2}, nil, nil, []float64{0, 0, 0},
			"linear term of 3 numbers: not a multiple of the dimension 2"},
		{Spec{Name: "stumps", Domain: 4, Dim: 2}, nil, nil, []float64{0, 0, 9, 0},
			"coordinate 0 of point 1 of the linear term: 9 is not"},
		{Spec{Name: "rectangles", Domain: 4}, []float64{0, 0, math.Inf(1), 1}, []float64{1, 1}, nil,
			"coordinate 0 of example 1: +Inf is not"},
		{Spec{Name: "rectangles", Domain: 4}, []float64{0, 0}, []float64{nan}, nil, "label NaN of example 0"},
		{Spec{Name: "rectangles", Domain: 4}, nil, nil, []float64{0, 4},
			"coordinate 1 of point 0 of the linear term: 4 is not"},
		{Spec{Name: Conjunctions, Dim: 2}, []float64{0, 1, 1, 2}, []float64{1, 1}, nil,
			`coordinate 1 of example 1: 2 is not in the domain of class "conjunctions", the numbers 0 and 1`},
		{Spec{Name: Conjunctions, Dim: 2}, []float64{0, nan}, []float64{1}, nil,
			"coordinate 1 of example 0: NaN is not"},
		{Spec{Name: Conjunctions, Dim: 2}, []float64{0, 1}, []float64{0}, nil,
			"label 0 of example 0: neither -1 nor +1"},
		{Spec{Name: Matrix, Domain: 4, Matrix: "01011100"}, []float64{0, 4}, []float64{1, 1}, nil,
			`coordinate 0 of example 1: 4 is not in the domain of class "matrix", the integers 0 to 3`},
		{Spec{Name: Matrix, Domain: 4, Matrix: "01011100"}, []float64{1.5}, []float64{1}, nil,
			"coordinate 0 of example 0: 1.5 is not"},
	} {
		k := newFinite(t, c.spec)
		refused := func(what string, err error) {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %s: error %v", c.spec, what, err)
			}
		}
		m, err := k.NewMinimizer(c.z)
		if c.z != nil {
			refused("term", err)
			continue
		}
		_, _, err = m.Minimize(c.x, c.y, nil, nil)
		refused("minimum", err)
		p, err := k.NewProfile()
		if err != nil {
			t.Fatal(err)
		}
		refused("profile", p.Reset(c.x, c.y))
	}
}
