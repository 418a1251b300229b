package boosting

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/plugins/algo"
)

// The weak learner's sensitivity is 2/(kappa n): never more, whatever was released before, and attained.
func TestSensitivity(t *testing.T) {
	worst := 0.0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 17))
		n, d := 2+r.IntN(5), 1+r.IntN(3)
		x, y := make([]float64, n*d), make([]float64, n)
		for i := range y {
			ballPoint(r, x[i*d:(i+1)*d])
			y[i] = float64(2*r.IntN(2) - 1)
		}
		p := Params{Rounds: 1, Lambda: 8 * r.Float64(), Kappa: 0.05 + 0.9*r.Float64(), Weak: Raw, Loss: []string{Linear, Paper, Clip}[seed%3]}
		history := make([]float64, d)
		for j := range history {
			history[j] = 3 * r.NormFloat64()
		}
		z := weakAfter(p, algo.NewData(x, d, y), history)

		other, labels := slices.Clone(x), slices.Clone(y)
		i := r.IntN(n)
		if r.IntN(2) == 0 { // the aligned neighbour: the same point, the other label
			labels[i] = -labels[i]
		} else {
			ballPoint(r, other[i*d:(i+1)*d])
		}
		distance := 0.0
		for j, v := range weakAfter(p, algo.NewData(other, d, labels), history) {
			distance += (v - z[j]) * (v - z[j])
		}
		ratio := math.Sqrt(distance) * p.Kappa * float64(n) / 2
		worst = max(worst, ratio)
		if ratio > 1+1e-12 {
			t.Fatalf("seed %d: moved by %v times 2/(kappa n)", seed, ratio)
		}
	}
	if worst < 0.999 {
		t.Errorf("largest movement is %v times 2/(kappa n), want it attained", worst)
	}
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
	scaled(v, length/math.Sqrt(dot(v, v)))
}

// weakAfter is the weak learner's vector, before noise, once history was released.
func weakAfter(p Params, sample *algo.Data, history []float64) []float64 {
	b := newBooster(p, sample)
	copy(b.released, history)
	b.reweight()
	b.center(b.weights.project(b.s, b.mass))
	return b.weak
}

func TestCertificateHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		sample := newLaw(r, rapid.IntRange(3, 8).Draw(t, "d"), 0.2, rapid.Bool().Draw(t, "skew")).draw(rapid.IntRange(5, 300).Draw(t, "n"))
		p := Params{
			Rounds: rapid.IntRange(1, 100).Draw(t, "rounds"), Lambda: rapid.SampledFrom([]float64{0.1, 1, 2, 8}).Draw(t, "lambda"),
			Kappa: rapid.SampledFrom([]float64{0.05, 0.1, 0.3, 0.7}).Draw(t, "kappa"), Sigma: rapid.SampledFrom([]float64{0, 0.01, 0.3}).Draw(t, "sigma"),
			Weak: rapid.SampledFrom([]string{Raw, Unit}).Draw(t, "weak"), Loss: Linear,
		}
		b := newBooster(p, sample)
		for range p.Rounds {
			b.round(r.NormFloat64)
		}
		certified := b.certificate()
		margins := b.margins()
		if quantile := selectRank(slices.Clone(margins), int(math.Ceil(b.mass))-1); certified > quantile+1e-12 {
			t.Fatalf("certificate %v, but the kappa-quantile of the margins is %v", certified, quantile)
		}
		for i, m := range margins {
			if want := sample.Y(i) * dot(sample.X(i), b.sum) / float64(p.Rounds); math.Abs(m-want) > 1e-9 {
				t.Fatalf("margin %d = %v, want %v", i, m, want)
			}
		}
	})
}

// Theorem A promises (3/32) tau^2; here with everything that it asks for.
func TestTheoremAMargin(t *testing.T) {
	s := setting(Params{Preset: TheoremA, Weak: Raw, Loss: Linear})
	s.Problem.Margin, s.Problem.Dim = 0.4, 5
	n := int(boundsByName(t, s)["theorem-a-privacy"].Value)
	trial := trialOf(s, n, 3)
	b := newBooster(trial.Params, newLaw(trial.Rand, 5, 0.4, true).draw(n))
	for range trial.Params.Rounds {
		b.round(trial.Rand.NormFloat64)
	}
	certified := b.certificate()
	quantile := selectRank(b.margins(), int(math.Ceil(b.mass))-1)
	if promised := 3.0 / 32 * 0.16; certified < promised || quantile < certified {
		t.Errorf("n = %d: certificate %v, quantile %v, want both at least %v", n, certified, quantile, promised)
	}
}

// successes runs seeded trials and returns how many of them reach error 0.1.
func successes(t *testing.T, trials, n, d int, skew bool, learner func(seed uint64, sample *algo.Data) (algo.Model, error)) int {
	t.Helper()
	reached := 0
	for seed := range uint64(trials) {
		l := newLaw(rand.New(rand.NewPCG(seed, 7)), d, 0.1, skew)
		model, err := learner(seed, l.draw(n))
		if err != nil {
			t.Fatal(err)
		}
		test := l.draw(4000)
		answers := make([]float64, test.Len())
		if err := model.Predict(t.Context(), test, answers); err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i, a := range answers {
			if a != test.Y(i) {
				wrong++
			}
		}
		if float64(wrong) <= 0.1*float64(test.Len()) {
			reached++
		}
	}
	return reached
}

func TestKnownLaws(t *testing.T) {
	boosted := func(n int, p Params) func(uint64, *algo.Data) (algo.Model, error) {
		return func(seed uint64, sample *algo.Data) (algo.Model, error) {
			return learn(t.Context(), trialOf(setting(p), n, seed), sample)
		}
	}
	centered := func(seed uint64, sample *algo.Data) (algo.Model, error) {
		plain := setting(Params{})
		return learnCentering(t.Context(), &algo.Trial[CenteringParams]{
			Setting: algo.Setting[CenteringParams]{Problem: plain.Problem, N: sample.Len(), Alpha: 0.1, Beta: 0.1, Epsilon: 1, Delta: 1e-6},
			Rand:    rand.New(rand.NewPCG(seed, 99)),
		}, sample)
	}
	tuned := Params{Preset: Calibrated, Rounds: 50, Lambda: 8, Kappa: 0.3, Weak: Raw, Loss: Linear}
	for _, c := range []struct {
		name     string
		n        int
		skew     bool
		low, top int // successes of 20
		learner  func(uint64, *algo.Data) (algo.Model, error)
	}{
		{"boosting on skew", 2000, true, 18, 20, boosted(2000, tuned)},
		{"boosting on skew, too few", 250, true, 0, 10, boosted(250, tuned)},
		{"boosting on iso", 2000, false, 18, 20, boosted(2000, tuned)},
		{"centering on skew", 2000, true, 0, 0, centered},
		{"centering on skew, plenty", 20000, true, 0, 0, centered},
		{"centering on iso", 4000, false, 18, 20, centered},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := successes(t, 20, c.n, 10, c.skew, c.learner); got < c.low || got > c.top {
				t.Errorf("%d of 20 trials reach error 0.1, want %d to %d", got, c.low, c.top)
			}
		})
	}
}

func TestVariantsLearn(t *testing.T) {
	for _, c := range []Params{
		{Weak: Raw, Loss: Paper, Lambda: 4},
		{Weak: Raw, Loss: Clip, Lambda: 8},
		{Weak: Unit, Loss: Linear, Lambda: 1},
		{Weak: Raw, Loss: Linear, Debias: true, Lambda: 1},
	} {
		c.Preset, c.Rounds, c.Kappa = Calibrated, 50, 0.3
		t.Run(fmt.Sprintf("%s %s debias %v", c.Weak, c.Loss, c.Debias), func(t *testing.T) {
			got := successes(t, 5, 8000, 10, true, func(seed uint64, sample *algo.Data) (algo.Model, error) {
				return learn(t.Context(), trialOf(setting(c), 8000, seed), sample)
			})
			if got < 4 {
				t.Errorf("%d of 5 trials reach error 0.1", got)
			}
		})
	}
}

func TestLearnBorrowsTheSampleAndObeysTheContext(t *testing.T) {
	sample := benchSample(100, 4)
	x, y := slices.Clone(sample.Xs()), slices.Clone(sample.Ys())
	trial := trialOf(setting(Params{Preset: Calibrated, Weak: Raw, Loss: Linear}), 100, 1)
	first, err := learn(t.Context(), trial, sample)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, sample.Xs()) || !slices.Equal(y, sample.Ys()) {
		t.Error("the sample was changed")
	}

	// Without a session's Check, the same parameters are found.
	bare := &algo.Trial[Params]{Setting: setting(Params{Preset: Calibrated, Weak: Raw, Loss: Linear}), Rand: rand.New(rand.NewPCG(1, 99))}
	second, err := learn(t.Context(), bare, sample)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.(halfspace), second.(halfspace)) {
		t.Errorf("models differ: %v and %v", first, second)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := learn(ctx, trial, sample); !errors.Is(err, context.Canceled) {
		t.Errorf("learn after cancel: %v", err)
	}
	if err := first.Predict(ctx, sample, make([]float64, 100)); !errors.Is(err, context.Canceled) {
		t.Errorf("predict after cancel: %v", err)
	}
}

func TestPredict(t *testing.T) {
	points := algo.NewData([]float64{1, 0, 0, 1, 0, -1, -1, 0.5, 0, 0}, 2, nil)
	for _, c := range []struct {
		name  string
		model algo.Model
		want  []float64
	}{
		{"halfspace", halfspace{0, 2}, []float64{1, 1, -1, 1, 1}},
		{"committee of one", committee{[]float64{0, 2}}, []float64{1, 1, -1, 1, 1}},
		{"committee outvotes", committee{[]float64{-9, -0.5, 0.6, 0.1, 0.6, 0.1}}, []float64{1, -1, 1, -1, 1}},
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
