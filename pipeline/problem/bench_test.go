package problem

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/schemas"
)

// seeded is one trial's streams, reseeded in place as a worker does.
type seeded [4]rand.PCG

func (s *seeded) trial(seed, rep uint64) Streams {
	for i := range s {
		s[i].Seed(seed, rep<<2|uint64(i))
	}
	return Streams{&s[0], &s[1], &s[2], &s[3]}
}

// BenchmarkTrial measures the draw and the test of the smallest trials: a sample of one, and the
// whole evaluation or one point of it.
func BenchmarkTrial(b *testing.B) {
	for _, p := range []schemas.Problem{
		{Class: "thresholds", Distribution: "needle", Domain: 1 << 16, Mass: 0.1},
		{Class: "thresholds", Distribution: "uniform", Domain: 1 << 40, Test: 1, Target: "middle"},
		{Class: "thresholds", Distribution: "uniform", Domain: 1 << 40, Test: 1, Target: "random"},
		{Class: "intervals", Distribution: "uniform", Domain: 1 << 30, Test: 1, Target: "random"},
		{Class: "intervals", Distribution: "uniform", Domain: 1 << 30, Test: 1, Target: "uniform"},
		{Class: "stumps", Distribution: "uniform", Domain: 1 << 30, Dim: 4, Test: 1, Target: "middle"},
		{Class: "stumps", Distribution: "uniform", Domain: 1 << 30, Dim: 4, Test: 1, Target: "random"},
		{Class: "conjunctions", Distribution: "uniform", Dim: 20, Test: 1, Target: "middle"},
		{Class: "conjunctions", Distribution: "uniform", Dim: 20, Test: 1, Target: "random"},
		{Class: "halfspace", Distribution: "ball-margin", Dim: 2, Margin: 0.1, Test: 1},
	} {
		b.Run(fmt.Sprintf("%s-%s-%s", p.Class, p.Distribution, p.Target), func(b *testing.B) {
			o, err := Open(p, "")
			if err != nil {
				b.Fatal(err)
			}
			d, streams := o.Drawer(o.Test(0, 0)), new(seeded)
			most := max(4, d.TestLen())
			x, y, w := make([]float64, most*o.Dim()), make([]float64, most), make([]float64, most)
			b.ReportAllocs()
			rep := uint64(0)
			for b.Loop() {
				d.Begin(streams.trial(1, rep))
				d.Sample(1, x, y)
				d.Test(x[:d.TestLen()*o.Dim()], y[:d.TestLen()], w)
				rep++
			}
		})
	}
}

// BenchmarkDraw measures bulk drawing, per number of an example.
func BenchmarkDraw(b *testing.B) {
	const n = 1000
	for _, name := range []string{"iso", "skew", "iso-fixed", "skew-fixed", "ball-margin"} {
		for _, tau := range []float64{0.01, 0.1} {
			for _, dim := range []int{10, 100} {
				b.Run(fmt.Sprintf("%s/margin=%v/d=%d", name, tau, dim), func(b *testing.B) {
					o, err := Open(schemas.Problem{Class: "halfspace", Distribution: name, Dim: dim, Margin: tau}, "")
					if err != nil {
						b.Fatal(err)
					}
					d, streams := o.Drawer(o.Test(0, 0)), new(seeded)
					x, y := make([]float64, n*dim), make([]float64, n)
					b.ReportAllocs()
					rep := uint64(0)
					for b.Loop() {
						d.Begin(streams.trial(1, rep))
						d.Sample(n, x, y)
						rep++
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/float64(dim), "ns/number")
				})
			}
		}
	}
}

// BenchmarkEvaluation draws the evaluation points of a trial with alpha 0.1.
func BenchmarkEvaluation(b *testing.B) {
	for _, p := range []schemas.Problem{
		{Class: "thresholds", Distribution: "uniform", Domain: 1 << 16},
		{Class: "rectangles", Distribution: "uniform", Domain: 1 << 16, Dim: 2},
		{Class: "stumps", Distribution: "uniform", Domain: 1 << 16, Dim: 5},
		{Class: "stumps", Distribution: "uniform", Domain: 60_000, Dim: 5},
		{Class: "parities", Distribution: "uniform", Dim: 20},
	} {
		b.Run(fmt.Sprintf("%s/X=%d/d=%d", p.Class, p.Domain, p.Dim), func(b *testing.B) {
			o, err := Open(p, "")
			if err != nil {
				b.Fatal(err)
			}
			n := o.Test(0, 0.1)
			d, streams := o.Drawer(n), new(seeded)
			x, y := make([]float64, n*o.Dim()), make([]float64, n)
			rep := uint64(0)
			for b.Loop() {
				d.Begin(streams.trial(1, rep))
				d.Test(x, y, nil)
				rep++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/point")
		})
	}
}

// BenchmarkNormal measures the normal numbers alone, below which BenchmarkDraw cannot come.
func BenchmarkNormal(b *testing.B) {
	r, z := rand.New(rand.NewPCG(1, 2)), make([]float64, 1000)
	for b.Loop() {
		for i := range z {
			z[i] = r.NormFloat64()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/number")
}
