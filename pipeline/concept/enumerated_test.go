package concept

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

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

// Classes beyond the exact methods still have a size and members.
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
		_, profileErr := k.NewProfile()
		_, minimizerErr := k.(Finite).NewMinimizer(nil)
		for _, err := range []error{profileErr, minimizerErr} {
			if !errors.Is(err, ErrNoExactMethod) || !strings.Contains(err.Error(),
				fmt.Sprintf("only up to %d dimensions",
					c.limit)) {
				t.Errorf("%s of dimension %d: error %v", c.Name, c.limit+1, err)
			}
		}
	}
}

func (p *errorTable) errors() (errs []int) {
	for _, s := range p.sums {
		errs = append(errs, p.positives+int(s))
	}
	return errs
}

// normalDistribution returns the probability of each h that err(h)/sigma + N_h is the least, by
// quadrature over N_h. All errors lie within a few sigmas.
func normalDistribution(errs []float64, sigma float64) []float64 {
	distribution := make([]float64, len(errs))
	for i, e := range errs {
		distribution[i] = quad.Fixed(func(z float64) float64 {
			p := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			for j, f := range errs {
				if j != i {
					p *= upperTail(z - (f-e)/sigma)
				}
			}
			return p
		}, -12, 12, 400, quad.Legendre{}, 0)
	}
	return distribution
}

// upperTail returns 1-Phi(z).
func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// The least of count normals is above z with probability (1-Phi(z))^count: this must return u, in
// both tails.
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

// The draws of Normal have the exact distribution, hypothesis by hypothesis.
func TestNormalByEnumeration(t *testing.T) {
	testkit.Serial(t)
	const draws = 10000
	for _, s := range []Spec{{Name: Parities, Dim: 3}, {Name: Conjunctions, Dim: 2}} {
		c := enumeratedOf(t, s)
		all, index := members(c), map[Hypothesis]int{}
		for i, h := range all {
			index[h] = i
		}
		x, y := at(c, 1, 1, 2, 3, 0), []float64{-1, 1, 1, 1, -1}
		p := tableOf(t, c, x, y)
		levels, wrong := make([]concepttest.Level, len(all)), make([]float64, len(all))
		for i, h := range all {
			levels[i], wrong[i] = concepttest.Level{Err: errs(h, x, y), Count: 1}, float64(errs(h, x, y))
		}
		for _, n := range []struct {
			sigma        float64
			distribution []float64
		}{
			{0.6, normalDistribution(wrong, 0.6)}, {3, normalDistribution(wrong, 3)},
			{0, concepttest.ExponentialDistribution(levels, math.Inf(1))},
			{math.Inf(1), concepttest.ExponentialDistribution(levels, 0)},
		} {
			r, counts := rand.New(rand.NewPCG(1, 7)), make([]int, len(all))
			for range draws {
				counts[index[p.Normal(n.sigma, r)]]++
			}
			fits(t, fmt.Sprintf("%+v, normal %v", s, n.sigma), counts, n.distribution)
		}
	}
}

// The transforms agree with each other and with the definition, also on tables larger than a
// cache and for every parity of the dimension.
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
