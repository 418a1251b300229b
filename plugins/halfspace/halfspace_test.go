package halfspace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/matrix"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// randomSample returns n random points of the unit ball with random labels.
func randomSample(r *rand.Rand, n, d int) *algo.Data {
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		ballPoint(r, x[i*d:(i+1)*d])
		y[i] = float64(2*r.IntN(2) - 1)
	}
	return algo.NewData(x, d, y)
}

func TestProjection(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const d, k = 30, 5
	mean, drawn := 0.0, 400
	for range drawn {
		phi := newProjection(r, d, k)
		x, w := make([]float64, d), make([]float64, k)
		direction(r, x)
		direction(r, w)
		image := make([]float64, k)
		matrix.MultiplyRows(image, phi.rows.x, x)
		mean += squaredNorm(image) / float64(drawn)
		if a, b := plainDot(phi.lift(w), x), plainDot(w, image); math.Abs(a-b) > 1e-12 {
			t.Fatalf("<lift(w), x> = %v, <w, Phi x> = %v", a, b)
		}
		clipped := make([]float64, k)
		phi.apply(clipped, x)
		if s := squaredNorm(clipped); s > 1+1e-12 || squaredNorm(image) < 1 && !slices.Equal(image, clipped) {
			t.Fatalf("clipped %v to %v", image, clipped)
		}
	}
	if math.Abs(mean-1) > 5*math.Sqrt(2.0/k/float64(drawn)) {
		t.Errorf("mean squared length %v of images of unit vectors", mean)
	}
	w := []float64{1, 2}
	if got := newProjection(r, 2, 0).lift(w); !slices.Equal(got, w) {
		t.Errorf("no projection lifts %v to %v", w, got)
	}
}

func TestSampleOutsideTheUnitBallIsRefused(t *testing.T) {
	for _, value := range []float64{1 + 1e-10, 1.5, math.NaN(), math.Inf(-1)} {
		x := make([]float64, 301*3)
		x[3*298+1] = value
		sample := algo.NewData(x, 3, slices.Repeat([]float64{1}, 301))
		want := fmt.Sprintf("check the sample: row 298 has norm %g: privacy requires at most 1", math.Abs(value))
		for _, project := range []int{0, 2} {
			e := exponentialSetting(3, ExponentialParams{Net: Random, Points: 5, Project: project})
			g := gradientSetting(3, GradientParams{Steps: 1, Rate: 1, Project: project})
			for _, learn := range []learner{learnerOf(exponential(), e), learnerOf(noisyGradient(), g)} {
				_, err := learn(1, sample)
				if ok := value < 1.1 && value > 0; ok != (err == nil) || !ok && !strings.Contains(err.Error(), want) {
					t.Errorf("value %v, project %d: error %v", value, project, err)
				}
			}
		}
	}
}

func sampleError(t *testing.T, m algo.Model, sample *algo.Data) float64 {
	t.Helper()
	out := make([]float64, sample.Len())
	if err := m.Predict(t.Context(), sample, out); err != nil {
		t.Fatal(err)
	}
	wrong := 0.0
	for i, v := range out {
		wrong += (1 - v*sample.Y(i)) / 2
	}
	return wrong / float64(len(out))
}

// Samples of the smallest size and of a single kind, with budgets that make the noise negligible.
func TestDegenerateSamples(t *testing.T) {
	repeated := func(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }
	for _, c := range []struct {
		name string
		d    int
		x, y []float64
		want float64 // training error
	}{
		{"one example", 2, []float64{0.6, 0.8}, []float64{-1}, 0},
		{"one label", 2, []float64{1, 0, 0.6, 0.8, 0.8, -0.6}, repeated(3, -1), 0},
		{"duplicates", 2, []float64{1, 0, 1, 0, -1, 0, -1, 0}, []float64{1, 1, -1, -1}, 0},
		{"all equal", 3, repeated(15, 0.5), repeated(5, 1), 0},
		{"contradiction", 2, []float64{1, 0, 1, 0}, []float64{1, -1}, 0.5},
		{"all at 0, ties are +1", 2, repeated(8, 0), []float64{1, 1, 1, -1}, 0.25},
		{"one dimension", 1, []float64{0.5, -0.7, 1}, []float64{-1, 1, -1}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			sample := algo.NewData(c.x, c.d, c.y)
			e := exponentialSetting(c.d, ExponentialParams{Net: Auto})
			e.Problem.Margin, e.Epsilon = 0.4, 1e6
			g := gradientSetting(c.d, GradientParams{Steps: 400, Rate: 0.01})
			g.Problem.Margin, g.Epsilon = 0.4, 1e12
			for _, learn := range []learner{learnerOf(exponential(), e), learnerOf(noisyGradient(), g)} {
				m, err := learn(3, sample)
				if err != nil {
					t.Fatal(err)
				}
				if got := sampleError(t, m, sample); got != c.want {
					t.Errorf("training error %v, want %v", got, c.want)
				}
			}
		})
	}
}

// A refusal is a change to a setting that resolving rejects as invalid, with a message that
// contains want.
type refusal[P any] struct {
	name   string
	change func(s *algo.Setting[P])
	want   string
}

func checkRefusals[P any](
	t *testing.T, setting func() algo.Setting[P], resolve func(*algo.Setting[P]) error, cases []refusal[P],
) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := setting()
			c.change(&s)
			if err := resolve(&s); !algo.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestExponentialRefusals(t *testing.T) {
	type setting = algo.Setting[ExponentialParams]
	base := func() setting { return exponentialSetting(5, ExponentialParams{Net: Auto}) }
	checkRefusals(t, base, resolveExponential, []refusal[ExponentialParams]{
		{"class", func(s *setting) { s.Problem.Class = "points" },
			`halfspace/exponential learns halfspaces, not class "points"`},
		{"dimension", func(s *setting) { s.Problem.Dim = 0 }, "requires dimension 1 or more, not 0"},
		{"margin", func(s *setting) { s.Problem.Margin = 0 }, "a margin is required and the problem guarantees none: " +
			"set tau"},
		{"tau", func(s *setting) { s.Params.Tau = 2 }, "tau must be between 1e-6 and 1, not 2"},
		{"epsilon", func(s *setting) { s.Epsilon = math.Inf(1) }, "requires privacy.epsilon between 0 and 1e100, not +Inf"},
		{"grid", func(s *setting) { s.Params.Net = Grid },
			"net grid covers up to 3 dimensions, not 5: set net to random, or project to 3"},
		{"net", func(s *setting) { s.Params.Net = "lattice" }, `unknown net "lattice": use auto, grid or random`},
		{"radius", func(s *setting) { s.Params.Radius = 0.1 },
			"the radius 0.1 makes gamma' = 0 for the margin 0.1, and it must be above 0"},
		{"radius and projection", func(s *setting) { s.Params.Radius, s.Params.Project = 0.07, 4 }, "makes gamma' = -0.003"},
		{"negative radius", func(s *setting) { s.Params.Radius = -0.1 }, "the radius -0.1"},
		{"project", func(s *setting) { s.Params.Project = 6 }, "projects to fewer dimensions, so not from 5 to 6"},
		{"points of a grid", func(s *setting) { s.Problem.Dim, s.Params.Points = 2, 4096 },
			"net grid has 315 points at radius 0.01, not 4096"},
		{"negative points", func(s *setting) { s.Params.Points = -1 }, "points must be at least 1, not -1"},
		{"fine grid", func(s *setting) { s.Problem.Dim, s.Params.Radius = 3, 1e-300 },
			"a grid of radius 1e-300 in 3 dimensions has about +Inf points"},
		{"memory of a grid", func(s *setting) { s.Problem.Dim, s.Params.Radius = 3, 5e-4 },
			"numbers, and 33554432 are allowed: lower points, raise radius"},
		{"memory", func(s *setting) { s.Params.Points = 1 << 25 },
			"a net of 33554432 points in 5 dimensions has 1.678e+08 numbers"},
		{"work", func(s *setting) { s.N = 3355444 }, "requires 6.872e+10 multiplications at n = 3355444"},
	})
	s := base()
	s.N = 3355443
	if err := resolveExponential(&s); err != nil {
		t.Errorf("the largest n: %v", err)
	}
}

func TestGradientRefusals(t *testing.T) {
	type setting = algo.Setting[GradientParams]
	base := func() setting { return gradientSetting(5, GradientParams{Steps: 400, Rate: 0.01}) }
	checkRefusals(t, base, resolveGradient, []refusal[GradientParams]{
		{"class", func(s *setting) { s.Problem.Class = "points" },
			`halfspace/noisy-gradient learns halfspaces, not class "points"`},
		{"margin", func(s *setting) { s.Problem.Margin = 0 }, "a margin is required and the problem guarantees none: " +
			"set gamma"},
		{"gamma", func(s *setting) { s.Params.Gamma = math.NaN() }, "gamma must be between 1e-6 and 1, not NaN"},
		{"epsilon", func(s *setting) { s.Epsilon = 0 }, "requires privacy.epsilon above 0 and at most 1e100, not 0"},
		{"delta", func(s *setting) { s.Delta = 0 },
			"Gaussian noise, which is never pure: set privacy.delta in (0,1), not 0"},
		{"steps", func(s *setting) { s.Params.Steps = 0 }, "steps must be between 1 and 10000000, not 0"},
		{"rate", func(s *setting) { s.Params.Rate = 0 }, "rate must be above 0 and at most 1e6, not 0"},
		{"project", func(s *setting) { s.Params.Project = -1 }, "projects to fewer dimensions, so not from 5 to -1"},
		{"projection", func(s *setting) { s.Problem.Dim, s.Params.Project = 1<<20, 33 },
			"halfspace/noisy-gradient: a projection from 1048576 to 33 dimensions has 3.46e+07 numbers, " +
				"and 33554432 are allowed: lower project to 32"},
	})
	s := base()
	s.N, s.Epsilon, s.Delta = 10, 1e-300, 1e-300
	if err := resolveGradient(&s); !algo.IsInfeasible(err) {
		t.Errorf("next to no budget: %v", err)
	}
}

func TestGuarantees(t *testing.T) {
	e := exponentialSetting(2, ExponentialParams{Net: Auto})
	g, err := exponential().Guarantee(&e)
	if err != nil || !g.Pure || g.Epsilon != 1 || g.Delta != 0 || g.Rho != 1.0/8 || g.Source == "" {
		t.Errorf("exponential: %+v, %v", g, err)
	}
	s := gradientSetting(2, GradientParams{Gamma: 0.05, Steps: 50, Rate: 0.1})
	g, err = noisyGradient().Guarantee(&s)
	if err != nil || g.Pure || g.Epsilon != 1 || g.Delta != 1e-6 || g.Source == "" {
		t.Errorf("noisy-gradient: %+v, %v", g, err)
	}
	// The noise of all steps together spends exactly the budget.
	mu := 2 / (0.05 * 700) / s.Params.sigma(700, 1, 1e-6) // mu of one step: sensitivity over standard deviation
	mu *= math.Sqrt(50)
	if math.Abs(mu/g.Mu-1) > 1e-12 || math.Abs(privacy.GaussianDelta(mu, 1)/1e-6-1) > 1e-9 {
		t.Errorf("mu %v of the noise, guaranteed %v", mu, g.Mu)
	}
}
