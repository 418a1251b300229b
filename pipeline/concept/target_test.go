package concept

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// outcomeOf is a function that a law gives with a probability.
type outcomeOf struct {
	plus func(x []float64) bool
	p    float64
}

// lawsWant writes the laws of targets out by hand, on small classes.
var lawsWant = []struct {
	s        Spec
	literals int
	law      []outcomeOf
}{
	{Spec{Name: Thresholds, Domain: 5}, 0, lawOf(6, func(t int) func([]float64) bool {
		return func(x []float64) bool { return x[0] >= float64(t) }
	})},
	{Spec{Name: Thresholds, Domain: 5, NoConstant: true}, 0, lawOf(5, func(t int) func([]float64) bool {
		return func(x []float64) bool { return x[0] >= float64(t) }
	})},
	{Spec{Name: Points, Domain: 7}, 0, lawOf(7, func(a int) func([]float64) bool {
		return func(x []float64) bool { return x[0] == float64(a) }
	})},
	{Spec{Name: Intervals, Domain: 6}, 0, lawOf(4, func(a int) func([]float64) bool { // [a, a+3)
		return func(x []float64) bool { return x[0] >= float64(a) && x[0] < float64(a+3) }
	})},
	{Spec{Name: Intervals, Domain: 7}, 0, lawOf(4, func(a int) func([]float64) bool { // [a, a+4)
		return func(x []float64) bool { return x[0] >= float64(a) && x[0] < float64(a+4) }
	})},
	{Spec{Name: Stumps, Domain: 3, Dim: 2}, 0, lawOf(8, func(i int) func([]float64) bool {
		return func(x []float64) bool { return x[i/4] >= float64(i%4) }
	})},
	{Spec{Name: Rectangles, Domain: 5, Dim: 2}, 0, lawOf(4, func(i int) func([]float64) bool { // 5/sqrt(2) = 3.53...: 4
		return func(x []float64) bool {
			a, b := float64(i/2), float64(i%2)
			return x[0] >= a && x[0] < a+4 && x[1] >= b && x[1] < b+4
		}
	})},
	{Spec{Name: Conjunctions, Dim: 3}, 2, lawOf(12, func(i int) func([]float64) bool {
		pair := [][2]int{{0, 1}, {0, 2}, {1, 2}}[i/4]
		return func(x []float64) bool { return x[pair[0]] == float64(i&1) && x[pair[1]] == float64(i>>1&1) }
	})},
	{Spec{Name: Conjunctions, Dim: 3}, 3, lawOf(8, func(i int) func([]float64) bool {
		return func(x []float64) bool {
			return x[0] == float64(i&1) && x[1] == float64(i>>1&1) && x[2] == float64(i>>2)
		}
	})},
	{Spec{Name: MonotoneConjunctions, Dim: 4}, 3, lawOf(4, func(i int) func([]float64) bool { // all but one
		return func(x []float64) bool { return x[0]+x[1]+x[2]+x[3]-x[i] == 3 }
	})},
	{Spec{Name: MonotoneConjunctions, Dim: 4}, 1, lawOf(4, func(i int) func([]float64) bool {
		return func(x []float64) bool { return x[i] == 1 }
	})},
	{Spec{Name: Parities, Dim: 3}, 0, lawOf(8, func(i int) func([]float64) bool {
		return func(x []float64) bool {
			odd := 0.0
			for j, v := range x {
				odd += v * float64(i>>j&1)
			}
			return math.Mod(odd, 2) == 1
		}
	})},
	{Spec{Name: Matrix, Domain: 2, Matrix: "001101"}, 0, lawOf(3, func(i int) func([]float64) bool {
		return func(x []float64) bool { return "001101"[2*i+int(x[0])] == '1' }
	})},
}

// lawOf returns the law of n equally likely functions, of which some may be equal.
func lawOf(n int, function func(i int) func([]float64) bool) (all []outcomeOf) {
	for i := range n {
		all = append(all, outcomeOf{function(i), 1 / float64(n)})
	}
	return all
}

// The law of each class is that of its definition, and so are the weights of its hypotheses.
func TestLawsOfTargets(t *testing.T) {
	for _, c := range lawsWant {
		t.Run(fmt.Sprintf("%s/%d/%d/%d", c.s.Name, c.s.Domain, c.s.Dim, c.literals), func(t *testing.T) {
			class, err := New(c.s)
			if err != nil {
				t.Fatal(err)
			}
			d := definitionOf(class)
			b := &brute{points: slices.Collect(domainOf(d, class, c.s))}
			want := map[string]float64{}
			for _, o := range c.law {
				row := make([]float64, len(b.points))
				for i, x := range b.points {
					if row[i] = -1; o.plus(x) {
						row[i] = 1
					}
				}
				want[signs(row)] += o.p
			}
			for i := range class.Size().Uint64() {
				row := signs(b.labels(class.(Finite).Member(i)))
				if got := d.Weight(c.s, c.literals, i); math.Abs(got-want[row]) > 1e-12 {
					t.Errorf("Weight %v of %s, want %v", got, row, want[row])
				}
			}
			rows := make([]string, 0, len(want))
			for row := range want {
				rows = append(rows, row)
			}
			slices.Sort(rows)
			counts, expected := make([]float64, len(rows)), make([]float64, len(rows))
			for i, row := range rows {
				expected[i] = want[row]
			}
			target, r := d.Random(c.s, c.literals), rand.New(rand.NewPCG(7, 8))
			for range 20_000 {
				target.Begin(r)
				row := make([]float64, len(b.points))
				for i, x := range b.points {
					row[i] = target.Label(x)
				}
				i, ok := slices.BinarySearch(rows, signs(row))
				if !ok {
					t.Fatalf("drew %s", signs(row))
				}
				counts[i]++
			}
			testkit.CheckCounts(t, counts, expected)
		})
	}
}

// The sides of a random box are the least that give the box half of the points.
func TestHalfSide(t *testing.T) {
	for dim := 1; dim <= 12; dim++ {
		for side := uint64(1); side <= 70; side++ {
			all := new(big.Int).Exp(new(big.Int).SetUint64(side), big.NewInt(int64(dim)), nil)
			want := uint64(1)
			for ; ; want++ {
				box := new(big.Int).Exp(new(big.Int).SetUint64(want), big.NewInt(int64(dim)), nil)
				if box.Lsh(box, 1).Cmp(all) >= 0 {
					break
				}
			}
			if got := halfSide(dim, side); got != want {
				t.Errorf("d = %d, X = %d: %d, want %d", dim, side, got, want)
			}
		}
	}
	// ceil(2^40 2^(-1/d))
	for dim, want := range map[int]uint64{1: MaxDomain / 2, 2: 777472127994, 1 << 20: 1099510900959} {
		if got := halfSide(dim, MaxDomain); got != want {
			t.Errorf("d = %d, X = 2^40: %d, want %d", dim, got, want)
		}
	}
}

// oldMiddle returns the low and high ends of the canonical targets as they have always been.
func oldMiddle(s Spec) (low, high []float64) {
	low, high = make([]float64, s.Dim), make([]float64, s.Dim)
	for j := range high {
		high[j] = float64(Side(s) - 1)
	}
	switch x := s.Domain; s.Name {
	case Thresholds, Stumps:
		low[0] = float64(x / 2)
	case Points:
		low[0], high[0] = float64(x/2), float64(x/2)
	case Intervals, Rectangles:
		for j := range low {
			low[j], high[j] = float64(x/4), float64(3*x/4-1)
		}
	case Conjunctions:
		low[0] = 1
		if s.Dim > 1 {
			high[1] = 0
		}
	case MonotoneConjunctions:
		for j := range min(2, s.Dim) {
			low[j] = 1
		}
	}
	return low, high
}

// Exact sample sizes and all numbers that were published stand on the canonical targets.
func TestMiddleTargetsStay(t *testing.T) {
	for _, name := range Names() {
		d, _ := Lookup(name)
		if d.Middle == nil {
			if _, _, err := ParseTarget(d.Examples[0], MiddleTarget, 1); err == nil {
				t.Errorf("%s has a middle", name)
			}
			continue
		}
		for _, domain := range []uint64{2, 3, 4, 5, 1000, 1 << 16, 3 << 30, MaxDomain} {
			for _, dim := range []int{1, 2, 5} {
				s := Spec{Name: name, Domain: domain, Dim: dim}
				if d.Shape == Bits {
					s.Domain = 0
				}
				if s.Dim = dim; !d.Shape.HasDim() {
					s.Dim = 1
				}
				_, make1, err := ParseTarget(s, MiddleTarget, 1)
				if err != nil {
					t.Fatal(err)
				}
				low, high := oldMiddle(s)
				if b := make1().(*Box); !slices.Equal(b.Low, low) || !slices.Equal(b.High, high) {
					t.Errorf("%+v: %v to %v, want %v to %v", s, b.Low, b.High, low, high)
				}
			}
		}
	}
}

// anySpec draws a finite class of any size.
func anySpec(t *rapid.T) Spec {
	d, _ := Lookup(rapid.SampledFrom(namesOf(func(d *Definition) bool { return d.Parse != nil })).Draw(t, "class"))
	s := Spec{Name: d.Name, Dim: 1}
	switch d.Shape {
	case Column:
		return d.Examples[0]
	case Bits:
		s.Dim = rapid.IntRange(1, 40).Draw(t, "d")
	case Scalar, Grid:
		s.Domain = rapid.Uint64Range(2, MaxDomain).Draw(t, "domain")
		if d.Shape == Grid {
			s.Dim = rapid.IntRange(1, 4).Draw(t, "d")
		}
	}
	return s
}

// Any hypothesis has one text: what is read from it labels as the hypothesis does, and is written
// as the same text again.
func TestTextsOfHypotheses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		class, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		d, most := definitionOf(class), uint64(math.MaxUint64)
		if class.Size().IsUint64() {
			most = class.Size().Uint64() - 1
		}
		h := class.(Finite).Member(rapid.Uint64Range(0, most).Draw(t, "number"))
		text := d.Write(s, h)
		canonical, targetOf, err := ParseTarget(s, text, 1)
		if err != nil || canonical != text {
			t.Fatalf("%+v: %q is read as %q, %v", s, text, canonical, err)
		}
		target, r := targetOf(), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		target.Begin(nil) // a stated target draws nothing
		x, y := make([]float64, class.Dim()), make([]float64, 1)
		for range 40 {
			for j := range x {
				x[j] = float64(r.Uint64N(Side(s)))
			}
			if b, ok := target.(*Box); ok && r.IntN(2) == 0 { // at an edge, where errors would be
				j := r.IntN(len(x))
				x[j] = min(
					max([]float64{b.Low[j], b.Low[j] - 1, b.High[j], b.High[j] + 1}[r.IntN(4)], 0),
					float64(Side(s)-1),
				)
			}
			if h.Labels(x, y); target.Label(x) != y[0] {
				t.Fatalf("%+v: the target %q labels %v %v, the hypothesis %v", s, text, x, target.Label(x), y[0])
			}
		}
	})
}

// Several texts of one function have one canonical text, so that equal problems have equal keys.
func TestCanonicalTexts(t *testing.T) {
	for _, c := range []struct {
		s          Spec
		text, want string
	}{
		{Spec{Name: Thresholds, Domain: 1 << 16}, "2^15", "32768"},
		{Spec{Name: Thresholds, Domain: 1 << 16}, "0", "0"},
		{Spec{Name: Thresholds, Domain: 1 << 16}, "007", "7"},
		{Spec{Name: Points, Domain: 1 << 16}, "2^0", "1"},
		{Spec{Name: Intervals, Domain: 64}, "2^4..49", "16..49"},
		{Spec{Name: Intervals, Domain: 64}, "nowhere", "nowhere"},
		{Spec{Name: Rectangles, Domain: 64, Dim: 2}, "0..63x16..49", "0..63 x 16..49"},
		{Spec{Name: Stumps, Domain: 16, Dim: 3}, "x2 >= 5", "x2>=5"},
		{Spec{Name: Stumps, Domain: 16, Dim: 3}, "x2<5", "x2<5"},
		{Spec{Name: Stumps, Domain: 16, Dim: 3}, "x2>=0", "everywhere"},
		{Spec{Name: Stumps, Domain: 16, Dim: 3}, "x3<16", "everywhere"},
		{Spec{Name: Stumps, Domain: 16, Dim: 3}, "x1<0", "nowhere"},
		{Spec{Name: Stumps, Domain: 16, Dim: 3}, "x1>=16", "nowhere"},
		{Spec{Name: Conjunctions, Dim: 4}, "10xx", "10xx"},
		{Spec{Name: Matrix, Domain: 2, Matrix: "001101"}, "02", "2"},
	} {
		if got, _, err := ParseTarget(c.s, c.text, 1); got != c.want || err != nil {
			t.Errorf("%+v: %q is %q, %v, want %q", c.s, c.text, got, err, c.want)
		}
	}
}

// What is no target is refused with the reason and what may be written.
func TestWrongTargets(t *testing.T) {
	for _, c := range []struct {
		s          Spec
		text, want string
	}{
		{Spec{Name: Thresholds, Domain: 16}, "17",
			"17 is outside 0..16, where a threshold t has to be; write t of 0..X, from which on it is +1, such as 5 or 2^10, " +
				"or random, uniform or middle"},
		{Spec{Name: Thresholds, Domain: 16, NoConstant: true}, "16", "16 is outside 0..15"},
		{Spec{Name: Thresholds, Domain: 16}, "midle", `did you mean "middle"?`},
		{Spec{Name: Thresholds, Domain: 16}, "2^99", `"2^99" is not a threshold t, a whole number`},
		{Spec{Name: Points, Domain: 16}, "16", "16 is outside 0..15"},
		{Spec{Name: Intervals, Domain: 64}, "[16, 49]", `"[16, 49]" is not an interval a..b; write a..b with both ends inside`},
		{Spec{Name: Intervals, Domain: 64}, "49..16", "16 is outside 49..63"},
		{Spec{Name: Intervals, Domain: 64}, "5..64", "64 is outside 5..63"},
		{Spec{Name: Rectangles, Domain: 64, Dim: 2}, "5..6", "is not 2 intervals joined by x"},
		{Spec{Name: Stumps, Domain: 16, Dim: 3}, "x4>=5", "4 is outside 1..3, where the number of a coordinate has to be"},
		{Spec{Name: Stumps, Domain: 16, Dim: 3}, "x1=5", `"x1=5" is not a stump; write x1>=5 or x1<5`},
		{Spec{Name: Conjunctions, Dim: 4}, "10x", `"10x" has 3 characters, not one for each of the 4 bits`},
		{Spec{Name: Conjunctions, Dim: 4}, "10x2", `"10x2" has '2' for bit 4, not one of 1, 0, x`},
		{Spec{Name: MonotoneConjunctions, Dim: 2}, "10", `"10" has '0' for bit 2, not one of 1, x`},
		{Spec{Name: Parities, Dim: 2}, "middle", "has no hypothesis in its middle: write random, uniform or a character"},
		{Spec{Name: Matrix, Domain: 2, Matrix: "001101"}, "4", "4 is outside 1..3, where the number of a row has to be"},
		{Spec{Name: Halfspace, Dim: 2}, "uniform", "has infinitely many hypotheses, of which none has a text: write random"},
		{Spec{Name: Naturals}, "random", "has no law of targets"},
		{Spec{Name: Rectangles, Domain: MaxDomain, Dim: 2}, "uniform", "more than 2^64 hypotheses here"},
		{Spec{Name: Conjunctions, Dim: 65}, strings.Repeat("1", 65), "dimension 65 of class"},
	} {
		if _, _, err := ParseTarget(c.s, c.text, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %q: the error is %v, want %q", c.s, c.text, err, c.want)
		}
	}
}

// The hypotheses of each are all of the class, and too many are refused with their number.
func TestHypotheses(t *testing.T) {
	for _, c := range []struct {
		s    Spec
		want string
	}{
		{Spec{Name: Thresholds, Domain: 3}, "0, 1, 2, 3"},
		{Spec{Name: Intervals, Domain: 2}, "0..0, 0..1, 1..1, nowhere"},
		{Spec{Name: Stumps, Domain: 2, Dim: 2}, "nowhere, everywhere, x1>=1, x1<1, x2>=1, x2<1"},
		{Spec{Name: MonotoneConjunctions, Dim: 2}, "xx, 1x, x1, 11"},
		{Spec{Name: Conjunctions, Dim: 1}, "0, 1, x, nowhere"},
		{Spec{Name: Parities, Dim: 2}, "00, 10, 01, 11"},
		{Spec{Name: Matrix, Domain: 2, Matrix: "001101"}, "1, 2, 3"},
	} {
		got, err := Hypotheses(c.s, 6)
		if strings.Join(got, ", ") != c.want || err != nil {
			t.Errorf("%+v: %q, %v, want %s", c.s, got, err, c.want)
		}
	}
	for _, c := range []struct {
		s    Spec
		want string
	}{
		{Spec{Name: Thresholds, Domain: 4096}, "the class thresholds has 4097 hypotheses here, and 4096 is the most"},
		{Spec{Name: Rectangles, Domain: MaxDomain, Dim: 3}, "hypotheses here, and 4096 is the most"},
		{Spec{Name: Halfspace, Dim: 3}, "the class halfspace has infinitely many hypotheses"},
	} {
		if _, err := Hypotheses(c.s, 4096); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

// A random conjunction of many literals has exactly as many, whatever the dimension.
func TestLiterals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, literals := range []int{1, 2, 7, 64} {
		b := literalsBox(64, literals, true)
		for range 50 {
			b.Begin(r)
			var set uint64
			for j := range b.Low {
				if b.Low[j] == b.High[j] {
					set |= 1 << j
				}
			}
			if bits.OnesCount64(set) != literals {
				t.Fatalf("%d literals of %d", bits.OnesCount64(set), literals)
			}
		}
	}
}
