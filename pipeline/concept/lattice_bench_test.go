package concept

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// benchLattice returns n uniform points, labelled by the middle of their first number with 10 %
// flipped.
func benchLattice(n, dim int, domain uint64) (x, y []float64) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x, y = make([]float64, n*dim), make([]float64, n)
	for i := range x {
		x[i] = float64(r.Uint64N(domain))
	}
	for i := range y {
		y[i] = Interval(float64(domain/4), float64(domain/4*3)).Label(x[i*dim])
		if r.IntN(10) == 0 {
			y[i] = -y[i]
		}
	}
	return x, y
}

// term returns a linear term at all points of an ordered domain.
func term(domain uint64) (z, c []float64) {
	r := rand.New(rand.NewPCG(2, domain))
	for v := range domain {
		z, c = append(z, float64(v)), append(c, r.NormFloat64())
	}
	return z, c
}

// Trials and searches allocate the hypothesis that they answer, of a rectangle its box and its
// sides, and nothing else.
func TestLatticeAllocations(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want float64
	}{
		{Spec{Name: "thresholds", Domain: 1 << 20}, 1}, {Spec{Name: "points", Domain: 1 << 20}, 1},
		{Spec{Name: "intervals", Domain: 1 << 20}, 1},
		{Spec{Name: "stumps", Domain: 1 << 20, Dim: 3}, 1}, {Spec{Name: "rectangles", Domain: 1 << 20}, 2},
	} {
		k := newFinite(t, c.spec)
		x, y := benchLattice(20, k.Dim(), c.spec.Domain)
		p, r := lister{Finite: k}.profile(t, x, y), rand.New(rand.NewPCG(1, 1))
		m, err := k.NewMinimizer(x)
		if err != nil {
			t.Fatal(err)
		}
		for what, run := range map[string]func(){
			"exponential": func() { p.Exponential(1, r) },
			"flip":        func() { p.PermuteAndFlip(1, r) },
			"minimum": func() {
				if _, _, err := m.Minimize(x, y, nil, y); err != nil {
					t.Fatal(err)
				}
			},
		} {
			got := testing.AllocsPerRun(50, func() {
				if err := p.Reset(x, y); err != nil {
					t.Fatal(err)
				}
				run()
			})
			if got > c.want {
				t.Errorf("%s, %s: %v allocations, want %v", k.Name(), what, got, c.want)
			}
		}
	}
}

// A perturbed threshold at n = 100 with noise at all 1024 points: one addition per point and
// example, and the sort.
func BenchmarkThresholdsMinimize(b *testing.B) {
	const n, rounds = 100, 64
	k := newFinite(b, Spec{Name: "thresholds", Domain: 1024})
	x, y := benchLattice(n*rounds, 1, 1024)
	z, c := term(1024)
	m, err := k.NewMinimizer(z)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i = (i + 1) % rounds {
		if _, _, err := m.Minimize(x[i*n:(i+1)*n], y[i*n:(i+1)*n], nil, c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n+1024, "additions")
}

// A stump of 30 numbers at n = 1000: 30 sorts.
func BenchmarkStumps(b *testing.B) {
	const n, dim, rounds = 1000, 30, 16
	k := newFinite(b, Spec{Name: "stumps", Domain: 1 << 32, Dim: dim})
	x, y := benchLattice(n*rounds, dim, 1<<32)
	m, err := k.NewMinimizer(nil)
	if err != nil {
		b.Fatal(err)
	}
	p, r := lister{Finite: k}.profile(b, nil, nil), rand.New(rand.NewPCG(1, 1))
	for _, run := range []struct {
		name string
		do   func(x, y []float64) error
	}{
		{"exponential", func(x, y []float64) error { err := p.Reset(x, y); p.Exponential(1, r); return err }},
		{"minimize", func(x, y []float64) error { _, _, err := m.Minimize(x, y, nil, nil); return err }},
	} {
		b.Run(run.name, func(b *testing.B) {
			for i := 0; b.Loop(); i = (i + 1) % rounds {
				if err := run.do(x[i*n*dim:(i+1)*n*dim], y[i*n:(i+1)*n]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(n*dim, "keys")
		})
	}
}

// A rectangle at n different points: n(n+1)/2 intervals of rows, and for each of them n columns. Of
// these, exponential weighs only half on average, those from the column that changed on, each by two
// multiplications and additions that wait for one another: 7 cycles. Two intervals go on side by
// side, which takes about half of that each. The loop beside it does the same arithmetic, without
// the three numbers that a step looks up and the three that it keeps. min looks at no columns.
func BenchmarkRectangles(b *testing.B) {
	k := newFinite(b, Spec{Name: "rectangles", Domain: 1 << 20})
	m, err := k.NewMinimizer(nil)
	if err != nil {
		b.Fatal(err)
	}
	p, r := lister{Finite: k}.profile(b, nil, nil), rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{100, 500} {
		x, y := benchLattice(n, 2, 1<<20)
		for _, run := range []struct {
			name string
			do   func() error
		}{
			{"min", func() error { return p.Reset(x, y) }},
			{"exponential", func() error { err := p.Reset(x, y); p.Exponential(1, r); return err }},
			{"minimize", func() error { _, _, err := m.Minimize(x, y, nil, nil); return err }},
			{"best", func() error { _, err := k.Best(x, y, nil); return err }},
		} {
			b.Run(fmt.Sprintf("%s/n=%d", run.name, n), func(b *testing.B) {
				steps := float64(n) * float64(n) * float64(n+1) / 2
				testkit.Beside(b, func() {
					if err := run.do(); err != nil {
						b.Fatal(err)
					}
				}, func() { sink += plainSums(int(steps / 2)) })
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/steps, "ns/step")
			})
		}
	}
}

// plainSums takes so many steps of two multiplications and two additions each, like those of
// exponential but for what it looks up, in two sums that do not wait for one another.
func plainSums(steps int) float64 {
	factors := slices.Repeat([]float64{0.5}, 512)
	a, b, first, second := 0.0, 0.0, 0.0, 0.0
	for ; steps > 0; steps -= 2 * len(factors) {
		for _, f := range factors {
			a, b = float64(a*f)+f, float64(b*f)+f
			first, second = first+float64(a*f), second+float64(b*f)
		}
	}
	return first + second
}

var sink float64
