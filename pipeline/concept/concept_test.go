package concept

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

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
	if _, err := FewestErrors(c, nil, nil); !errors.Is(err, ErrNoExactMethod) {
		t.Errorf("fewest errors: %v", err)
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
