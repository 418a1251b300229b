package problem

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/law"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// open opens a problem that must be valid.
func open(t testing.TB, p schemas.Problem) *Problem {
	t.Helper()
	o, err := Open(p, "")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// sample draws one sample of n for one trial.
func sample(p *Problem, seed, rep uint64, n int) (d *Drawer, x, y []float64) {
	d = p.Drawer(p.Test(0, 0))
	d.Begin(new(seeded).trial(seed, rep))
	x, y = make([]float64, n*p.Dim()), make([]float64, n)
	d.Sample(n, x, y)
	return d, x, y
}

// evaluation reads all evaluation points of the drawer's trial.
func evaluation(d *Drawer) (x, y, w []float64) {
	n := d.TestLen()
	x, y, w = make([]float64, n*d.p.Dim()), make([]float64, n), make([]float64, n)
	d.Test(x, y, w)
	return x, y, w
}

func TestLargeUniformDomain(t *testing.T) {
	for class, target := range map[string]concept.Range{
		"thresholds": {Lo: 1 << 39, Hi: 1<<40 - 1}, "points": {Lo: 1 << 39, Hi: 1 << 39},
		"intervals": {Lo: 1 << 38, Hi: 3<<38 - 1},
	} {
		p := open(t, schemas.Problem{Class: class, Distribution: "uniform", Domain: 1 << 40, Target: "middle"})
		if p.Exact() || p.design != law.Strata {
			t.Errorf("%s: exact %v, design %v", class, p.Exact(), p.design)
		}
		d, x, y := sample(p, 3, 4, 4000)
		testX, testY, _ := evaluation(d)
		x, y = append(x, testX...), append(y, testY...)
		counts := make([]float64, 16)
		for i, v := range x {
			if v != math.Trunc(v) || y[i] != target.Label(v) {
				t.Fatalf("%s: drew (%v, %v)", class, v, y[i])
			}
			counts[uint64(v)>>36]++
		}
		testkit.CheckCounts(t, counts, slices.Repeat([]float64{1. / 16}, 16))
	}
}

// Whatever a law draws is labelled -1 or +1 and lies in its domain, and the weights of the
// evaluation sum to 1.
func TestEveryProblemDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := Open(anyLaw(t), "")
		if err != nil {
			t.Fatal(err)
		}
		d, x, y := sample(
			p,
			rapid.Uint64().Draw(t, "seed"),
			rapid.Uint64().Draw(t, "repetition"),
			rapid.IntRange(1, 50).Draw(t, "n"),
		)
		testX, testY, w := evaluation(d)
		sum := 0.0
		for _, v := range w {
			sum += v
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("weights sum to %v", sum)
		}
		for _, label := range append(y, testY...) {
			if label != 1 && label != -1 {
				t.Fatalf("label %v", label)
			}
		}
		x = append(x, testX...)
		for i := 0; i < len(x); i += p.Dim() {
			if row := x[i : i+p.Dim()]; p.spec.Domain == 0 && math.Abs(norm(row)-1) > 1e-12 {
				t.Fatalf("norm %v", norm(row))
			} else if p.spec.Domain != 0 && !(row[0] >= 0 && row[0] < float64(p.spec.Domain) && row[0] == math.Trunc(row[0])) {
				t.Fatalf("value %v", row[0])
			}
		}
	})
}

// anyLaw draws any valid law with any noise.
func anyLaw(t *rapid.T) schemas.Problem {
	p := schemas.Problem{
		Class: rapid.SampledFrom([]string{"thresholds", "points", "intervals", "halfspace"}).Draw(t, "class"),
	}
	p.Distribution = rapid.SampledFrom(law.NamesFor(p.Class)).Draw(t, "distribution")
	if p.Class == "halfspace" {
		p.Dim = rapid.IntRange(2, 40).Draw(t, "d")
		p.Margin = rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "margin")
		p.Test = rapid.IntRange(1, 100).Draw(t, "test")
	} else {
		p.Domain = rapid.Uint64Range(4, 1<<40).Draw(t, "domain")
	}
	if p.Distribution == "needle" {
		p.Mass = rapid.Float64Range(1e-9, 1./3).Draw(t, "mass")
	}
	if p.Distribution == "agnostic" { // of four points, it turns one of thresholds; of 64, 24 of intervals
		if p.Class == "intervals" {
			p.Domain = max(p.Domain, 64)
		}
		p.Mass = rapid.Float64Range(0.13, 0.37).Draw(t, "mass")
	}
	if p.Noise.Kind = rapid.SampledFrom([]string{"none", "random", "adversarial"}).Draw(t,
		"noise"); p.Noise.Kind != "none" {
		p.Noise.Rate = rapid.Float64Range(0, 0.49).Draw(t, "rate")
	}
	return p
}

func near(a, b []float64, most float64) bool {
	return slices.EqualFunc(a, b, func(p, q float64) bool { return math.Abs(p-q) <= most })
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }
