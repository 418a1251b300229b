package halfspace

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
)

func halfspaceOf(d int) algo.Problem {
	return algo.Problem{Class: "halfspace", Dim: d, Margin: 0.1, Noise: "none", Realizable: true}
}

func exponentialSetting(d int, p ExponentialParams) algo.Setting[ExponentialParams] {
	return algo.Setting[ExponentialParams]{
		Params: p, Task: algo.Learn, Problem: halfspaceOf(d), Alpha: 0.1, Beta: 0.1, Epsilon: 1,
	}
}

func gradientSetting(d int, p GradientParams) algo.Setting[GradientParams] {
	return algo.Setting[GradientParams]{
		Params: p, Task: algo.Learn, Problem: halfspaceOf(d), Alpha: 0.1, Beta: 0.1, Epsilon: 1, Delta: 1e-6,
	}
}

// trialOf returns a trial made by hand.
func trialOf[P any](s algo.Setting[P], seed uint64) *algo.Trial[P] {
	return &algo.Trial[P]{Setting: s, Rand: rand.New(rand.NewPCG(seed, 99))}
}

func tableOf(t testing.TB, sample *algo.Data) *table {
	t.Helper()
	examples, err := newExamples(t.Context(), sample, nil)
	if err != nil {
		t.Fatal(err)
	}
	return examples
}

// benchSample returns n examples on the unit sphere, labelled by a halfspace.
func benchSample(n, d int) *algo.Data {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		row := x[i*d : (i+1)*d]
		direction(r, row)
		y[i] = math.Copysign(1, row[0]+0.3*row[d-1])
	}
	return algo.NewData(x, d, y)
}

// law draws examples with margin tau along u: y x = tau u + sqrt(1-tau^2) q, where q is a unit
// vector orthogonal to u, either uniform (iso) or leaning to e with probability 1 - minority and to
// -e else (skew). u and e are random.
type law struct {
	tau, minority float64
	skew          bool
	u, e          []float64
	rand          *rand.Rand
}

func newLaw(r *rand.Rand, d int, tau float64, skew bool) *law {
	l := &law{tau: tau, minority: 0.2, skew: skew, rand: r}
	l.u = l.unit(make([]float64, d))
	if skew {
		l.e = l.unit(make([]float64, d), l.u)
	}
	return l
}

// unit fills v with a uniform unit vector orthogonal to others, which are orthonormal.
func (l *law) unit(v []float64, others ...[]float64) []float64 {
	direction(l.rand, v)
	for _, o := range others {
		c := plainDot(v, o)
		for j := range v {
			v[j] -= c * o[j]
		}
	}
	scale(v, 1/math.Sqrt(squaredNorm(v)))
	return v
}

func (l *law) draw(n int) *algo.Data {
	d := len(l.u)
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = float64(2*l.rand.IntN(2) - 1)
		l.example(x[i*d:(i+1)*d], y[i])
	}
	return algo.NewData(x, d, y)
}

// example fills q with y (tau u + sqrt(1-tau^2) q'/|q'|), in skew with q' = ±e + g/2, g uniform on
// the unit vectors orthogonal to u.
func (l *law) example(q []float64, y float64) {
	l.unit(q, l.u)
	if l.skew {
		side := 1.0
		if l.rand.Float64() < l.minority {
			side = -1
		}
		for j := range q {
			q[j] = side*l.e[j] + q[j]/2
		}
		scale(q, 1/math.Sqrt(squaredNorm(q)))
	}
	across := math.Sqrt(1 - l.tau*l.tau)
	for j := range q {
		q[j] = y * (l.tau*l.u[j] + across*q[j])
	}
	clip(q)
}

// learner runs one trial of an algorithm with fixed parameters.
type learner func(seed uint64, sample *algo.Data) (algo.Model, error)

func exponentialLearner(s algo.Setting[ExponentialParams]) learner {
	return func(seed uint64, sample *algo.Data) (algo.Model, error) {
		return learnExponential(context.Background(), trialOf(s, seed), sample)
	}
}

func gradientLearner(s algo.Setting[GradientParams]) learner {
	return func(seed uint64, sample *algo.Data) (algo.Model, error) {
		return learnGradient(context.Background(), trialOf(s, seed), sample)
	}
}

// trialErrors returns the error of each of so many trials on 2000 fresh examples, margin 0.1.
func trialErrors(t *testing.T, trials, n, d int, skew bool, learn learner) []float64 {
	t.Helper()
	errors := make([]float64, trials)
	for seed := range errors {
		l := newLaw(rand.New(rand.NewPCG(uint64(seed), 7)), d, 0.1, skew)
		m, err := learn(uint64(seed), l.draw(n))
		if err != nil {
			t.Fatal(err)
		}
		test := l.draw(2000)
		answers := make([]float64, test.Len())
		if err := m.Predict(t.Context(), test, answers); err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i, a := range answers {
			if a != test.Y(i) {
				wrong++
			}
		}
		errors[seed] = float64(wrong) / float64(test.Len())
	}
	return errors
}

func countUpTo(values []float64, limit float64) int {
	count := 0
	for _, v := range values {
		if v <= limit {
			count++
		}
	}
	return count
}

// The errors are those measured with an independent implementation of these laws and algorithms.
func TestKnownLaws(t *testing.T) {
	grid := func(d int) algo.Setting[ExponentialParams] {
		return exponentialSetting(d, ExponentialParams{Net: Auto})
	}
	largeSteps := gradientSetting(10, GradientParams{Gamma: 0.05, Steps: 50, Rate: 0.1})
	smallSteps := gradientSetting(10, GradientParams{Steps: 400, Rate: 0.01})
	for _, c := range []struct {
		name     string
		n, d     int
		skew     bool
		limit    float64
		trials   int
		low, top int // trials with error up to limit
		learn    learner
	}{
		{"few large steps on iso", 1000, 10, false, 0.1, 20, 17, 20, gradientLearner(largeSteps)},
		{"few large steps on skew", 1000, 10, true, 0.1, 20, 0, 4, gradientLearner(largeSteps)},
		{"many small steps on skew", 4000, 10, true, 0.005, 4, 4, 4, gradientLearner(smallSteps)},
		{"many small steps on skew, too few examples", 250, 10, true, 0.1, 20, 0, 10, gradientLearner(smallSteps)},
		{"grid on iso", 400, 2, false, 0.1, 20, 18, 20, exponentialLearner(grid(2))},
		{"grid on skew", 800, 3, true, 0.1, 4, 4, 4, exponentialLearner(grid(3))},
	} {
		t.Run(c.name, func(t *testing.T) {
			errors := trialErrors(t, c.trials, c.n, c.d, c.skew, c.learn)
			if got := countUpTo(errors, c.limit); got < c.low || got > c.top {
				t.Errorf("%d of %d trials reach error %v, want %d to %d: %v", got, c.trials, c.limit, c.low, c.top, errors)
			}
		})
	}
}

// plainCounts writes what countBelow must give, one inner product after the other.
func plainCounts(counts []int32, net []float64, sample *algo.Data, limit float64) {
	d := sample.Dim()
	for m := range counts {
		counts[m] = 0
		for i := range sample.Len() {
			if sample.Y(i)*plainDot(net[m*d:(m+1)*d], sample.X(i)) < limit {
				counts[m]++
			}
		}
	}
}

func plainDot(a, b []float64) float64 {
	sum := 0.0
	for j, x := range a {
		sum += float64(x * b[j])
	}
	return sum
}
