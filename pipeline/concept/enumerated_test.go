package concept

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept/concepttest"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

func enumeratedOf(t testing.TB, s Spec) *enumerated {
	t.Helper()
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*enumerated)
}

func tableOf(t testing.TB, c *enumerated, x, y []float64) *errorTable {
	t.Helper()
	p, err := c.NewProfile()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Reset(x, y); err != nil {
		t.Fatal(err)
	}
	return p.(*errorTable)
}

// at returns the coordinates of points given by number.
func at(c *enumerated, points ...int) (x []float64) {
	for _, v := range points {
		if c.name == "matrix" {
			x = append(x, float64(v))
			continue
		}
		for j := range c.dim {
			x = append(x, float64(v>>j&1))
		}
	}
	return x
}

func members(c *enumerated) (all []Hypothesis) {
	for i := range c.Size().Uint64() {
		all = append(all, c.Member(i))
	}
	return all
}

// enumerateds returns classes small enough to list.
func enumerateds() []Spec {
	return []Spec{
		{Name: "parities", Dim: 1}, {Name: "parities", Dim: 2}, {Name: "parities", Dim: 3}, {Name: "parities", Dim: 4},
		{Name: "monotone-conjunctions", Dim: 1}, {Name: "monotone-conjunctions", Dim: 2},
		{Name: "monotone-conjunctions", Dim: 3},
		{Name: "conjunctions", Dim: 1}, {Name: "conjunctions", Dim: 2}, {Name: "conjunctions", Dim: 3},
		{Name: "matrix", Domain: 1, Matrix: "1"}, {Name: "matrix", Domain: 1, Matrix: "01"},
		{Name: "matrix", Domain: 5, Matrix: "01101"},
		{Name: "matrix", Domain: 3, Matrix: "000" + "110" + "011" + "101" + "111"},
		{Name: "matrix", Domain: 11, Matrix: "00000000000" + "11111111111" + "10101010101" +
			"00000000111" + "11100000000" + "00011000010"},
	}
}

func TestNewEnumerated(t *testing.T) {
	for _, c := range []struct {
		Spec
		size string
		log  float64
		vc   int
	}{
		{Spec{Name: "parities", Dim: 1}, "2", math.Ln2, 1},
		{Spec{Name: "parities", Dim: 64}, "18446744073709551616", 64 * math.Ln2, 64},
		{Spec{Name: "monotone-conjunctions", Dim: 1}, "2", math.Ln2, 1},
		{Spec{Name: "monotone-conjunctions", Dim: 25}, "33554432", 25 * math.Ln2, 25},
		{Spec{Name: "conjunctions", Dim: 1}, "4", 2 * math.Ln2, 2},
		{Spec{Name: "conjunctions", Dim: 2}, "10", math.Log(10), 2},
		{Spec{Name: "conjunctions", Dim: 64}, "3433683820292512484657849089282", 64 * math.Log(3), 64},
		{Spec{Name: "matrix", Domain: 3, Matrix: "011"}, "1", 0, 0},
		{Spec{Name: "matrix", Domain: 2, Dim: 1, Matrix: "00100111"}, "4", 2 * math.Ln2, 2},
	} {
		k, err := New(c.Spec)
		if err != nil {
			t.Errorf("%+v: %v", c.Spec, err)
			continue
		}
		if k.Name() != c.Name || k.Dim() != max(1, c.Dim) || k.VC() != c.vc || k.Size().String() != c.size ||
			math.Abs(k.LogSize()-c.log) > 1e-12 {
			t.Errorf("%+v: name %q, dimension %d, VC %d, size %v, logarithm %v",
				c.Spec, k.Name(), k.Dim(), k.VC(), k.Size(), k.LogSize())
		}
		k.Size().Add(k.Size(), big.NewInt(1))
		if _, ok := k.(Finite); !ok || k.Size().String() != c.size {
			t.Errorf("%+v: not Finite, or its size can be changed from outside", c.Spec)
		}
	}
}

func TestNewRefusesEnumerated(t *testing.T) {
	for _, c := range []struct {
		Spec
		want string
	}{
		{Spec{Name: "parities"}, `dimension 0 of class "parities": use 1 to 64`},
		{Spec{Name: "monotone-conjunctions", Dim: 65}, `dimension 65 of class "monotone-conjunctions": use 1 to 64`},
		{Spec{Name: "conjunctions", Dim: -1}, `dimension -1 of class "conjunctions"`},
		{Spec{Name: "conjunctions", Dim: 3, Domain: 2}, `domain 2 of class "conjunctions": its points are vectors of bits`},
		{Spec{Name: "parities", Dim: 3, NoConstant: true}, `cannot leave out the constant`},
		{Spec{Name: "parities", Dim: 3, Matrix: "01"}, `class "parities" takes no matrix`},
		{Spec{Name: "matrix", Matrix: "01"}, `domain 0 of class "matrix"`},
		{Spec{Name: "matrix", Domain: 2, Dim: 2, Matrix: "01"}, `dimension 2 of class "matrix"`},
		{Spec{Name: "matrix", Domain: 2}, `matrix without rows: use 2 characters`},
		{Spec{Name: "matrix", Domain: 3, Matrix: "0110"},
			`row 1 of the matrix (the first is 0) has 1 characters: use one for each of the 3 points`},
		{Spec{Name: "matrix", Domain: 1 << 63, Matrix: "01"}, `row 0 of the matrix (the first is 0) has 2 characters`},
		{Spec{Name: "matrix", Domain: 3, Matrix: "0110a0"},
			`row 1 of the matrix (the first is 0) has 'a' at point 1: use '0' or '1'`},
		{Spec{Name: "matrix", Domain: 2, Matrix: "00011000"}, `rows 0 and 3 of the matrix (the first is 0) are equal`},
		{Spec{Name: "matrix", Domain: 1 << 19, Matrix: strings.Repeat("0", 1<<20)},
			`matrix of 1048576 labels: use at most 524288`},
	} {
		if _, err := New(c.Spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: error %v, want %s", fmt.Sprintf("%+v", c.Spec), err, c.want)
		}
	}
}

// Beyond the exact methods a class still knows its size and its members.
func TestBeyondExactMethods(t *testing.T) {
	x := make([]float64, 64)
	x[2], x[63] = 1, 1
	for _, c := range []struct {
		Spec
		limit  int
		member uint64
		label  float64
	}{
		{Spec{Name: "parities", Dim: 64}, 24, 1<<63 | 2, 1},
		{Spec{Name: "monotone-conjunctions", Dim: 64}, 24, 1<<63 | 4, 1},
		{Spec{Name: "conjunctions", Dim: 64}, 14, math.MaxUint64, -1},
	} {
		k, err := New(c.Spec)
		if err != nil {
			t.Fatal(err)
		}
		out := []float64{0}
		if k.(Finite).Member(c.member).Labels(x, out); out[0] != c.label {
			t.Errorf("%+v: member %d gives %v", c.Spec, c.member, out)
		}
		if k, err = New(Spec{Name: c.Name, Dim: c.limit}); err != nil {
			t.Fatal(err)
		}
		if _, err := k.NewProfile(); err != nil {
			t.Errorf("%s of dimension %d: profile: %v", c.Name, c.limit, err)
		}
		if k, err = New(Spec{Name: c.Name, Dim: c.limit + 1}); err != nil {
			t.Fatal(err)
		}
		_, bestErr := k.Best(nil, nil, nil)
		_, profileErr := k.NewProfile()
		_, minimizerErr := k.(Finite).NewMinimizer(nil)
		for _, err := range []error{bestErr, profileErr, minimizerErr} {
			if !errors.Is(err, ErrNoExactMethod) || !strings.Contains(err.Error(), fmt.Sprintf("only up to %d dimensions",
				c.limit)) {
				t.Errorf("%s of dimension %d: error %v", c.Name, c.limit+1, err)
			}
		}
	}
}

// Members are distinct functions, as many as Size says, and shatter no more points than VC says.
func TestEnumeratedSizeAndVC(t *testing.T) {
	for _, s := range enumerateds() {
		c := enumeratedOf(t, s)
		functions := map[uint64]bool{} // bit v: label of point v
		for _, h := range members(c) {
			f := uint64(0)
			for v := range c.points {
				out := []float64{0}
				if h.Labels(at(c, v), out); out[0] == 1 {
					f |= 1 << v
				} else if out[0] != -1 {
					t.Fatalf("%+v: %v labels point %d %v", s, h, v, out[0])
				}
			}
			functions[f] = true
		}
		if c.Size().Uint64() != uint64(len(functions)) || c.hypotheses != len(functions) {
			t.Errorf("%+v: size %v, tables of %d, %d functions", s, c.Size(), c.hypotheses, len(functions))
		}
		if want := vc(functions, uint64(c.points)); c.VC() != want {
			t.Errorf("%+v: VC %d, want %d", s, c.VC(), want)
		}
	}
}

func TestMembers(t *testing.T) {
	for _, c := range []struct {
		Spec
		i    uint64
		want Hypothesis
	}{
		{Spec{Name: "parities", Dim: 3}, 5, Parity{3, 5}},
		{Spec{Name: "monotone-conjunctions", Dim: 3}, 6, Conjunction{3, 6, 0}},
		{Spec{Name: "conjunctions", Dim: 3}, 0, Conjunction{3, 0, 7}},
		{Spec{Name: "conjunctions", Dim: 3}, 2*9 + 0*3 + 1, Conjunction{3, 1, 2}},
		{Spec{Name: "conjunctions", Dim: 3}, 26, Conjunction{3, 0, 0}},
		{Spec{Name: "conjunctions", Dim: 3}, 27, Conjunction{3, 1, 1}},
		{Spec{Name: "matrix", Domain: 3, Matrix: "011100"}, 1, Row("100")},
	} {
		if got := enumeratedOf(t, c.Spec).Member(c.i); got != c.want {
			t.Errorf("%+v: member %d is %+v, want %+v", c.Spec, c.i, got, c.want)
		}
	}
	for _, c := range []struct {
		h    Hypothesis
		x    []float64
		want []float64
	}{
		{Parity{2, 3}, []float64{0, 0, 1, 0, 0, 1, 1, 1}, []float64{-1, 1, 1, -1}},
		{Parity{2, 2}, []float64{0, 0, 1, 0, 0, 1, 1, 1}, []float64{-1, -1, 1, 1}},
		{Conjunction{2, 1, 0}, []float64{0, 0, 1, 0, 0, 1, 1, 1}, []float64{-1, 1, -1, 1}},
		{Conjunction{2, 1, 2}, []float64{0, 0, 1, 0, 0, 1, 1, 1}, []float64{-1, 1, -1, -1}},
		{Row("011"), []float64{2, 0, 1}, []float64{1, -1, 1}},
	} {
		got := make([]float64, len(c.want))
		if c.h.Labels(c.x, got); !cmp.Equal(got, c.want) {
			t.Errorf("%+v: labels %v, want %v", c.h, got, c.want)
		}
	}
}

func (p *errorTable) errors() (errs []int) {
	for _, s := range p.sums {
		errs = append(errs, p.positives+int(s))
	}
	return errs
}

// drawEnumerated draws a class and up to n examples, often of the same points.
func drawEnumerated(t *rapid.T, n int) (c *enumerated, x, y []float64) {
	k, err := New(rapid.SampledFrom(enumerateds()).Draw(t, "class"))
	if err != nil {
		t.Fatal(err)
	}
	c = k.(*enumerated)
	for range rapid.IntRange(0, n).Draw(t, "n") {
		x = append(x, at(c, rapid.IntRange(0, c.points-1).Draw(t, "x"))...)
		y = append(y, rapid.SampledFrom([]float64{-1, 1}).Draw(t, "y"))
	}
	return c, x, y
}

// One profile gives the right errors sample after sample, its levels are these errors by number,
// and draws at the limits have the fewest.
func TestErrorTableByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, x, y := drawEnumerated(t, 12)
		p, err := c.NewProfile()
		if err != nil {
			t.Fatal(err)
		}
		table := p.(*errorTable)
		for _, n := range []int{len(y), len(y) / 2, 0, len(y)} {
			if err := p.Reset(x[:n*c.dim], y[:n]); err != nil {
				t.Fatal(err)
			}
			var want []int
			counts := map[int]uint64{}
			least := math.MaxInt
			for _, h := range members(c) {
				e := errs(h, x[:n*c.dim], y[:n])
				want, least = append(want, e), min(least, e)
				counts[e]++
			}
			if diff := cmp.Diff(want, table.errors()); diff != "" || p.Min() != least {
				t.Fatalf("least %d, want %d; errors (-want +got):\n%s", p.Min(), least, diff)
			}
			for i, level := range table.list {
				if counts[level.err] != level.count || (i > 0 && table.list[i-1].err >= level.err) {
					t.Fatalf("levels %v, want %v", table.list, counts)
				}
				delete(counts, level.err)
			}
			if len(counts) > 0 {
				t.Fatalf("levels %v lack %v", table.list, counts)
			}
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for _, h := range []Hypothesis{
			p.Exponential(math.Inf(1), r), p.PermuteAndFlip(1e6, r), table.Normal(0, r), table.Normal(1e-9, r),
		} {
			if e := errs(h, x, y); e != p.Min() {
				t.Fatalf("%+v makes %d errors, the fewest are %d", h, e, p.Min())
			}
		}
	})
}

// Minimize finds the least objective over all members and, where sums are exact, the first member
// that has it.
func TestMinimizerByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, x, y := drawEnumerated(t, 8)
		whole := rapid.Bool().Draw(t, "whole")
		weights := func(name string, n int) []float64 {
			w := rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, name)
			for i := range w {
				if whole {
					w[i] = math.Round(w[i])
				}
			}
			return w
		}
		zs := rapid.SliceOfN(rapid.IntRange(0, k.points-1), 0, 6).Draw(t, "z")
		z := at(k, zs...)
		m, err := k.NewMinimizer(z)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with the scratch memory of the first
			w, c := weights("w", len(y)), weights("c", len(zs))
			if rapid.Bool().Draw(t, "plain") {
				w, c = nil, nil
			}
			h, least, err := m.Minimize(x, y, w, c)
			if err != nil {
				t.Fatal(err)
			}
			want, first := math.Inf(1), Hypothesis(nil)
			for _, g := range members(k) {
				if v := objectiveOf(g, x, y, w, z, c); v < want {
					want, first = v, g
				}
			}
			if math.Abs(least-want) > 1e-12 || math.Abs(objectiveOf(h, x, y, w, z, c)-want) > 1e-12 {
				t.Fatalf("%+v with %v, want %+v with %v", h, least, first, want)
			}
			if (whole || w == nil) && (h != first || least != want) {
				t.Fatalf("%+v with %v, the first with the least is %+v with %v", h, least, first, want)
			}
		}
	})
}

func objectiveOf(h Hypothesis, x, y, w, z, c []float64) (sum float64) {
	out := make([]float64, len(y))
	h.Labels(x, out)
	for i := range y {
		switch {
		case out[i] == y[i]:
		case w == nil:
			sum++
		default:
			sum += w[i]
		}
	}
	out = make([]float64, len(c))
	h.Labels(z, out)
	for j := range c {
		sum += c[j] * out[j]
	}
	return sum
}

func TestEnumeratedBestByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, x, y := drawEnumerated(t, 12)
		w := rapid.SliceOfN(rapid.Float64Range(0, 1), len(y), len(y)).Draw(t, "w")
		least, leastWeighted := math.MaxInt, math.Inf(1)
		for _, h := range members(k) {
			least, leastWeighted = min(least, errs(h, x, y)), min(leastWeighted, objectiveOf(h, x, y, w, nil, nil))
		}
		got, err := k.Best(x, y, nil)
		if want := float64(least) / math.Max(1, float64(len(y))); err != nil || got != want {
			t.Fatalf("best %v, %v, want %v", got, err, want)
		}
		if got, err = k.Best(x, y, w); err != nil || math.Abs(got-leastWeighted) > 1e-12 {
			t.Fatalf("weighted best %v, %v, want %v", got, err, leastWeighted)
		}
		if least == 0 && got > 1e-15 {
			t.Fatalf("weighted best %v where a hypothesis has no error", got)
		}
	})
}

// On a sample that a hypothesis fits, the weighted error is 0, although the transform rounds.
func TestBestOfFittedSample(t *testing.T) {
	for _, s := range []Spec{
		{Name: "parities", Dim: 10}, {Name: "monotone-conjunctions", Dim: 10}, {Name: "conjunctions", Dim: 7},
	} {
		k, r := enumeratedOf(t, s), rand.New(rand.NewPCG(3, 3))
		var x, w []float64
		for range 200 {
			x, w = append(x, at(k, r.IntN(k.points))...), append(w, r.Float64()/100)
		}
		for range 20 {
			y := make([]float64, len(w))
			k.Member(r.Uint64N(k.Size().Uint64())).Labels(x, y)
			if got, err := k.Best(x, y, w); err != nil || got != 0 {
				t.Errorf("%+v: best %v, %v", s, got, err)
			}
		}
	}
}

func TestBadEnumeratedSamples(t *testing.T) {
	bits, rows := Spec{Name: "conjunctions", Dim: 2}, Spec{Name: "matrix", Domain: 4, Matrix: "01011100"}
	for _, c := range []struct {
		Spec
		x, y, w []float64
		want    string
	}{
		{bits, []float64{0, 1, 1, 2}, []float64{1, 1}, nil,
			`coordinate 1 of example 1: 2 is not in the domain of class "conjunctions", the numbers 0 and 1`},
		{bits, []float64{-1, 0}, []float64{1}, nil, "coordinate 0 of example 0: -1 is not"},
		{bits, []float64{0.5, 0}, []float64{1}, nil, "coordinate 0 of example 0: 0.5 is not"},
		{bits, []float64{0, math.NaN()}, []float64{1}, nil, "coordinate 1 of example 0: NaN is not"},
		{bits, []float64{0, 1}, []float64{0}, nil, "label 0 of example 0: neither -1 nor +1"},
		{bits, []float64{0, 1}, []float64{1}, []float64{-1}, "weight -1 of example 0"},
		{bits, []float64{0, 1}, []float64{1}, []float64{math.NaN()}, "weight NaN of example 0"},
		{bits, []float64{0, 1}, []float64{1}, []float64{math.Inf(1)}, "weight +Inf of example 0"},
		{rows, []float64{0, 4}, []float64{1, 1}, nil,
			`coordinate 0 of example 1: 4 is not in the domain of class "matrix", the integers 0 to 3`},
		{rows, []float64{-1}, []float64{1}, nil, "coordinate 0 of example 0: -1 is not"},
		{rows, []float64{1.5}, []float64{1}, nil, "coordinate 0 of example 0: 1.5 is not"},
		{rows, []float64{math.NaN()}, []float64{1}, nil, "coordinate 0 of example 0: NaN is not"},
		{rows, []float64{math.Inf(1)}, []float64{1}, nil, "coordinate 0 of example 0: +Inf is not"},
		{rows, []float64{1}, []float64{math.NaN()}, nil, "label NaN of example 0"},
	} {
		k := enumeratedOf(t, c.Spec)
		p, err := k.NewProfile()
		if err != nil {
			t.Fatal(err)
		}
		m, err := k.NewMinimizer(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, bestErr := k.Best(c.x, c.y, c.w)
		_, _, minimizeErr := m.Minimize(c.x, c.y, c.w, nil)
		said := []error{bestErr}
		if c.w == nil {
			said = append(said, p.Reset(c.x, c.y))
		}
		if c.w == nil || !(c.w[0] < 0) {
			said = append(said, minimizeErr)
		}
		for _, err := range said {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v of %v %v %v: error %v, want %s", c.Name, c.x, c.y, c.w, err, c.want)
			}
		}
	}
	k := enumeratedOf(t, bits)
	for _, c := range []struct {
		z    []float64
		want string
	}{
		{[]float64{0, 1, 1, 3}, "coordinate 1 of point 1 of the linear term: 3 is not in the domain"},
		{[]float64{0, 1, 1}, "linear term of 3 numbers: not a multiple of the dimension 2"},
	} {
		if _, err := k.NewMinimizer(c.z); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("linear term at %v: error %v, want %s", c.z, err, c.want)
		}
	}
	m, err := k.NewMinimizer([]float64{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = m.Minimize(nil, nil, nil, []float64{math.Inf(-1)})
	if err == nil || !strings.Contains(err.Error(), "weight -Inf of point 0 of the linear term") {
		t.Errorf("infinite linear term: error %v", err)
	}
}

// normalLaw returns the probability of each h that err(h)/sigma + N_h is the least, by quadrature
// over N_h. All errors lie within some sigmas.
func normalLaw(errs []float64, sigma float64) []float64 {
	law := make([]float64, len(errs))
	for i, e := range errs {
		law[i] = quad.Fixed(func(z float64) float64 {
			p := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			for j, f := range errs {
				if j != i {
					p *= upperTail(z - (f-e)/sigma)
				}
			}
			return p
		}, -12, 12, 400, quad.Legendre{}, 0)
	}
	return law
}

// upperTail returns 1-Phi(z).
func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// The least of count normals is above z with probability (1-Phi(z))^count: that has to give back u,
// in both tails.
func TestLeastNormal(t *testing.T) {
	for _, count := range []uint64{1, 2, 3, 10, 1000, 1 << 24, 1 << 40} {
		last := math.Inf(1)
		for _, u := range []float64{0x1p-53, 1e-12, 1e-3, 0.25, 0.5, 0.75, 0.999, 1 - 1e-12, 1 - 0x1p-53} {
			z := leastNormal(u, count)
			logTail := math.Log1p(-upperTail(-z)) // ln(1-Phi(z)) where Phi(z) is small
			if z > 0 {
				logTail = math.Log(upperTail(z))
			}
			near(t, fmt.Sprintf("count %d, u %v: count ln(1-Phi(%v)) over ln u",
				count, u, z), float64(count)*logTail/math.Log(u), 1, 1e-12)
			if !(z < last) {
				t.Errorf("count %d: %v at %v is not below %v", count, z, u, last)
			}
			last = z
		}
	}
}

// Two levels: the probability that the first has the least, as an integral over its uniform number,
// agrees with the law by hypothesis.
func TestLowestByQuadrature(t *testing.T) {
	for _, c := range []struct {
		first, second uint64
		gap           int
		sigma         float64
	}{{1, 1, 1, 1}, {1, 5, 1, 0.7}, {3, 4, 2, 2}, {2, 9, 3, 1}, {6, 1, 0, 1}} {
		list := []segment{{err: 4, count: c.first}, {err: 4 + c.gap, count: c.second}}
		got := quad.Fixed(func(u float64) float64 {
			// The second level has the least where its uniform number is above some u', to be found by
			// bisection.
			lo, hi := 0.0, 1.0
			for hi-lo > 1e-9 {
				if mid := (lo + hi) / 2; lowest(list, 4, c.sigma, []float64{u, mid}) == 0 {
					lo = mid
				} else {
					hi = mid
				}
			}
			return lo
		}, 0, 1, 300, quad.Legendre{}, 0)
		var errs []float64
		for _, s := range list {
			for range s.count {
				errs = append(errs, float64(s.err))
			}
		}
		near(t, fmt.Sprintf("%+v", c), got, float64(c.first)*normalLaw(errs, c.sigma)[0], 1e-5)
	}
	if low, high := leastNormal(0x1p-53, 1), leastNormal(1-0x1p-53, math.MaxUint64); high < -12.5 || low > 8.3 {
		t.Errorf("normals between %v and %v: further apart than hopelessNormal says", high, low)
	}
	list := []segment{{err: 2, count: 1}, {err: 3, count: 50}}
	if got := lowest(list, 2, 0, []float64{0x1p-53, 1 - 0x1p-53}); got != 0 {
		t.Errorf("sigma 0 picks segment %d, not that of the least error", got)
	}
	if got := lowest(list, 2, math.Inf(1), []float64{0.5, 0.5}); got != 1 {
		t.Errorf("sigma +Inf picks segment %d, not the one with the lower normal", got)
	}
}

// The draws have the laws of the mechanisms, hypothesis by hypothesis.
func TestEnumeratedSamplersByEnumeration(t *testing.T) {
	testkit.Serial(t)
	const draws = 10000
	specs := []Spec{
		{Name: "parities", Dim: 3}, {Name: "monotone-conjunctions", Dim: 3}, {Name: "conjunctions", Dim: 2},
		{Name: "matrix", Domain: 4, Matrix: "0000" + "1101" + "0111" + "1010" + "1111"},
	}
	samples := []struct {
		points []int
		y      []float64
	}{
		{nil, nil},
		{[]int{1, 1, 2, 3, 0}, []float64{-1, 1, 1, 1, -1}},
		{[]int{3, 0, 1, 3}, []float64{-1, -1, -1, -1}},
		{[]int{3, 2, 2, 1, 0, 0, 3}, []float64{1, 1, -1, 1, 1, 1, 1}},
	}
	for _, s := range specs {
		c := enumeratedOf(t, s)
		all, index := members(c), map[Hypothesis]int{}
		for i, h := range all {
			index[h] = i
		}
		for k, sample := range samples {
			x := at(c, sample.points...)
			p := tableOf(t, c, x, sample.y)
			levels, wrong := make([]concepttest.Level, len(all)), make([]float64, len(all))
			for i, h := range all {
				levels[i], wrong[i] = concepttest.Level{Err: errs(h, x, sample.y), Count: 1}, float64(errs(h, x, sample.y))
			}
			check := func(what string, law []float64, draw func(*rand.Rand) Hypothesis) {
				r, counts := rand.New(rand.NewPCG(uint64(k), 7)), make([]int, len(all))
				for range draws {
					counts[index[draw(r)]]++
				}
				fits(t, fmt.Sprintf("%+v, sample %d, %s", s, k, what), counts, law)
			}
			for _, eps := range []float64{0, 0.8, math.Inf(1)} {
				for _, m := range mechanisms() {
					check(fmt.Sprint(m.name, eps), m.law(levels, eps), func(r *rand.Rand) Hypothesis { return m.draw(p, eps, r) })
				}
			}
			for _, sigma := range []float64{0.6, 3} {
				check(fmt.Sprint("normal", sigma), normalLaw(wrong, sigma),
					func(r *rand.Rand) Hypothesis { return p.Normal(sigma, r) })
			}
			check("normal 0", concepttest.ExponentialLaw(levels, math.Inf(1)),
				func(r *rand.Rand) Hypothesis { return p.Normal(0, r) })
			check("normal +Inf", concepttest.ExponentialLaw(levels, 0),
				func(r *rand.Rand) Hypothesis { return p.Normal(math.Inf(1), r) })
		}
	}
}

// For parities, Normal has the law of the minimizer with Gaussian noise on the whole cube.
func TestNormalIsPerturbedLeader(t *testing.T) {
	const draws, sigma = 10000, 1.5
	k := enumeratedOf(t, Spec{Name: "parities", Dim: 3})
	x, y := at(k, 1, 2, 4, 6, 6), []float64{1, -1, 1, 1, -1}
	var wrong []float64
	for _, h := range members(k) {
		wrong = append(wrong, float64(errs(h, x, y)))
	}
	m, err := k.NewMinimizer(at(k, 0, 1, 2, 3, 4, 5, 6, 7))
	if err != nil {
		t.Fatal(err)
	}
	r, counts, c := rand.New(rand.NewPCG(2, 2)), make([]int, 8), make([]float64, 8)
	for range draws {
		for j := range c {
			c[j] = sigma * r.NormFloat64() / math.Sqrt(8)
		}
		h, _, err := m.Minimize(x, y, nil, c)
		if err != nil {
			t.Fatal(err)
		}
		counts[h.(Parity).Set]++
	}
	fits(t, "perturbed leader", counts, normalLaw(wrong, sigma))
}

// The transforms agree with each other and the definition also on tables beyond one cache and of
// every parity of the dimension.
func TestTransformsOnLargerCubes(t *testing.T) {
	for _, s := range []Spec{
		{Name: "parities", Dim: 11}, {Name: "parities", Dim: 16}, {Name: "monotone-conjunctions", Dim: 11},
		{Name: "monotone-conjunctions", Dim: 16},
		{Name: "conjunctions", Dim: 9}, {Name: "conjunctions", Dim: 10},
	} {
		k, r := enumeratedOf(t, s), rand.New(rand.NewPCG(4, uint64(s.Dim)))
		var x, y []float64
		for range 40 {
			x, y = append(x, at(k, r.IntN(k.points))...), append(y, float64(2*r.IntN(2)-1))
		}
		all := tableOf(t, k, x, y).errors()
		for range 200 {
			i := r.IntN(len(all))
			if want := errs(k.Member(uint64(i)), x, y); all[i] != want {
				t.Errorf("%+v: member %d makes %d errors, want %d", s, i, all[i], want)
			}
		}
	}
}
