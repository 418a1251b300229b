package boosting

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// TestSensitivity checks that the sensitivity of the weak learner is 2/(kappa n): it is never more,
// for any released vectors, and it is attained.
func TestSensitivity(t *testing.T) {
	worst := worstMovement(t, func(r *rand.Rand) weakLearner {
		p := Params{Rounds: 1, Lambda: 8 * r.Float64(), Kappa: 0.05 + 0.9*r.Float64(), Weak: Raw}
		p.Loss = []string{Linear, Paper, Clip}[r.IntN(3)]
		return func(sample *algo.Data, history [][]float64) (z []float64, limit float64) {
			b := newBooster(p, sample)
			return weakAfter(b, history), 2 / b.mass
		}
	})
	if worst > 1+1e-12 || worst < 0.999 {
		t.Errorf("largest movement is %v times 2/(kappa n), want 1", worst)
	}
}

// A weakLearner returns the vector of the round after the released vectors of history, and the
// maximum distance that a replaced example may move it.
type weakLearner func(sample *algo.Data, history [][]float64) (z []float64, limit float64)

// worstMovement replaces each example of many small samples by a random point and by its opposite.
// It returns the largest movement of the vector relative to its limit.
func worstMovement(t *testing.T, draw func(r *rand.Rand) weakLearner) float64 {
	t.Helper()
	worst := 0.0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 17))
		n, d := 1+r.IntN(6), 1+r.IntN(3)
		sample := randomSample(r, n, d)
		x, y := sample.Xs(), sample.Ys()
		scale := []float64{3, 3, 1e3, 1e17}[r.IntN(4)] // scale of history; widely different weights are sorted
		history := make([][]float64, r.IntN(4))
		for k := range history {
			history[k] = make([]float64, d)
			for j := range history[k] {
				history[k][j] = scale * r.NormFloat64()
			}
		}
		learner := draw(r)
		z, limit := learner(sample, history)
		z = slices.Clone(z)
		for i := range y {
			opposite := slices.Clone(y)
			opposite[i] = -y[i]
			other := slices.Clone(x)
			ballPoint(r, other[i*d:(i+1)*d])
			for _, neighbour := range []*algo.Data{algo.NewData(x, d, opposite), algo.NewData(other, d, y)} {
				distance := 0.0
				moved, _ := learner(neighbour, history)
				for j, v := range moved {
					distance += (v - z[j]) * (v - z[j])
				}
				worst = max(worst, math.Sqrt(distance)/limit)
			}
		}
	}
	return worst
}

// ballPoint draws a point of the unit ball, often on the sphere.
func ballPoint(r *rand.Rand, v []float64) {
	for j := range v {
		v[j] = r.NormFloat64()
	}
	length := 1.0
	if r.IntN(3) == 0 {
		length = r.Float64()
	}
	scaled(v, length/math.Sqrt(numeric.Dot(v, v)))
}

// weakAfter returns the weak learner's vector, before noise, of the round after history.
func weakAfter(b *booster, history [][]float64) []float64 {
	for _, h := range history {
		b.weights.project(b.s, b.mass)
		if b.eager {
			b.weights.settle(b.s)
		}
		copy(b.released, h)
		b.reweight()
	}
	b.center(b.weights.project(b.s, b.mass), b.mass)
	return b.weak
}

// TestCertificateHolds checks that fewer than kappa n margins are at most the certificate, and that
// margins are those of the mean of all rounds.
func TestCertificateHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		l := newDistribution(r, rapid.IntRange(3, 8).Draw(t, "d"), 0.2, rapid.Bool().Draw(t, "skew"))
		sample := l.draw(rapid.IntRange(5, 300).Draw(t, "n"))
		p := Params{
			Rounds: rapid.IntRange(1, 100).Draw(t, "rounds"),
			Lambda: rapid.SampledFrom([]float64{0.1, 1, 2, 8}).Draw(t, "lambda"),
			Kappa:  rapid.SampledFrom([]float64{0.05, 0.1, 0.3, 0.7}).Draw(t, "kappa"),
			Sigma:  rapid.SampledFrom([]float64{0, 0.01, 0.3}).Draw(t, "sigma"),
			Weak:   rapid.SampledFrom([]string{Raw, Unit}).Draw(t, "weak"), Loss: Linear,
		}
		b := newBooster(p, sample)
		b.eager = rapid.Bool().Draw(t, "eager")
		for range p.Rounds {
			b.round(r.NormFloat64)
		}
		certified := b.certificate()
		margins := b.margins()
		if quantile := quantileOf(b, margins); certified > quantile+1e-12 {
			t.Fatalf("certificate %v, but the kappa-quantile of the margins is %v", certified, quantile)
		}
		for i, m := range margins {
			if want := sample.Y(i) * numeric.Dot(sample.X(i), b.sum) / float64(p.Rounds); math.Abs(m-want) > 1e-9 {
				t.Fatalf("margin %d = %v, want %v", i, m, want)
			}
		}
	})
}

// quantileOf returns the largest margin m such that fewer than kappa n of the margins are below m.
func quantileOf(b *booster, margins []float64) float64 {
	return slices.Sorted(slices.Values(margins))[int(math.Ceil(b.mass))-1]
}

func TestPredict(t *testing.T) {
	points := algo.NewData([]float64{1, 0, 0, 1, 0, -1, -1, 0.5, 0, 0}, 2, nil)
	votes := func(loss string, vectors ...float64) (e ensemble) {
		for v := range slices.Chunk(vectors, 2) {
			e = append(e, bent{v, loss})
		}
		return e
	}
	for _, c := range []struct {
		name  string
		model algo.Model
		want  []float64
	}{
		{"halfspace", algo.Halfspace([]float64{0, 2}, 0), []float64{1, 1, -1, 1, 1}},
		{"ensemble of one", votes(Clip, 0, 2), []float64{1, 1, -1, 1, 1}},
		{"ensemble outvotes", votes(Clip, -9, -0.5, 0.6, 0.1, 0.6, 0.1), []float64{1, -1, 1, -1, 1}},
		{"ensemble of equal votes", votes(vote, -9, -0.5, 0.6, 0.1, 0.6, 0.1), []float64{1, 1, -1, -1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := make([]float64, points.Len())
			if err := c.model.Predict(t.Context(), points, out); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(out, c.want) {
				t.Errorf("predictions %v, want %v", out, c.want)
			}
		})
	}
}

func TestSampleOutsideTheUnitBallIsRefused(t *testing.T) {
	const advice = "the privacy of boosting requires at most 1 (scale the data by a public bound)"
	for _, c := range []struct {
		at    int
		value float64
		want  string
	}{
		{0, 1, ""},
		{0, 1 + 1e-10, ""},
		{300, 1.5, "check the sample: row 300 has norm 1.5: " + advice},
		{298, math.NaN(), "check the sample: row 298 has norm NaN: " + advice},
	} {
		x := make([]float64, 301*3)
		x[3*c.at+1] = c.value
		err := checkBall(algo.NewData(x, 3, make([]float64, 301)), "privacy")
		if got := errorText(err); got != c.want {
			t.Errorf("value %v: error %q, want %q", c.value, got, c.want)
		}
	}
}

// errorText returns the text of an error, empty for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
