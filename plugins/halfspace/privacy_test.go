package halfspace

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/plugins/algo"
)

// exponentialDistribution returns the probability of each point of the net.
func exponentialDistribution(
	t testing.TB, p ExponentialParams, net []float64, epsilon float64, sample *algo.Data,
) []float64 {
	t.Helper()
	counts := make([]int32, p.Points)
	if err := tableOf(t, sample).countBelow(t.Context(), counts, net, p.level()); err != nil {
		t.Fatal(err)
	}
	distribution, sum := make([]float64, len(counts)), 0.0
	for i, c := range counts {
		distribution[i] = math.Exp(-epsilon / 2 * float64(c))
		sum += distribution[i]
	}
	scale(distribution, 1/sum)
	return distribution
}

func largestLogRatio(a, b []float64) float64 {
	largest := 0.0
	for i := range a {
		largest = max(largest, math.Abs(math.Log(a[i]/b[i])))
	}
	return largest
}

// The distribution over the net for all samples of three examples out of six, and for all their
// neighbors.
func TestExponentialIsPrivate(t *testing.T) {
	points := [][]float64{{1, 0}, {0.1, 0.9}, {0.6, -0.8}, {-0.2, 0.05}, {0, 0}, {-0.6, 0.79}}
	for _, net := range []string{Grid, Random} {
		for _, epsilon := range []float64{0.1, 1, 5} {
			s := exponentialSetting(2, ExponentialParams{Net: net, Tau: 0.3, Points: map[string]int{Random: 50}[net]})
			if err := resolveExponential(&s); err != nil {
				t.Fatal(err)
			}
			vectors := newNet(&s.Params, 2, rand.New(rand.NewPCG(1, 1)))
			var distributions [][]float64 // distributions of the samples i + 12 j + 144 k
			rows := 2 * len(points)
			for k := range rows * rows * rows {
				x, y := make([]float64, 0, 6), make([]float64, 0, 3)
				for _, i := range []int{k % rows, k / rows % rows, k / rows / rows} {
					x = append(x, points[i/2]...)
					y = append(y, float64(2*(i%2)-1))
				}
				distributions = append(distributions, exponentialDistribution(t, s.Params, vectors, epsilon, algo.NewData(x, 2, y)))
			}
			largest := 0.0
			for k, distribution := range distributions {
				for digit := 1; digit < len(distributions); digit *= rows {
					for other := range rows {
						largest = max(largest, largestLogRatio(distribution, distributions[k-k/digit%rows*digit+other*digit]))
					}
				}
			}
			if largest > epsilon*(1+1e-12) || largest < 0.45*epsilon {
				t.Errorf("net %s, epsilon %v: largest log-ratio %v", net, epsilon, largest)
			}
		}
	}
}

// If other examples nearly determine the answer, replacing one example uses the whole epsilon.
func TestExponentialUsesItsEpsilon(t *testing.T) {
	const n, epsilon = 30, 2
	s := exponentialSetting(2, ExponentialParams{Net: Grid, Tau: 0.9})
	if err := resolveExponential(&s); err != nil {
		t.Fatal(err)
	}
	net := gridNet(2, s.Params.Radius)
	x, y := make([]float64, 2*n), make([]float64, n)
	for i := range y {
		x[2*i], y[i] = 1, 1
	}
	before := exponentialDistribution(t, s.Params, net, epsilon, algo.NewData(x, 2, y))
	y[0] = -1
	after := exponentialDistribution(t, s.Params, net, epsilon, algo.NewData(x, 2, y))
	if got := largestLogRatio(before, after); got > epsilon*(1+1e-12) || got < 0.999*epsilon {
		t.Errorf("largest log-ratio %v, want nearly %v", got, epsilon)
	}
}

// ballPoint draws a point of the unit ball, often on the sphere.
func ballPoint(r *rand.Rand, v []float64) {
	direction(r, v)
	if r.IntN(3) == 0 {
		scale(v, r.Float64())
	}
}

// A gradient changes by at most 2/(gamma n) when one example is replaced, at every point and for
// every projection, and by the full amount in some cases.
func TestGradientSensitivity(t *testing.T) {
	worst := 0.0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 17))
		n, d := 1+r.IntN(6), 1+r.IntN(3)
		x, y := make([]float64, n*d), make([]float64, n)
		for i := range y {
			ballPoint(r, x[i*d:(i+1)*d])
			y[i] = float64(2*r.IntN(2) - 1)
		}
		w, gamma := make([]float64, d), 0.01+0.99*r.Float64()
		ballPoint(r, w)
		if seed%4 == 0 {
			clear(w)
		}
		phi := newProjection(r, d, []int{0, 0, 1, d}[r.IntN(4)])
		if phi != nil {
			w = w[:phi.rows.n]
		}
		gradient, moved := make([]float64, len(w)), make([]float64, len(w))
		examples := func() *table {
			e, err := newExamples(t.Context(), algo.NewData(x, d, y), phi)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		examples().hingeGradient(gradient, w, gamma)

		i := r.IntN(n)
		if r.IntN(2) == 0 { // the aligned neighbor: the same point, the other label
			y[i] = -y[i]
		} else {
			ballPoint(r, x[i*d:(i+1)*d])
		}
		examples().hingeGradient(moved, w, gamma)
		for j := range moved {
			moved[j] -= gradient[j]
		}
		ratio := math.Sqrt(squaredNorm(moved)) * gamma * float64(n) / 2
		worst = max(worst, ratio)
		if ratio > 1+1e-12 {
			t.Fatalf("seed %d: moved by %v times 2/(gamma n)", seed, ratio)
		}
	}
	if worst < 1-1e-12 {
		t.Errorf("largest movement is %v times 2/(gamma n), want it attained", worst)
	}
}

// hingeAt returns the mean hinge loss of a table at w.
func hingeAt(t *table, w []float64, gamma float64) float64 {
	return hingeLoss(t.margins(w), gamma)
}

// The gradient equals finite differences away from the corners of the loss, and is a subgradient
// everywhere.
func TestGradientOfTheHingeLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		n, d := rapid.IntRange(1, 30).Draw(t, "n"), rapid.IntRange(1, 6).Draw(t, "d")
		gamma := rapid.Float64Range(0.05, 1).Draw(t, "gamma")
		x, y := make([]float64, n*d), make([]float64, n)
		for i := range y {
			ballPoint(r, x[i*d:(i+1)*d])
			y[i] = float64(2*r.IntN(2) - 1)
		}
		examples, err := newExamples(context.Background(), algo.NewData(x, d, y), nil)
		if err != nil {
			t.Fatal(err)
		}
		w, u, gradient := make([]float64, d), make([]float64, d), make([]float64, d)
		ballPoint(r, w)
		ballPoint(r, u)
		if rapid.Bool().Draw(t, "corner") { // the first margin is gamma
			if square := squaredNorm(x[:d]); square > 0 {
				copy(w, x[:d])
				scale(w, y[0]*gamma/square)
			}
		}
		examples.hingeGradient(gradient, w, gamma)
		across := make([]float64, d)
		for j := range across {
			across[j] = u[j] - w[j]
		}
		loss := hingeAt(examples, w, gamma)
		if low := loss + plainDot(gradient, across); hingeAt(examples, u, gamma) < low-1e-9 {
			t.Fatalf("loss %v at u is below its tangent %v at w", hingeAt(examples, u, gamma), low)
		}

		const h = 1e-6
		if slices.ContainsFunc(examples.margins(w), func(m float64) bool { return math.Abs(m-gamma) < 2*h }) {
			return
		}
		for j := range w {
			up, down := slices.Clone(w), slices.Clone(w)
			up[j] += h
			down[j] -= h
			slope := (hingeAt(examples, up, gamma) - hingeAt(examples, down, gamma)) / (2 * h)
			if math.Abs(slope-gradient[j]) > 1e-6*(1+math.Abs(slope)) {
				t.Fatalf("gradient %d = %v, finite differences give %v", j, gradient[j], slope)
			}
		}
	})
}

// The descent follows its definition, step by step, in the unit ball.
func TestDescent(t *testing.T) {
	const gamma, rate, sigma, steps = 0.3, 0.5, 0.2, 30
	examples := tableOf(t, randomSample(rand.New(rand.NewPCG(1, 1)), 11, 3))
	run, gauss := newDescent(examples, gamma, rate, sigma), rand.New(rand.NewPCG(2, 2))
	w, sum, gradient, outside := make([]float64, 3), make([]float64, 3), make([]float64, 3), 0
	r := rand.New(rand.NewPCG(2, 2))
	for step := range steps {
		run.step(gauss.NormFloat64)
		examples.hingeGradient(gradient, w, gamma)
		for j := range w {
			w[j] -= rate * (gradient[j] + sigma*r.NormFloat64())
		}
		if length := math.Sqrt(squaredNorm(w)); length > 1 {
			outside++
			scale(w, 1/length)
		}
		for j := range w {
			sum[j] += w[j]
			if math.Abs(run.w[j]-w[j]) > 1e-12 {
				t.Fatalf("after step %d: %v, want %v", step, run.w, w)
			}
		}
	}
	if outside == 0 || outside == steps {
		t.Fatalf("%d of %d steps leave the ball: this tests too little", outside, steps)
	}
	for j, got := range run.mean(steps) {
		if math.Abs(got-sum[j]/(steps+1)) > 1e-12 {
			t.Errorf("mean %d = %v, want %v", j, got, sum[j]/(steps+1))
		}
	}
}
