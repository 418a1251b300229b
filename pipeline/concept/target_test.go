package concept

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The sides of a random box are the smallest with which the box contains half of the points.
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

// Every hypothesis has one text: parsing the text gives a hypothesis with the same labels, whose
// text is the same.
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
		target.Begin(nil) // a fixed target draws nothing
		x, y := make([]float64, class.Dim()), make([]float64, 1)
		for range 40 {
			for j := range x {
				x[j] = float64(r.Uint64N(Side(s)))
			}
			if b, ok := target.(*Box); ok && r.IntN(2) == 0 { // at an edge, where errors are likely
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

// Different texts of one function have one canonical text, so that equal problems have equal
// keys.
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

// Invalid targets are rejected with the reason and the valid texts.
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
		{Spec{Name: Naturals}, "random", "has no distribution of targets"},
		{Spec{Name: Rectangles, Domain: MaxDomain, Dim: 2}, "uniform", "more than 2^64 hypotheses here"},
		{Spec{Name: Conjunctions, Dim: 65}, strings.Repeat("1", 65), "dimension 65 of class"},
	} {
		if _, _, err := ParseTarget(c.s, c.text, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %q: the error is %v, want %q", c.s, c.text, err, c.want)
		}
	}
}

// EachTarget lists all hypotheses of the class, and too many are rejected with their number.
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

// A random conjunction of many literals has exactly that number of literals, in every dimension.
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
