package boosting

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
)

// TestSensitivity checks that the sensitivity of the weak learner is 2/(kappa n): it is never more,
// whatever was released before, and it is attained.
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

// TestEagerProjectionIsMoreSensitive checks that eager projection has another sensitivity: one of
// six examples reverses the whole vector in two rounds, which is 3 times 2/(kappa n).
func TestEagerProjectionIsMoreSensitive(t *testing.T) {
	var z [2]float64
	for i, replaced := range []float64{-1, 1} {
		sample := algo.NewData([]float64{-1, replaced, -1, -1, 1, 1}, 1, []float64{1, 1, 1, 1, 1, 1})
		b := newBooster(Params{Rounds: 1, Lambda: 2, Kappa: 0.5, Weak: Raw, Loss: Linear}, sample)
		b.eager = true
		z[i] = weakAfter(b, [][]float64{{-17}, {7}})[0]
	}
	near(t, "before", z[0], -1, 1e-4)
	near(t, "after", z[1], 1, 1e-4)
}

// weakLearner returns the vector of the round after the released vectors of history, and how far a
// replaced example may move it.
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
		scale := []float64{3, 3, 1e3, 1e17}[r.IntN(4)] // of history; weights far apart are sorted
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

// TestCertificateHolds checks that fewer than kappa n margins lie at or below the certificate, and
// that margins are those of the mean of all rounds.
func TestCertificateHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		l := newLaw(r, rapid.IntRange(3, 8).Draw(t, "d"), 0.2, rapid.Bool().Draw(t, "skew"))
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

// quantileOf returns the largest margin that fewer than kappa n of the margins stay below.
func quantileOf(b *booster, margins []float64) float64 {
	return slices.Sorted(slices.Values(margins))[int(math.Ceil(b.mass))-1]
}

// seededLearner learns from a sample in a trial with the given seed.
type seededLearner func(seed uint64, sample *algo.Data) (algo.Model, error)

// successes runs seeded trials and returns how many of them reach error 0.1.
func successes(t *testing.T, trials, n, d int, skew bool, learner seededLearner) int {
	t.Helper()
	reached := 0
	for seed := range uint64(trials) {
		l := newLaw(rand.New(rand.NewPCG(seed, 7)), d, 0.1, skew)
		model, err := learner(seed, l.draw(n))
		if err != nil {
			t.Fatal(err)
		}
		if test := l.draw(4000); float64(wrongAnswers(t, model, test)) <= 0.1*float64(test.Len()) {
			reached++
		}
	}
	return reached
}

// wrongAnswers returns the number of labels of a sample that a model does not predict.
func wrongAnswers(t *testing.T, model algo.Model, sample *algo.Data) int {
	t.Helper()
	answers := make([]float64, sample.Len())
	if err := model.Predict(t.Context(), sample, answers); err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i, a := range answers {
		if a != sample.Y(i) {
			wrong++
		}
	}
	return wrong
}

// hsStLTrials returns a learner that runs boosting/hs-stl with parameters p on n examples.
func hsStLTrials(t *testing.T, n int, p Params) seededLearner {
	return func(seed uint64, sample *algo.Data) (algo.Model, error) {
		return learn(t.Context(), trialOf(t, setting(p), n, seed), sample)
	}
}

// centeringTrials returns a learner that runs boosting/centering.
func centeringTrials(t *testing.T) seededLearner {
	return func(seed uint64, sample *algo.Data) (algo.Model, error) {
		s := unbudgeted(CenteringParams{})
		s.Epsilon, s.Delta = 1, 1e-6
		return learnCentering(t.Context(), bareTrial(s, seed), sample)
	}
}

func TestKnownLaws(t *testing.T) {
	testkit.Long(t)
	centered, rivals := centeringTrials(t), rivalTrials(t, 0.1)
	tuned := Params{Preset: Calibrated, Rounds: 50, Lambda: 8, Kappa: 0.3, Weak: Raw, Loss: Linear}
	for _, c := range []struct {
		name     string
		n        int
		skew     bool
		low, top int // successes of 20
		learner  seededLearner
	}{
		{"boosting on skew", 2000, true, 18, 20, hsStLTrials(t, 2000, tuned)},
		{"boosting on skew, too few", 250, true, 0, 10, hsStLTrials(t, 250, tuned)},
		{"boosting on iso", 2000, false, 18, 20, hsStLTrials(t, 2000, tuned)},
		{"centering on skew", 2000, true, 0, 0, centered},
		{"centering on skew, plenty", 20000, true, 0, 0, centered},
		{"centering on iso", 4000, false, 18, 20, centered},
		{"lazy projection, unit", 125, true, 18, 20, rivals("lazy unit")},
		{"lazy projection, raw", 125, true, 18, 20, rivals("lazy raw")},
		{"eager projection, unit", 125, true, 18, 20, rivals("eager unit")},
		{"eager projection, raw", 125, true, 18, 20, rivals("eager raw")},
		{"SmoothBoost", 125, true, 18, 20, rivals("smooth")},
		{"SmoothBoost, too few", 10, true, 0, 10, rivals("smooth")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := successes(t, 20, c.n, 10, c.skew, c.learner); got < c.low || got > c.top {
				t.Errorf("%d of 20 trials reach error 0.1, want %d to %d", got, c.low, c.top)
			}
		})
	}
}

func TestLearnBorrowsTheSampleAndObeysTheContext(t *testing.T) {
	sample := benchSample(100, 4)
	x, y := slices.Clone(sample.Xs()), slices.Clone(sample.Ys())
	s := setting(Params{Preset: Calibrated, Weak: Raw, Loss: Linear})
	trial := trialOf(t, s, 100, 1)
	first, err := learn(t.Context(), trial, sample)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, sample.Xs()) || !slices.Equal(y, sample.Ys()) {
		t.Error("the sample was changed")
	}

	// Without a session's Check, learn resolves the same parameters.
	second, err := learn(t.Context(), bareTrial(s, 1), sample)
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
		{"committee of one", committee{[]float64{0, 2}, Clip}, []float64{1, 1, -1, 1, 1}},
		{"committee outvotes", committee{[]float64{-9, -0.5, 0.6, 0.1, 0.6, 0.1}, Clip}, []float64{1, -1, 1, -1, 1}},
		{"committee of equal votes", committee{[]float64{-9, -0.5, 0.6, 0.1, 0.6, 0.1}, vote}, []float64{1, 1, -1, -1, 1}},
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
	const advice = "the privacy of boosting needs at most 1 (scale the data by a public bound)"
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
