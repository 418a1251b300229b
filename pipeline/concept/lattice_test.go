package concept

import (
	"errors"
	"fmt"
	"math"

	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

func TestNewLattices(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		dim  int
		size string
		vc   int
	}{
		{Spec{Name: "stumps", Domain: 2}, 1, "4", 2},
		{Spec{Name: "stumps", Domain: 1 << 32, Dim: 300}, 300, "2576980377002", 11},
		{Spec{Name: "stumps", Domain: MaxDomain, Dim: maxDim}, maxDim, "144115188075724802", 19},
		{Spec{Name: "rectangles", Domain: 1}, 2, "2", 1},
		{Spec{Name: "rectangles", Domain: 2}, 2, "10", 2},
		{Spec{Name: "rectangles", Domain: 2, Dim: 7}, 7, "2188", 7},
		{Spec{Name: "rectangles", Domain: 50}, 2, "1625626", 4},
		{Spec{Name: "rectangles", Domain: 3, Dim: 5}, 5, "7777", 10},
		{Spec{Name: "rectangles", Domain: MaxDomain}, 2, "365375409333390343548813968346977562101416984577", 4},
	} {
		k := newFinite(t, c.spec)
		if k.Name() != c.spec.Name || k.Dim() != c.dim || k.Size().String() != c.size || k.VC() != c.vc {
			t.Errorf("%+v: %q in dimension %d of %v, VC %d", c.spec, k.Name(), k.Dim(), k.Size(), k.VC())
		}
		f, _ := k.Size().Float64()
		near(t, "logarithm", k.LogSize(), math.Log(f), 1e-12*math.Log(f))
	}
	// beyond the range of a float64
	k := newFinite(t, Spec{Name: "rectangles", Domain: MaxDomain, Dim: 1000})
	near(t, "logarithm", k.LogSize(), 1000*(math.Log(MaxDomain)+math.Log(MaxDomain+1)-math.Ln2), 1e-8)
}

func TestNewLatticesRefuses(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "stumps", Domain: 1, Dim: 3}, `domain 1 of class "stumps": use 2 to 2^40`},
		{Spec{Name: "stumps", Domain: 4, Dim: -1}, `dimension -1 of class "stumps": use 1 to 65536`},
		{Spec{Name: "stumps", Domain: 4, Dim: maxDim + 1}, `dimension 65537 of class "stumps"`},
		{Spec{Name: "rectangles"}, `domain 0 of class "rectangles": use 1 to 2^40`},
		{Spec{Name: "rectangles", Domain: MaxDomain + 1}, `domain 1099511627777 of class "rectangles"`},
		{Spec{Name: "rectangles", Domain: 4, Dim: -2}, `dimension -2 of class "rectangles"`},
		{Spec{Name: "stumps", Domain: 4, NoConstant: true}, `class "stumps" cannot leave out the constant`},
	} {
		if _, err := New(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c.spec, err)
		}
	}
}

// Of rectangles outside the plane there are members, but no exact methods.
func TestRectanglesOutsideThePlane(t *testing.T) {
	for _, dim := range []int{1, 3} {
		c := newFinite(t, Spec{Name: "rectangles", Domain: 4, Dim: dim})
		_, profile := c.NewProfile()
		_, minimizer := c.NewMinimizer(nil)
		_, best := c.Best(nil, nil, nil)
		for _, err := range []error{profile, minimizer, best} {
			if !errors.Is(err, ErrNoExactMethod) || !strings.Contains(err.Error(), fmt.Sprintf("in %d dimensions", dim)) {
				t.Errorf("dimension %d: error %v", dim, err)
			}
		}
	}
}

// The dimension agrees with a search over all sets of points.
func TestVCOfLattices(t *testing.T) {
	testkit.Serial(t)
	for _, s := range []Spec{
		{Name: "stumps", Domain: 2, Dim: 1}, {Name: "stumps", Domain: 4, Dim: 1},
		{Name: "stumps", Domain: 2, Dim: 2}, {Name: "stumps", Domain: 4, Dim: 2},
		{Name: "stumps", Domain: 2, Dim: 3}, {Name: "stumps", Domain: 3, Dim: 3}, {Name: "stumps", Domain: 4, Dim: 3},
		{Name: "stumps", Domain: 2, Dim: 6}, {Name: "stumps", Domain: 2, Dim: 7}, {Name: "stumps", Domain: 3, Dim: 4},
		{Name: "rectangles", Domain: 1}, {Name: "rectangles", Domain: 1, Dim: 3},
		{Name: "rectangles", Domain: 2, Dim: 1}, {Name: "rectangles", Domain: 2},
		{Name: "rectangles", Domain: 2, Dim: 3}, {Name: "rectangles", Domain: 2, Dim: 4},
		{Name: "rectangles", Domain: 3, Dim: 1}, {Name: "rectangles", Domain: 3}, {Name: "rectangles", Domain: 4},
		{Name: "rectangles", Domain: 3, Dim: 3},
	} {
		l := list(t, s)
		if got := l.dimension(); l.VC() != got {
			t.Errorf("%+v: VC %d, by search %d", s, l.VC(), got)
		}
	}
}

// part is a set of at most 256 members of a class.
type part [4]uint64

// dimension returns the VC dimension by its definition: the size of the largest set of points that
// is labelled in all ways.
func (l lister) dimension() int {
	var all part
	plus := make([]part, len(l.points)) // members that label the point +1
	for i, h := range l.members {
		all[i/64] |= 1 << (i % 64)
		for v, label := range l.row(h) {
			if label == '+' {
				plus[v][i/64] |= 1 << (i % 64)
			}
		}
	}
	return shattered([]part{all}, plus)
}

// shattered returns the most points of those given that halve all parts, and all halves, and so on.
func shattered(parts, plus []part) (best int) {
	for v := range plus {
		if halves := halve(parts, plus[v]); halves != nil {
			best = max(best, 1+shattered(halves, plus[v+1:]))
		}
	}
	return best
}

// halve returns the two halves of every part at a point, and nil where one is empty.
func halve(parts []part, plus part) (halves []part) {
	for _, p := range parts {
		in, out := p, p
		for k, word := range plus {
			in[k] &= word
			out[k] &^= word
		}
		if in == (part{}) || out == (part{}) {
			return nil
		}
		halves = append(halves, in, out)
	}
	return halves
}
