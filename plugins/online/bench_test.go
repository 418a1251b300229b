package online

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// BenchmarkHedge measures a round of hedge on all 1024 parities of ten bits. The round reads 4
// bytes and a bit of each function twice, and writes the 4 bytes: 12.5 kB that stay in the nearest
// cache. What takes the time is not memory but the sum of the weights: one addition after the
// other, some 4 cycles each.
func BenchmarkHedge(b *testing.B) {
	const n, rounds = 10, 1 << 10
	l := begin(b, hedge(new(boards)), algo.Problem{Class: "parities", Dim: n}, rounds, hedgeParams{Tuning: worstTuning})
	points := make([]*algo.Data, rounds)
	for i := range points {
		x := make([]float64, n)
		for j := range x {
			x[j] = float64(i >> j & 1)
		}
		points[i] = algo.NewData(x, n, nil)
	}
	benchmark(b, l, points, 1<<n)
}

// BenchmarkSOA measures a round of the standard optimal algorithm on thresholds: two splits of an
// interval.
func BenchmarkSOA(b *testing.B) {
	l := begin(b, soa(new(boards)), algo.Problem{Class: "thresholds", Domain: concept.MaxDomain}, 0, struct{}{})
	r := rand.New(rand.NewPCG(1, 1))
	points := make([]*algo.Data, 1<<10)
	for i := range points {
		points[i] = algo.NewData([]float64{float64(r.Uint64N(concept.MaxDomain))}, 1, nil)
	}
	benchmark(b, l, points, 0)
}

// BenchmarkAgnosticExperts measures a round of the agnostic experts on thresholds, with a thousand
// version spaces.
func BenchmarkAgnosticExperts(b *testing.B) {
	const rounds = 1000
	l := begin(b, agnosticExperts(new(boards)), algo.Problem{Class: "thresholds", Domain: concept.MaxDomain}, 1<<15,
		agnosticParams{})
	r := rand.New(rand.NewPCG(1, 1))
	points := make([]*algo.Data, rounds)
	for i := range points {
		x := []float64{float64(r.Uint64N(concept.MaxDomain))}
		points[i] = algo.NewData(x, 1, nil)
		tell(b, l, x, 1)
	}
	benchmark(b, l, points, len(l.(*experts).groups))
}

// benchmark plays rounds over and over. each is the number of functions or groups that a round
// touches.
func benchmark(b *testing.B, l algo.Learner, points []*algo.Data, each int) {
	ctx, out, y := context.Background(), make([]float64, 1), make([]float64, 1)
	play := func(i int) {
		if err := l.Predict(ctx, points[i], out); err != nil {
			b.Fatal(err)
		}
		y[0] = float64(i%3&1)*2 - 1
		if err := l.Observe(ctx, points[i], y); err != nil {
			b.Fatal(err)
		}
	}
	for i := range points { // so that the board keeps their columns
		play(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i = (i + 1) % len(points) {
		play(i)
	}
	if each > 0 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(each), "ns/each")
	}
}
