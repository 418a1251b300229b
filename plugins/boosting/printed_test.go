package boosting

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// printedVector computes the weak learner's vector as Algorithms 4 and 5 print it: only from the
// list of released vectors, with c >= 1 by bisection, and weights that are divided by their own
// sum. It also returns that sum.
func printedVector(sample *algo.Data, released [][]float64, kappa, lambda float64) (z []float64, mass float64) {
	n, d := sample.Len(), sample.Dim()
	mu := make([]float64, n)
	for i := range mu {
		loss := 0.0
		for _, h := range released {
			loss += 1 - math.Abs(numeric.Dot(h, sample.X(i))-sample.Y(i))/2
		}
		mu[i] = kappa * math.Exp(-lambda*loss)
	}
	sum := func(c float64) (s float64) {
		for _, m := range mu {
			s += min(1, c*m)
		}
		return s
	}
	low, high := 0.0, 60.0 // ln c
	for range 200 {
		if middle := (low + high) / 2; sum(math.Exp(middle)) < kappa*float64(n) {
			low = middle
		} else {
			high = middle
		}
	}
	z, mass = make([]float64, d), sum(math.Exp(low))
	for i, m := range mu {
		for j, x := range sample.X(i) {
			z[j] += min(1, math.Exp(low)*m) / mass * sample.Y(i) * x
		}
	}
	return z, mass
}

// printedRounds runs rounds of preset paper whose released vectors are given, and returns the weak
// learner's vector of each.
func printedRounds(sample *algo.Data, released [][]float64, p Params) (vectors [][]float64) {
	b := newBooster(p, sample)
	for _, h := range released {
		b.round(noiseless)
		vectors = append(vectors, slices.Clone(b.weak))
		// Replace the effect of the weak learner's own vector by that of the given one.
		copy(b.s, b.before(h))
	}
	return vectors
}

// before returns the log-weights with the margins of h instead of those of the last released
// vector.
func (b *booster) before(h []float64) []float64 {
	s := slices.Clone(b.s)
	for i, y := range b.y {
		x := b.x[i*len(h) : (i+1)*len(h)]
		bent := func(v float64) float64 { return 1 - math.Abs(y*v-1) }
		s[i] += b.Lambda / 2 * (bent(numeric.Dot(b.released, x)) - bent(numeric.Dot(h, x)))
	}
	return s
}

// Preset paper weights examples as in Algorithm 4, also if losses below 0 have made the measure
// denser than kappa. Even then one replaced example moves the weak learner by no more than 2/(kappa
// n), and nearly as much occurs.
func TestPaperPresetAsPrinted(t *testing.T) {
	const d, rounds = 2, 3
	r := rand.New(rand.NewPCG(3, 1))
	point := func() []float64 {
		v := []float64{r.NormFloat64(), r.NormFloat64()}
		return scaled(v, 1/math.Sqrt(numeric.Dot(v, v)))
	}
	dense, most := 0, 0.0
	for range 3000 {
		n := 2 + r.IntN(5)
		p := Params{Preset: PaperPreset, Rounds: rounds, Lambda: 3, Kappa: 0.2 + 0.6*r.Float64(), Weak: Raw, Loss: Paper}
		x, y, released := []float64{}, make([]float64, n), make([][]float64, rounds)
		for i := range y {
			x, y[i] = append(x, point()...), 2*float64(r.IntN(2))-1
		}
		for t := range released {
			released[t] = scaled(point(), 4*r.Float64())
		}
		sample := algo.NewData(x, d, y)
		got := printedRounds(sample, released, p)
		i := r.IntN(n)
		x2, y2 := slices.Clone(x), slices.Clone(y)
		copy(x2[i*d:], point())
		if r.IntN(2) == 0 {
			copy(x2[i*d:(i+1)*d], x[i*d:])
			y2[i] = -y[i]
		}
		moved := printedRounds(algo.NewData(x2, d, y2), released, p)
		for k := range got {
			want, mass := printedVector(sample, released[:k], p.Kappa, p.Lambda)
			nearAll(t, "weak", got[k], want, 1e-9)
			if mass > p.Kappa*float64(n)*(1+1e-9) {
				dense++
			}
			ratio := math.Hypot(got[k][0]-moved[k][0], got[k][1]-moved[k][1]) * p.Kappa * float64(n) / 2
			most = max(most, ratio)
		}
	}
	t.Logf("%d measures were denser than kappa; the largest change is %.4f of 2/(kappa n)", dense, most)
	if dense < 100 || most > 1+1e-9 || most < 0.9 {
		t.Errorf("%d measures were denser than kappa; the largest change is %v of 2/(kappa n)", dense, most)
	}
}
