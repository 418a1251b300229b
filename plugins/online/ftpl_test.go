package online

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/shatterlab/shatter/plugins/algo"
)

// rivals returns plans of all five algorithms for a problem, with their defaults and some variants.
func rivals(p algo.Problem, rounds int) map[string]func() (*plan, error) {
	known := new(sites)
	return map[string]func() (*plan, error){
		"gaussian": func() (*plan, error) { s := setting(ftplGaussian(nil), p, rounds); return planGaussian(known, &s) },
		"iid":      func() (*plan, error) { s := setting(ftplIID(nil), p, rounds); return planIID(known, &s) },
		"laplace distribution": func() (*plan, error) {
			s := setting(ftplIID(nil), p, rounds)
			s.Params.Density = laplaceNoise
			return planIID(known, &s)
		},
		"exponential distribution": func() (*plan, error) {
			s := setting(ftplIID(nil), p, rounds)
			s.Params.Density, s.Params.Schedule = exponentialNoise, confidentSchedule
			return planIID(known, &s)
		},
		"uniform": func() (*plan, error) { s := setting(ftplUniform(nil), p, rounds); return planUniform(known, &s) },
		"laplace": func() (*plan, error) { s := setting(ftplLaplace(nil), p, rounds); return planLaplace(known, &s) },
		"doubling": func() (*plan, error) {
			s := setting(ftplLaplace(nil), p, rounds)
			s.Params.Schedule = doublingSchedule
			return planLaplace(known, &s)
		},
		"approximable": func() (*plan, error) {
			s := setting(ftplApproximable(nil), p, rounds)
			return planApproximable(known, &s)
		},
		"corollary": func() (*plan, error) {
			s := setting(ftplApproximable(nil), p, rounds)
			s.Params.Density = gaussianNoise
			return planApproximable(known, &s)
		},
	}
}

// sequence draws the rounds of a game with a target and 5 % noise, for any class.
func sequence(t testing.TB, p *plan, rounds int, r *rand.Rand) (x, y []float64) {
	top := p.site.Spec.Domain
	if top == 0 {
		top = 2
	}
	d := p.site.class.Dim()
	for range rounds * d {
		x = append(x, float64(r.Uint64N(top)))
	}
	y = make([]float64, rounds)
	p.site.class.Member(r.Uint64N(p.site.class.Size().Uint64())).Labels(x, y)
	for i := range y {
		if r.Float64() < 0.05 {
			y[i] = -y[i]
		}
	}
	return x, y
}

// Every algorithm supports every class, repeats its game for the same seed, draws no random numbers
// when it predicts, and satisfies its bound with a margin for chance.
func TestEveryClass(t *testing.T) {
	const rounds = 200
	for _, problem := range append(listedProblems,
		algo.Problem{Class: "intervals", Domain: 6}, algo.Problem{Class: "stumps", Domain: 3, Dim: 2},
		algo.Problem{Class: "rectangles", Domain: 3, Dim: 2}, algo.Problem{Class: "conjunctions", Dim: 3},
		algo.Problem{Class: "monotone-conjunctions", Dim: 3},
		algo.Problem{Class: "matrix", Domain: 4, Matrix: "001101011111"},
		algo.Problem{Class: "matrix", Domain: 4, Matrix: "0110"},
	) {
		for name, plan := range rivals(problem, rounds) {
			p, err := plan()
			if err != nil {
				t.Fatalf("%s, %s: %v", problem.Class, name, err)
			}
			x, y := sequence(t, p, rounds, rand.New(rand.NewPCG(1, 2)))
			l, again := start(t, p, nil, 3), start(t, p, nil, 3)
			d := p.site.class.Dim()
			loss := play(t, l, d, x, y)
			out := make([]float64, rounds)
			if err := again.Predict(context.Background(), algo.NewData(x, d, nil), out); err != nil {
				t.Fatal(err)
			}
			if twice := play(t, again, d, x, y); loss != twice {
				t.Errorf("%s, %s: loss %v, and %v again", problem.Class, name, loss, twice)
			}
			proved, _, err := l.promises()
			if regret := loss - hindsight(t, l); err != nil || regret > proved+30 || regret < -30 || !(proved <= rounds) {
				t.Errorf("%s, %s: regret %v, proved %v, %v", problem.Class, name, regret, proved, err)
			}
		}
	}
}

func TestRivalBounds(t *testing.T) {
	value := func(plan func() (*plan, error)) map[string]algo.Bound {
		p, err := plan()
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]algo.Bound{}
		for _, b := range p.bounds {
			of[b.Name] = b
		}
		return of
	}
	all := rivals(algo.Problem{Class: "parities", Dim: 10}, 10000)
	// m sqrt(T) with the 10 unit vectors; (1 + 10) and so on of (3) with gamma 1 and all 1024
	// points
	if b := value(all["uniform"])["explicit"]; !near(b.Value, 1000, 1e-12) || !near(b.With["eta"], 100, 1e-12) ||
		!b.Proved {
		t.Errorf("uniform: %+v", b)
	}
	lnF := 10 * math.Ln2
	spread := lnF + math.Sqrt(1024*lnF)
	if b := value(all["approximable"])["approximable"]; !near(b.Value, 1+(spread+1)*100+1+spread, 1e-12) ||
		b.With["gamma"] != 1 || b.Proved {
		t.Errorf("approximable: %+v", b)
	}
	// Independent noise: the bound b G + (e^(1/b) - 1)(L* + b G) has its minimum at about 2 sqrt(G
	// L*) + 2 G for the sum G of the largest.
	if b := value(all["laplace distribution"])["explicit"]; b.Value < 2*math.Sqrt(6.8*10000) ||
		b.Value > 2*math.Sqrt(6.9*10000)+15 {
		t.Errorf("laplace distribution: %+v", b)
	}
	// b m/2 + (e^(m/(h b)) - 1)(L* + b m/2) with m = 10, h = 1
	fixed := func() (*plan, error) {
		s := setting(ftplLaplace(nil), algo.Problem{Class: "parities", Dim: 10}, 10000)
		s.Params.Schedule, s.Params.Eta = fixedSchedule, 20
		return planLaplace(new(sites), &s)
	}
	if b := value(fixed)["explicit"]; !near(b.Value, 100+math.Expm1(0.5)*10100, 1e-12) {
		t.Errorf("laplace: %+v", b)
	}
	// gamma = m/h = 10; sigma sqrt(m) g + (e^eps - 1)(L* + sigma sqrt(m) g) + 1 with eps = lambda w
	// + lambda^2/2, lambda = gamma/sigma
	basis := func() (*plan, error) {
		s := setting(ftplApproximable(nil), algo.Problem{Class: "parities", Dim: 10}, 10000)
		s.Params.Schedule, s.Params.Eta = fixedSchedule, 100
		s.Params.Separator, s.Params.Density = "standard", gaussianNoise
		return planApproximable(new(sites), &s)
	}
	w, noise := -mathext.NormalQuantile(1e-4/1024), 100*math.Sqrt(20*lnF)
	of := value(basis)
	if b := of["explicit"]; b.With["gamma"] != 10 || !near(b.Value, noise+math.Expm1(0.1*w+0.005)*(10000+noise)+1, 1e-9) {
		t.Errorf("corollary: %+v", b)
	}
	if b := of["approximable"]; !near(b.Value, 1+10*math.Sqrt(10*math.Log(1024e4)*1e4)+1000*math.Log(1024e4), 1e-12) {
		t.Errorf("corollary as printed: %+v", b)
	}
	if b := value(all["exponential distribution"])["explicit"]; !math.IsInf(b.Value, 1) || !b.Proved {
		t.Errorf("self-confident has no finite bound beforehand: %+v", b)
	}
}

func TestDegenerate(t *testing.T) {
	ctx := context.Background()
	one := algo.NewData([]float64{1}, 1, nil)
	for _, rounds := range []int{0, 1} {
		for name, plan := range rivals(algo.Problem{Class: "points", Domain: 3}, rounds) {
			p, err := plan()
			l, out := start(t, p, err, 1), make([]float64, 1)
			if err := l.Predict(ctx, one, out); err != nil || math.Abs(out[0]) != 1 {
				t.Errorf("%s, %d rounds: answer %v, %v", name, rounds, out[0], err)
			}
			if err := l.Observe(ctx, one, []float64{1}); err != nil {
				t.Errorf("%s, %d rounds: %v", name, rounds, err)
			}
			for _, b := range p.bounds {
				if math.IsNaN(b.Value) {
					t.Errorf("%s, %d rounds: bound %+v", name, rounds, b)
				}
			}
		}
	}
	// Without noise the first of the leaders is played. Its regret has no bound of this kind.
	p, err := gaussianPlan(algo.Problem{Class: "points", Domain: 3}, 3,
		func(p *ftplGaussianParams) { p.Schedule = fixedSchedule })
	l := start(t, p, err, 1)
	if loss := play(t, l, 1, []float64{0, 1, 2}, []float64{-1, -1, -1}); loss != 3 || hindsight(t, l) != 1 {
		t.Errorf("the leader lost %v", loss)
	}
	if b := p.bounds[0].Value; !math.IsInf(b, 1) {
		t.Errorf("without noise, bound %v", b)
	}
}

func TestRefusals(t *testing.T) {
	points := algo.Problem{Class: "points", Domain: 200}
	for _, c := range []struct {
		p    algo.Problem
		set  func(p *ftplGaussianParams)
		want string
	}{
		{points, func(p *ftplGaussianParams) { p.Eta = 1 }, "eta 1 is not used by schedule proved"},
		{points, func(p *ftplGaussianParams) { p.LStar = -0.5 }, "lstar -0.5"},
		{points, func(p *ftplGaussianParams) { p.Schedule, p.LStar = doublingSchedule, 3 }, "lstar is not used"},
		{points, func(p *ftplGaussianParams) { p.Schedule, p.EtaMin, p.Factor = confidentSchedule, 0, 0 }, "without noise"},
		{points, func(p *ftplGaussianParams) { p.CodeSeed = 1 }, `code_seed 1 is not used by separator "standard"`},
		{points, func(p *ftplGaussianParams) { p.Separator = "code" }, "only parities"},
		{points, func(p *ftplGaussianParams) { p.Exact = true }, "exact requires Gaussian noise that is independent"},
		{algo.Problem{Class: "parities", Dim: 8}, func(p *ftplGaussianParams) { p.Exact, p.Separator = true, "cube" },
			"exact with 256 hypotheses"},
		{algo.Problem{Class: "parities", Dim: 3},
			func(p *ftplGaussianParams) { p.Exact, p.Separator, p.Noise = true, "cube", onceNoise }, "nothing to average"},
		{algo.Problem{Class: "matrix", Domain: 2, Matrix: "010001"},
			func(*ftplGaussianParams) {}, "rows 0 and 2 of the matrix"},
		{algo.Problem{Class: "halfspace", Dim: 2}, func(*ftplGaussianParams) {}, "use a finite class"},
		{algo.Problem{Class: "thresholds", Domain: 1 << 40}, func(*ftplGaussianParams) {}, "use at most"},
	} {
		if _, err := gaussianPlan(c.p, 10, c.set); !algo.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	intervals := algo.Problem{Class: "intervals", Domain: 1000}
	if _, err := iidPlan(intervals, 10, func(*ftplIIDParams) {}); !algo.IsInvalid(err) {
		t.Errorf("500501 hypotheses without a pattern: %v", err)
	}
	exactLaplace := func(p *ftplIIDParams) { p.Exact, p.Density = true, laplaceNoise }
	if _, err := iidPlan(points, 10, exactLaplace); !algo.IsInvalid(err) {
		t.Errorf("exact with Laplace noise: %v", err)
	}
}

func TestBadRounds(t *testing.T) {
	ctx := context.Background()
	for _, problem := range []algo.Problem{{Class: "points", Domain: 3}, {Class: "intervals", Domain: 3},
		{Class: "matrix", Domain: 3, Matrix: "010"}} {
		p, err := gaussianPlan(problem, 10, func(*ftplGaussianParams) {})
		l, out := start(t, p, err, 1), make([]float64, 1)
		play(t, l, 1, []float64{0}, []float64{1})
		for _, c := range []struct {
			x    []float64
			y    float64
			want string
		}{
			{[]float64{3}, 1, "round 2: point [3] is outside"}, {[]float64{0.5}, 1, "round 2: point [0.5] is outside"},
			{[]float64{math.NaN()}, 1, "round 2: point [NaN] is outside"}, {[]float64{0}, 0, "round 2: label 0"},
			{[]float64{0, 0}, 1, "point [0 0] has 2 numbers"},
		} {
			x := algo.NewData(c.x, len(c.x), nil)
			if err := l.Observe(ctx, x, []float64{c.y}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", problem.Class, err, c.want)
			}
			if err := l.Predict(ctx, x, out); c.y != 0 && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", problem.Class, err, c.want)
			}
		}
	}
}
