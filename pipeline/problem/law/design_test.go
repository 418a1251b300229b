package law

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// strata returns, for each of m strata of 0..x-1, the points that it draws, each as often as it is
// likely.
func strata(x, m uint64) [][]uint64 {
	all, parts := make([][]uint64, m), newParts(x, int(m))
	for i := range all {
		for u := range x {
			all[i] = append(all[i], uint64(parts.number(i, u)))
		}
	}
	return all
}

// Division in floating point gives the whole quotient, at the ends of the parts too, as long as its
// numbers are small.
func TestParts(t *testing.T) {
	r, small := rand.New(rand.NewPCG(3, 4)), 0
	for range 200_000 {
		x, m := 1+r.Uint64N(1<<(1+r.IntN(40))), 1+r.IntN(1<<(1+r.IntN(20)))
		p, i, u := newParts(x, m), r.IntN(m), r.Uint64N(x)
		if p.small {
			small++
		}
		// The last number below a multiple of m, and that multiple.
		last := (uint64(i)*x+u)/uint64(m)*uint64(m) - 1
		for _, v := range []uint64{uint64(i)*x + u, last, last + 1} {
			if v >= uint64(m)*x {
				continue // below 0
			}
			got, want := p.number(int(v/x), v%x), v/uint64(m)
			if got != float64(want) {
				t.Fatalf("%d by %d (X %d) is %v, want %d", v, m, x, got, want)
			}
		}
	}
	if small == 0 || small == 200_000 {
		t.Errorf("%d of 200,000 are small", small)
	}
}

// By enumeration: together the strata are the law, so that the mean loss is unbiased for any loss,
// and its variance is at most that of independent points.
func TestStrata(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for x := uint64(1); x <= 12; x++ {
		for m := uint64(1); m <= 15; m++ {
			loss := make([]float64, x)
			for v := range loss {
				loss[v] = r.Float64()
			}
			counts := make([]int, x)
			mean, within, squares := 0.0, 0.0, 0.0
			for _, s := range strata(x, m) {
				sum, square := 0.0, 0.0
				for _, v := range s {
					counts[v]++
					sum, square = sum+loss[v], square+loss[v]*loss[v]
				}
				of := sum / float64(x)
				mean += of / float64(m)
				squares += square / float64(x*m)
				within += (square/float64(x) - of*of) / float64(m*m)
			}
			if !slices.Equal(counts, slices.Repeat([]int{int(m)}, int(x))) {
				t.Fatalf("%d strata of %d points: drawn %v times", m, x, counts)
			}
			if independent := (squares - mean*mean) / float64(m); within > independent+1e-12 {
				t.Errorf("%d strata of %d points: variance %v, independent points have %v", m, x, within, independent)
			}
		}
	}
	if got := quotient(1<<30-1, 1<<40, 1<<40-1, 1<<30); got != 1<<40-1 {
		t.Errorf("the last point of a large domain: %d", got)
	}
}

// By enumeration: a hypothesis and a target of a class cut no more strata than the class says, and
// all others have one loss.
func TestCutStrata(t *testing.T) {
	const x = 12
	for _, name := range concept.Names() {
		d, _ := concept.Lookup(name)
		spec := concept.Spec{Name: name, Domain: x}
		if d.Shape == concept.Grid {
			spec.Dim = 1
		} else if d.Shape != concept.Scalar {
			continue
		}
		c, err := concept.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		class, most := c.(concept.Finite), 0
		size := class.Size().Uint64()
		for m := uint64(2); m <= 7; m++ {
			all := strata(x, m)
			for i := range size * size {
				most = max(most, cutBy(class.Member(i/size), class.Member(i%size), all))
			}
		}
		p := &schemas.Problem{Class: name, Domain: x, Dim: spec.Dim}
		if want := Strata.cut(p, 7); float64(most) > want || most == 0 {
			t.Errorf("%s: %d strata are cut, want %v at most", name, most, want)
		}
	}
}

// cutBy counts the strata in which two hypotheses agree at some points and not at others.
func cutBy(a, b concept.Hypothesis, all [][]uint64) (count int) {
	for _, s := range all {
		x, of, other := make([]float64, len(s)), make([]float64, len(s)), make([]float64, len(s))
		for i, v := range s {
			x[i] = float64(v)
		}
		a.Labels(x, of)
		b.Labels(x, other)
		agree := 0
		for i := range x {
			if of[i] == other[i] {
				agree++
			}
		}
		if agree > 0 && agree < len(s) {
			count++
		}
	}
	return count
}

// Two rectangles cut no more boxes of a grid than it is said.
func TestCutGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		k := 2 + r.IntN(20)
		want := Grid.cut(&schemas.Problem{Class: "rectangles", Domain: 1 << 16, Dim: 2}, k*k)
		cut := map[[2]int]bool{}
		for range 2 {
			var low, high [2]float64 // of the rectangle, in units of a box
			for j := range low {
				a, b := r.Float64()*float64(k), r.Float64()*float64(k)
				low[j], high[j] = min(a, b), max(a, b)
			}
			for i := range k * k {
				box := [2]int{i / k, i % k}
				meets, lies := true, true
				for j, at := range box {
					meets = meets && float64(at) < high[j] && float64(at+1) > low[j]
					lies = lies && float64(at) >= low[j] && float64(at+1) <= high[j]
				}
				if meets && !lies {
					cut[box] = true
				}
			}
		}
		if float64(len(cut)) > want {
			t.Errorf("k %d: %d boxes are cut", k, len(cut))
		}
	}
}

// Evaluation points are those of the law, of equal streams the same, also in pieces, and each part
// of the law has one.
func TestDrawEvaluation(t *testing.T) {
	for _, c := range []struct {
		p      schemas.Problem
		m      int
		design Design
	}{
		{schemas.Problem{Class: "thresholds", Domain: 10_007}, 400, Strata},
		{schemas.Problem{Class: "intervals", Domain: 1 << 40}, 7, Strata},
		{schemas.Problem{Class: "stumps", Domain: 10_000, Dim: 1}, 64, Strata},
		{schemas.Problem{Class: "rectangles", Domain: 10_000, Dim: 2}, 49, Grid},
		{schemas.Problem{Class: "rectangles", Domain: 100, Dim: 3}, 50, Fresh},
		{schemas.Problem{Class: "stumps", Domain: 10_000, Dim: 2}, 49, Grid},
		{schemas.Problem{Class: "stumps", Domain: 1 << 16, Dim: 7}, 121, Array},
		{schemas.Problem{Class: "stumps", Domain: 2, Dim: 32}, 37 * 37, Array},
		{schemas.Problem{Class: "stumps", Domain: 16, Dim: 33}, 50, Fresh},
		{schemas.Problem{Class: "parities", Dim: 70}, 200, Fresh},
	} {
		c.p.Distribution, c.p.Target, c.p.Literals = "uniform", "random", 2
		if got := DesignOf(&c.p); got != c.design {
			t.Fatalf("%+v: design %v", c.p, got)
		}
		dim := concept.Width(Spec(&c.p, ""))
		draw := func(pieces int) (x, y []float64) {
			x, y = make([]float64, c.m*dim), make([]float64, c.m)
			s := Open(&c.p, "").Sampler()
			s.Begin(stream(1, 2, 0))
			r := stream(1, 2, 1)
			for from := 0; from < c.m; from += pieces {
				to := min(c.m, from+pieces)
				s.(Evaluator).DrawEvaluation(r, from, c.m, x[from*dim:to*dim], y[from:to])
			}
			for i, label := range y {
				if label != s.Target().Label(x[i*dim:(i+1)*dim]) {
					t.Fatalf("%+v: a wrong label", c.p)
				}
			}
			return x, y
		}
		x, y := draw(c.m)
		if again, labels := draw(3); !slices.Equal(x, again) || !slices.Equal(y, labels) {
			t.Errorf("%+v: other points in pieces", c.p)
		}
		side, parts := float64(concept.Side(Spec(&c.p, ""))), map[string]bool{}
		for i := range y {
			part := ""
			for j, v := range x[i*dim : (i+1)*dim] {
				if !(v >= 0 && v < side && v == math.Trunc(v)) {
					t.Fatalf("%+v: drew %v", c.p, v)
				}
				k := float64(c.m)
				if dim > 1 {
					k = math.Sqrt(k)
				}
				if c.design != Array || j < 2 {
					part += fmt.Sprint(math.Floor(k*(v+0.5)/side), j, " ")
				}
			}
			parts[part] = true
		}
		if c.design != Fresh && side > 2 && len(parts) < c.m*9/10 { // a point on a border is one of either part
			t.Errorf("%+v: points of %d of %d parts", c.p, len(parts), c.m)
		}
	}
}

// Every point of the cube is equally likely.
func TestDrawBits(t *testing.T) {
	const n = 16_000
	x, counts := make([]float64, 3*n), make([]float64, 8)
	drawBits(stream(5, 6, 7), 3, x)
	for i := range n {
		counts[int(x[3*i]+2*x[3*i+1]+4*x[3*i+2])]++
	}
	testkit.CheckCounts(t, counts, slices.Repeat([]float64{1. / 8}, 8))
}

// The number of points reaches the precision, and the goal lies half-way between two errors.
func TestPoints(t *testing.T) {
	for _, c := range []struct {
		p     schemas.Problem
		t     float64
		alpha float64
		want  int
	}{
		{schemas.Problem{Class: "thresholds", Domain: 1 << 16}, 0.1, 0.1, 405},
		{schemas.Problem{Class: "intervals", Domain: 1 << 16}, 0.1, 0.1, 805},
		{schemas.Problem{Class: "rectangles", Domain: 1 << 16, Dim: 2}, 0.1, 0.1, 44 * 44},
		{schemas.Problem{Class: "stumps", Domain: 1 << 16, Dim: 2}, 0.1, 0.1, 28 * 28},
		{schemas.Problem{Class: "stumps", Domain: 1 << 16, Dim: 5}, 0.1, 0.1, 29 * 29},
		{schemas.Problem{Class: "stumps", Domain: 1 << 16, Dim: 30}, 0.1, 0.1, 31 * 31},
		{schemas.Problem{Class: "parities", Dim: 20}, 0.1, 0.1, 3605},
		{schemas.Problem{Class: "conjunctions", Dim: 20}, 0.3, 0.1, 8405},
	} {
		c.p.Distribution = "uniform"
		d := DesignOf(&c.p)
		m := d.Points(&c.p, c.t, c.alpha)
		if m != c.want {
			t.Errorf("%+v: %d points, want %d", c.p, m, c.want)
		}
		if part := math.Mod(c.t*float64(m), 1); d != Grid && d != Array && math.Abs(part-0.5) > 1e-9 {
			t.Errorf("%+v: the goal is %v errors", c.p, c.t*float64(m))
		}
		if e := d.StandardError(&c.p, c.t, m); e > c.alpha/20+1e-12 || d.Off(&c.p, m) > c.alpha/20+1e-12 {
			t.Errorf("%+v: standard error %v, off by %v", c.p, e, d.Off(&c.p, m))
		}
	}
	for _, p := range []schemas.Problem{{Class: "thresholds", Domain: 1 << 16}, {Class: "parities", Dim: 20},
		{Class: "rectangles", Domain: 1 << 16, Dim: 2}, {Class: "stumps", Domain: 1 << 16, Dim: 3}} {
		p.Distribution = "uniform"
		for _, alpha := range []float64{1e-5, 1e-9, 1e-300} {
			if m := DesignOf(&p).Points(&p, 0.4+alpha, alpha); m < 1 || m > MaxPoints {
				t.Errorf("%+v: alpha %v: %d points", p, alpha, m)
			}
			if m := DesignOf(&p).Points(&p, alpha, alpha); m < 1 || m > MaxPoints {
				t.Errorf("%+v: alpha %v: %d points", p, alpha, m)
			}
		}
	}
	stumps := &schemas.Problem{Class: "stumps", Domain: 1 << 16, Dim: 5}
	for _, c := range []struct {
		d       Design
		m, want int
	}{
		{Grid, 100, 100}, {Grid, 1, 1}, {Grid, 50, 49}, {Grid, 3, 4}, {Strata, 50, 50}, {Fresh, 50, 50},
		{Array, 1, 25}, {Array, 36, 25}, {Array, 40, 49}, {Array, 1000, 31 * 31}, {Array, 1200, 37 * 37},
		{Array, MaxPoints, maxSide * maxSide}, {Grid, MaxPoints, maxSide * maxSide},
	} {
		if got := c.d.Fit(stumps, c.m); got != c.want {
			t.Errorf("design %v: %d points are %d, want %d", c.d, c.m, got, c.want)
		}
	}
}
