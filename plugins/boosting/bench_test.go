package boosting

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// benchSample returns n examples on the unit sphere, labelled by a halfspace.
func benchSample(n, d int) *algo.Data {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		row := x[i*d : (i+1)*d]
		for j := range row {
			row[j] = r.NormFloat64()
		}
		scaled(row, 1/math.Sqrt(numeric.Dot(row, row)))
		y[i] = math.Copysign(1, row[0]+0.3*row[d-1])
	}
	return algo.NewData(x, d, y)
}

// benchSizes are those of common tables, one of a matrix in the last cache, and those of matrices
// of 120 MB.
var benchSizes = []struct{ n, d int }{
	{800, 8}, {1400, 10}, {1 << 16, 50},
	{3_000_000, 5}, {1_500_000, 10}, {750_000, 20}, {300_000, 50}, {75_000, 200}, {15_000, 1000},
}

// BenchmarkRound measures whole rounds: two passes over the matrix, exponentials and a projection.
// Between rounds it reads the same matrix once, untimed. The metric reads/pass is half of the
// fastest round over the fastest read, which a busy machine disturbs least.
//
// A round out of cache can take no less than it takes to move its bytes. These are 16d an example
// for the two passes and some 80 for what is kept of the example: 24 for the exponentials, where
// memory is read before it is written, 16 for two steps of the projection, 16 for the weak learner
// and 24 for the margins. That is 1 + 5/d reads in each pass: 2 at d = 5, 1.5 at 10, 1.1 at 50.
// The metric reads/bytes is the round over the time in which a read moves as many bytes. In cache a
// round is bound by arithmetic instead.
func BenchmarkRound(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("n=%d/d=%d", size.n, size.d), func(b *testing.B) {
			sample := benchSample(size.n, size.d)
			r := rand.New(rand.NewPCG(3, 4))
			p := Params{Rounds: 50, Lambda: 8, Kappa: 0.3, Sigma: 0.05, Weak: Raw, Loss: Linear}
			state := newBooster(p, sample)
			b.SetBytes(int64(16 * size.n * size.d))
			b.ReportAllocs()
			round, read := time.Hour, time.Hour
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				if i%p.Rounds == 0 {
					clear(state.s)
					state.weights.logc = math.Log(p.Kappa)
				}
				start := time.Now()
				sink += sumOf(sample.Xs())
				read = min(read, time.Since(start))
				b.StartTimer()
				start = time.Now()
				state.round(r.NormFloat64)
				round = min(round, time.Since(start))
			}
			b.ReportMetric(float64(round)/2/float64(read), "reads/pass")
			b.ReportMetric(float64(round)/(2+10/float64(size.d))/float64(read), "reads/bytes")
		})
	}
}

// BenchmarkRead measures summing the same matrix in the order in which it lies in memory.
func BenchmarkRead(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("n=%d/d=%d", size.n, size.d), func(b *testing.B) {
			x := benchSample(size.n, size.d).Xs()
			b.SetBytes(int64(8 * len(x)))
			for b.Loop() {
				sink += sumOf(x)
			}
		})
	}
}

var sink float64

func sumOf(x []float64) float64 {
	var a, b, c, d, e, f, g, h float64
	for ; len(x) >= 8; x = x[8:] {
		a += x[0]
		b += x[1]
		c += x[2]
		d += x[3]
		e += x[4]
		f += x[5]
		g += x[6]
		h += x[7]
	}
	return a + b + c + d + e + f + g + h
}

// BenchmarkTrial measures a whole trial of the size that most tables need.
func BenchmarkTrial(b *testing.B) {
	sample := benchSample(1400, 10)
	t := trialOf(b, setting(Params{Preset: Calibrated, Weak: Raw, Loss: Linear}), 1400, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := learn(b.Context(), t, sample); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRivals measures the rounds of all boosters over the same matrix. All make the same two
// passes, so that fastest-ns/round is to be compared with that of lazy. SmoothBoost does not
// project its weights; drv counts right answers instead.
func BenchmarkRivals(b *testing.B) {
	const n, d, rounds = 1400, 10, 200
	sample := benchSample(n, d)
	p := Params{Rounds: rounds, Lambda: 1, Kappa: 0.3, Weak: Raw, Loss: Linear}
	r := rand.New(rand.NewPCG(3, 4))
	for name, run := range map[string]func(){
		"lazy":  func() { _ = newBooster(p, sample).run(b.Context(), noiseless) },
		"eager": func() { e := newBooster(p, sample); e.eager = true; _ = e.run(b.Context(), noiseless) },
		"smooth": func() {
			f := newFading(0.05, 1e-9, sample)
			for f.Rounds < rounds {
				f.center(1, f.weigh())
				f.step(noiseless)
				f.Rounds++
			}
		},
		"drv": func() {
			p := DRVParams{Rounds: rounds, Kappa: 0.3, Edge: 0.025, Levels: 41}
			e, c := newBooster(p.forBooster(), sample), newCaps(p, 0.01)
			for round := range rounds {
				level, _ := c.choose(e, round, r)
				e.center(level, e.mass)
				e.step(noiseless)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			fastest := time.Hour
			for b.Loop() {
				start := time.Now()
				run()
				fastest = min(fastest, time.Since(start))
			}
			b.ReportMetric(float64(fastest.Nanoseconds())/rounds, "fastest-ns/round")
		})
	}
}
