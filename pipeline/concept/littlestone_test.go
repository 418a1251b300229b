package concept

import (
	"errors"
	"math/big"
	"strings"
	"testing"
)

// Classes too large to list have their proved bounds, without a search.
func TestLargeDimensions(t *testing.T) {
	for _, c := range []struct {
		spec     Spec
		vc, ldim Dimension
	}{
		{Spec{Name: "thresholds", Domain: MaxDomain}, exactly(1), exactly(40)},
		{Spec{Name: "thresholds", Domain: MaxDomain - 1}, exactly(1), exactly(40)},
		{Spec{Name: "thresholds", Domain: MaxDomain - 1, NoConstant: true}, exactly(1), exactly(39)},
		{Spec{Name: "points", Domain: MaxDomain}, exactly(1), exactly(1)},
		{Spec{Name: "intervals", Domain: MaxDomain}, exactly(2), Dimension{78, 79}},
		{Spec{Name: "intervals", Domain: MaxDomain - 1}, exactly(2), Dimension{78, 78}},
		{Spec{Name: "rectangles", Domain: 1 << 20, Dim: 3}, exactly(6), Dimension{114, 117}},
		{Spec{Name: "stumps", Domain: 1 << 20, Dim: 4}, exactly(4), Dimension{20, 22}},
		{Spec{Name: "stumps", Domain: 4, Dim: 1 << 10}, Dimension{4, 12}, Dimension{4, 12}},
		{Spec{Name: "parities", Dim: 64}, exactly(64), exactly(64)},
		{Spec{Name: "monotone-conjunctions", Dim: 50}, exactly(50), exactly(50)},
		{Spec{Name: "conjunctions", Dim: 64}, exactly(64), exactly(65)},
		{Spec{Name: "halfspace", Dim: 1}, exactly(1), exactly(1)},
		{Spec{Name: "halfspace", Dim: 9}, exactly(9), exactly(Unbounded)},
	} {
		k, err := New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if vc, ldim := Dimensions(k, c.spec); vc != c.vc || ldim != c.ldim {
			t.Errorf("%+v: VC %v, Ldim %v, want %v, %v", c.spec, vc, ldim, c.vc, c.ldim)
		}
	}
}

func TestDimensionInWords(t *testing.T) {
	for want, d := range map[string]Dimension{
		"-1": exactly(-1), "7": exactly(7), "between 2 and 3": {2, 3}, "infinite": exactly(Unbounded),
	} {
		if got := d.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (Dimension{2, 5}).and(Dimension{3, 9}); got != (Dimension{3, 5}) {
		t.Errorf("2 to 5 and 3 to 9: %v", got)
	}
}

func TestDescribeLarge(t *testing.T) {
	two := big.NewInt(2)
	for _, c := range []struct {
		spec         Spec
		points, size *big.Int
		reason       string
	}{
		{Spec{Name: "thresholds", Domain: MaxDomain}, big.NewInt(MaxDomain), big.NewInt(MaxDomain + 1), "use at most"},
		{Spec{Name: "parities", Dim: 64}, new(big.Int).Exp(two, big.NewInt(64), nil),
			new(big.Int).Exp(two, big.NewInt(64), nil), ""},
		{Spec{Name: "conjunctions", Dim: 8}, big.NewInt(256), big.NewInt(6562), ""},
		{Spec{Name: "stumps", Domain: 10, Dim: 3}, big.NewInt(1000), big.NewInt(56), ""},
		{Spec{Name: "halfspace", Dim: 3}, nil, nil, "infinitely many"},
		{Spec{Name: "points", Domain: 1}, big.NewInt(1), big.NewInt(1), "a single hypothesis"},
	} {
		d, err := Describe(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		same := func(a, b *big.Int) bool { return a == nil && b == nil || a != nil && b != nil && a.Cmp(b) == 0 }
		if !same(d.Points, c.points) || !same(d.Size, c.size) {
			t.Errorf("%+v: %v points, %v hypotheses, want %v, %v", c.spec, d.Points, d.Size, c.points, c.size)
		}
		switch {
		case c.reason == "" && (d.NoSeparator != nil || d.Separator == nil || d.Margin.Lower <= 0):
			t.Errorf("%+v: separator %v, margin %v: %v", c.spec, d.Separator, d.Margin, d.NoSeparator)
		case c.reason != "" && (d.Separator != nil || d.NoSeparator == nil ||
			!strings.Contains(d.NoSeparator.Error(), c.reason)):
			t.Errorf("%+v: %v, want %q", c.spec, d.NoSeparator, c.reason)
		}
	}
	if _, err := Describe(Spec{Name: "parity"}); err == nil || errors.Is(err, ErrNoExactMethod) {
		t.Errorf("an unknown class: %v", err)
	}
}
