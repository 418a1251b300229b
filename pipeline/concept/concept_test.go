package concept

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	for _, c := range []struct {
		Spec
		size string // "" for infinitely many
		vc   int
	}{
		{Spec{Name: Thresholds, Domain: 2}, "3", 1},
		{Spec{Name: Thresholds, Domain: 2, Dim: 1, NoConstant: true}, "2", 1},
		{Spec{Name: Thresholds, Domain: MaxDomain}, "1099511627777", 1},
		{Spec{Name: Thresholds, Domain: MaxDomain, NoConstant: true}, "1099511627776", 1},
		{Spec{Name: Points, Domain: 1}, "1", 0},
		{Spec{Name: Points, Domain: MaxDomain}, "1099511627776", 1},
		{Spec{Name: Intervals, Domain: MaxDomain}, "604462909807864343166977", 2},
		{Spec{Name: Halfspace, Dim: 7}, "", 7},
		{Spec{Name: Parities, Dim: 64}, "18446744073709551616", 64},
		{Spec{Name: MonotoneConjunctions, Dim: 25}, "33554432", 25},
		{Spec{Name: Conjunctions, Dim: 1}, "4", 2},
		{Spec{Name: Conjunctions, Dim: 64}, "3433683820292512484657849089282", 64},
		{Spec{Name: Matrix, Domain: 3, Matrix: "011"}, "1", 0},
		{Spec{Name: Matrix, Domain: 2, Dim: 1, Matrix: "00100111"}, "4", 2},
		{Spec{Name: Stumps, Domain: 1 << 32, Dim: 300}, "2576980377002", 11},
		{Spec{Name: Stumps, Domain: MaxDomain, Dim: maxDim}, "144115188075724802", 19},
		{Spec{Name: Rectangles, Domain: 2, Dim: 7}, "2188", 7},
		{Spec{Name: Rectangles, Domain: 50, Dim: 2}, "1625626", 4},
		{Spec{Name: Rectangles, Domain: MaxDomain, Dim: 2}, "365375409333390343548813968346977562101416984577", 4},
	} {
		k, err := New(c.Spec)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if k.Name() != c.Name || k.VC() != c.vc || k.Dim() != max(1, c.Dim) {
			t.Errorf("%+v: name %q, VC %d, dimension %d", c, k.Name(), k.VC(), k.Dim())
		}
		if c.size == "" {
			if k.Size() != nil || !math.IsInf(k.LogSize(), 1) {
				t.Errorf("%+v: size %v, logarithm %v", c, k.Size(), k.LogSize())
			}
			continue
		}
		f, _ := k.Size().Float64()
		near(t, "logarithm", k.LogSize(), math.Log(f), 1e-12*max(1, math.Log(f)))
		k.Size().Add(k.Size(), big.NewInt(1))
		if k.Size().String() != c.size {
			t.Errorf("%+v: size %v, or it can be changed from outside", c, k.Size())
		}
	}
	// beyond the range of a float64
	k := newFinite(t, Spec{Name: Rectangles, Domain: MaxDomain, Dim: 1000})
	near(t, "logarithm", k.LogSize(), 1000*(math.Log(MaxDomain)+math.Log(MaxDomain+1)-math.Ln2), 1e-8)
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		Spec
		want string
	}{
		{Spec{Name: "stump", Domain: 4}, `unknown class "stump": use one of thresholds, points, intervals`},
		{Spec{Name: Thresholds, Domain: 1}, `domain 1 of class "thresholds": use 2 to 2^40`},
		{Spec{Name: Points}, `domain 0 of class "points": use 1 to 2^40`},
		{Spec{Name: Intervals, Domain: MaxDomain + 1}, `domain 1099511627777 of class "intervals"`},
		{Spec{Name: Points, Domain: 4, Dim: 2}, `dimension 2 of class "points"`},
		{Spec{Name: Points, Domain: 4, NoConstant: true}, `class "points" cannot leave out the constant`},
		{Spec{Name: Halfspace, Domain: 4, Dim: 3}, `domain 4 of class "halfspace"`},
		{Spec{Name: Halfspace}, `dimension 0 of class "halfspace": use 1 or more`},
		{Spec{Name: Parities}, `dimension 0 of class "parities": use 1 to 64`},
		{Spec{Name: MonotoneConjunctions, Dim: 65}, `dimension 65 of class "monotone-conjunctions": use 1 to 64`},
		{Spec{Name: Conjunctions, Dim: -1}, `dimension -1 of class "conjunctions"`},
		{Spec{Name: Conjunctions, Dim: 3, Domain: 2}, `domain 2 of class "conjunctions": its points are vectors of bits`},
		{Spec{Name: Parities, Dim: 3, Matrix: "01"}, `class "parities" takes no matrix`},
		{Spec{Name: Matrix, Matrix: "01"}, `domain 0 of class "matrix"`},
		{Spec{Name: Matrix, Domain: 2, Dim: 2, Matrix: "01"}, `dimension 2 of class "matrix"`},
		{Spec{Name: Matrix, Domain: 2}, `matrix without rows: use 2 characters`},
		{Spec{Name: Matrix, Domain: 3, Matrix: "0110"},
			`row 1 of the matrix (the first is 0) has 1 characters: use one for each of the 3 points`},
		{Spec{Name: Matrix, Domain: 1 << 63, Matrix: "01"}, `row 0 of the matrix (the first is 0) has 2 characters`},
		{Spec{Name: Matrix, Domain: 3, Matrix: "0110a0"},
			`row 1 of the matrix (the first is 0) has 'a' at point 1: use '0' or '1'`},
		{Spec{Name: Matrix, Domain: 2, Matrix: "00011000"}, `rows 0 and 3 of the matrix (the first is 0) are equal`},
		{Spec{Name: Matrix, Domain: 1 << 19, Matrix: strings.Repeat("0", 1<<20)},
			`matrix of 1048576 labels: use at most 524288`},
		{Spec{Name: Stumps, Domain: 1, Dim: 3}, `domain 1 of class "stumps": use 2 to 2^40`},
		{Spec{Name: Stumps, Domain: 4, Dim: maxDim + 1}, `dimension 65537 of class "stumps": use 1 to 65536`},
		{Spec{Name: Rectangles, Domain: 4, Dim: -2}, `dimension -2 of class "rectangles"`},
	} {
		if _, err := New(c.Spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: error %v, want %s", fmt.Sprintf("%+v", c.Spec), err, c.want)
		}
	}
}

// errs returns the number of errors of h.
func errs(h Hypothesis, x, y []float64) (n int) {
	out := make([]float64, len(y))
	h.Labels(x, out)
	for i := range y {
		if out[i] != y[i] {
			n++
		}
	}
	return n
}

func TestHalfspace(t *testing.T) {
	c, err := New(Spec{Name: "halfspace", Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Best(nil, nil, nil); !errors.Is(err, ErrNoExactMethod) {
		t.Errorf("best: %v", err)
	}
	if _, err := c.NewProfile(); !errors.Is(err, ErrNoExactMethod) {
		t.Errorf("profile: %v", err)
	}
	out := make([]float64, 3)
	Linear{W: []float64{1, -1}}.Labels([]float64{2, 1, 1, 2, 1, 1}, out)
	if out[0] != 1 || out[1] != -1 || out[2] != 1 { // a tie is +1
		t.Errorf("labels %v", out)
	}
}
