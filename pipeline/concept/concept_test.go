package concept

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNew(t *testing.T) {
	for _, c := range []struct {
		name       string
		domain     uint64
		dim        int
		noConstant bool
		size       string // "" for infinitely many
		vc         int
	}{
		{"thresholds", 2, 0, false, "3", 1},
		{"thresholds", 2, 1, true, "2", 1},
		{"thresholds", MaxDomain, 0, false, "1099511627777", 1},
		{"thresholds", MaxDomain, 0, true, "1099511627776", 1},
		{"points", 1, 0, false, "1", 0},
		{"points", 2, 1, false, "2", 1},
		{"points", MaxDomain, 0, false, "1099511627776", 1},
		{"intervals", 2, 0, false, "4", 2},
		{"intervals", MaxDomain, 0, false, "604462909807864343166977", 2},
		{"halfspace", 0, 7, false, "", 7},
	} {
		k, err := New(Spec{Name: c.name, Domain: c.domain, Dim: c.dim, NoConstant: c.noConstant})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if k.Name() != c.name || k.VC() != c.vc || k.Dim() != max(1, c.dim) {
			t.Errorf("%+v: name %q, VC %d, dimension %d", c, k.Name(), k.VC(), k.Dim())
		}
		if c.size == "" {
			if k.Size() != nil || !math.IsInf(k.LogSize(), 1) {
				t.Errorf("%+v: size %v, logarithm %v", c, k.Size(), k.LogSize())
			}
			continue
		}
		f, _ := k.Size().Float64()
		if k.Size().String() != c.size || math.Abs(k.LogSize()-math.Log(f)) > 1e-12 {
			t.Errorf("%+v: size %v, logarithm %v", c, k.Size(), k.LogSize())
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name       string
		domain     uint64
		dim        int
		noConstant bool
		want       string
	}{
		{"stump", 4, 0, false, `unknown class "stump": use one of thresholds, points, intervals`},
		{"thresholds", 1, 0, false, `domain 1 of class "thresholds": use 2 to 2^40`},
		{"thresholds", 0, 0, false, `domain 0 of class "thresholds"`},
		{"points", 0, 0, false, `domain 0 of class "points": use 1 to 2^40`},
		{"intervals", MaxDomain + 1, 0, false, `domain 1099511627777 of class "intervals"`},
		{"points", 4, 2, false, `dimension 2 of class "points"`},
		{"points", 4, 0, true, `class "points" cannot leave out the constant`},
		{"halfspace", 4, 3, false, `domain 4 of class "halfspace"`},
		{"halfspace", 0, 0, false, `dimension 0 of class "halfspace": use 1 or more`},
		{"halfspace", 0, 2, true, `cannot leave out the constant`},
	} {
		_, err := New(Spec{Name: c.name, Domain: c.domain, Dim: c.dim, NoConstant: c.noConstant})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

// small is a class small enough to list.
type small struct {
	name       string
	domain     uint64
	noConstant bool
}

func (s small) String() string {
	return fmt.Sprintf("%s of %d, no constant %v", s.name, s.domain, s.noConstant)
}

func (s small) class() Class {
	c, err := New(Spec{Name: s.name, Domain: s.domain, NoConstant: s.noConstant})
	if err != nil {
		panic(err)
	}
	return c
}

// list returns all hypotheses.
func (s small) list() (all []Range) {
	switch s.name {
	case "thresholds":
		last := s.domain
		if s.noConstant {
			last--
		}
		for t := uint64(0); t <= last; t++ {
			all = append(all, Threshold(float64(t)))
		}
	case "points":
		for a := range s.domain {
			all = append(all, Point(float64(a)))
		}
	case "intervals":
		all = append(all, Empty())
		for a := range s.domain {
			for b := a; b < s.domain; b++ {
				all = append(all, Interval(float64(a), float64(b)))
			}
		}
	}
	return all
}

func smalls(domains ...uint64) (all []small) {
	for _, x := range domains {
		all = append(all, small{"points", x, false})
		if x > 1 {
			all = append(all, small{"thresholds", x, false}, small{"thresholds", x, true}, small{"intervals", x, false})
		}
	}
	return all
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

// drawSample draws up to n examples of 0..domain-1, often the same points.
func drawSample(t *rapid.T, domain uint64, n int) (x, y []float64) {
	for range rapid.IntRange(0, n).Draw(t, "n") {
		x = append(x, float64(rapid.Uint64Range(0, domain-1).Draw(t, "x")))
		y = append(y, rapid.SampledFrom([]float64{-1, 1}).Draw(t, "y"))
	}
	return x, y
}

// Size and VC agree with the list of functions.
func TestSizeAndVCByEnumeration(t *testing.T) {
	for _, s := range smalls(1, 2, 3, 5) {
		functions := map[uint64]bool{} // bit v: label of point v
		for _, h := range s.list() {
			f := uint64(0)
			for v := range s.domain {
				if h.Label(float64(v)) > 0 {
					f |= 1 << v
				}
			}
			functions[f] = true
		}
		c := s.class()
		if got := c.Size().Uint64(); got != uint64(len(functions)) {
			t.Errorf("%v: size %d, want %d", s, got, len(functions))
		}
		if got, want := c.VC(), vc(functions, s.domain); got != want {
			t.Errorf("%v: VC %d, want %d", s, got, want)
		}
	}
}

// vc returns the size of the largest shattered set of points, over all sets.
func vc(functions map[uint64]bool, domain uint64) (best int) {
	for set := range uint64(1) << domain {
		size, traces := 0, map[uint64]bool{}
		for v := range domain {
			size += int(set >> v & 1)
		}
		for f := range functions {
			traces[f&set] = true
		}
		if len(traces) == 1<<size {
			best = max(best, size)
		}
	}
	return best
}

// The least error, weighted and not, agrees with the list of hypotheses.
func TestBestByEnumeration(t *testing.T) {
	all := smalls(1, 2, 3, 7)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(all).Draw(t, "class")
		x, y := drawSample(t, s.domain, 12)
		w := rapid.SliceOfN(rapid.Float64Range(0, 1), len(x), len(x)).Draw(t, "w")
		least, leastWeighted := math.MaxInt, math.Inf(1)
		for _, h := range s.list() {
			sum := 0.0
			for i := range x {
				if h.Label(x[i]) != y[i] {
					sum += w[i]
				}
			}
			least, leastWeighted = min(least, errs(h, x, y)), min(leastWeighted, sum)
		}
		got, err := s.class().Best(x, y, nil)
		if want := float64(least) / math.Max(1, float64(len(x))); err != nil || got != want {
			t.Fatalf("best %v, %v, want %v", got, err, want)
		}
		got, err = s.class().Best(x, y, w)
		if err != nil || math.Abs(got-leastWeighted) > 1e-12 {
			t.Fatalf("weighted best %v, %v, want %v", got, err, leastWeighted)
		}
		if least == 0 && got != 0 {
			t.Fatalf("weighted best %v where a hypothesis has no error", got)
		}
		p, err := s.class().NewProfile()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Reset(x, y); err != nil || p.Min() != least {
			t.Fatalf("least count %d, %v, want %d", p.Min(), err, least)
		}
	})
}

func TestBadSamples(t *testing.T) {
	for _, c := range []struct {
		x, y, w []float64
		want    string
	}{
		{[]float64{0, 4}, []float64{1, 1}, nil, "point 4 of example 1: not in the domain"},
		{[]float64{-1}, []float64{1}, nil, "point -1 of example 0"},
		{[]float64{1.5}, []float64{1}, nil, "point 1.5 of example 0"},
		{[]float64{math.NaN()}, []float64{1}, nil, "point NaN"},
		{[]float64{math.Inf(1)}, []float64{1}, nil, "point +Inf"},
		{[]float64{1}, []float64{0}, nil, "label 0 of example 0: neither -1 nor +1"},
		{[]float64{1}, []float64{math.NaN()}, nil, "label NaN"},
		{[]float64{1}, []float64{1}, []float64{-1}, "weight -1 of example 0"},
		{[]float64{1}, []float64{1}, []float64{math.NaN()}, "weight NaN"},
	} {
		for _, s := range smalls(4) {
			if _, err := s.class().Best(c.x, c.y, c.w); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: best of %v %v %v: error %v", s, c.x, c.y, c.w, err)
			}
			p, err := s.class().NewProfile()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Reset(c.x, c.y); c.w == nil && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v: profile of %v %v: error %v", s, c.x, c.y, err)
			}
		}
	}
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
	Linear{[]float64{1, -1}}.Labels([]float64{2, 1, 1, 2, 1, 1}, out)
	if out[0] != 1 || out[1] != -1 || out[2] != 1 { // a tie is +1
		t.Errorf("labels %v", out)
	}
}
