package perturbed

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

func setting[P any](a algo.Algorithm[P], p algo.Problem) algo.Setting[P] {
	if p.Noise == "" {
		p.Noise = "none"
	}
	p.Dim = max(1, p.Dim)
	return algo.Setting[P]{
		Params: a.Defaults, Task: algo.Learn, Problem: p, Alpha: 0.1, Beta: 0.05, Epsilon: 1, Delta: 1e-6,
	}
}

var (
	parities10   = algo.Problem{Class: "parities", Dim: 10}
	thresholds31 = algo.Problem{Class: "thresholds", Domain: 31}
)

// at returns the parameters of a separator without a seed.
func at(kind string) finite.SeparatorParams { return finite.SeparatorParams{Separator: kind} }

// resolved checks that Check resolves the parameters give to want, and want to itself. It returns
// the guarantee of the resolved setting.
func resolved[P any](t *testing.T, a algo.Algorithm[P], p algo.Problem, give, want P) (algo.Guarantee, error) {
	t.Helper()
	s := setting(a, p)
	s.Params = give
	for range 2 {
		if err := a.Check(&s); err != nil {
			t.Fatalf("%+v: %v", give, err)
		}
		if diff := cmp.Diff(want, s.Params, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	return a.Guarantee(&s)
}

func TestGaussianResolve(t *testing.T) {
	a := gaussian()
	tail, printed := unionTail(10*math.Ln2, 1e-6), math.Sqrt(20*math.Ln2)/2+math.Sqrt(2*math.Log(2e6))
	for _, c := range []struct {
		p    algo.Problem
		give gaussianParams
		want float64
	}{
		// D/(radius lambda) with lambda = GaussianMu(1, 1e-6/1024) = 0.17108...:
		// the radius is 1 on the cube, 2/n on the basis
		{parities10, gaussianParams{tightPreset, at("cube"), hammingMargin, 0}, 2 / tightShift(10*math.Ln2, 1, 1e-6)},
		{parities10, gaussianParams{tightPreset, at("standard"), hammingMargin, 0}, 10 / tightShift(10*math.Ln2, 1, 1e-6)},
		{parities10, gaussianParams{simplePreset, at("cube"), hammingMargin, 0}, tail + math.Sqrt(tail*tail+2)},
		{parities10, gaussianParams{paper8Preset, at("cube"), hammingMargin, 0}, 8 * printed},
		{parities10, gaussianParams{paper32Preset, at("cube"), hammingMargin, 0}, 32 * printed},
		{parities10, gaussianParams{corollary2Preset, at("standard"), hammingMargin, 0}, 40 * printed},
		{parities10, gaussianParams{corollary2Preset, at("cube"), hammingMargin, 0}, 4 * 1024 * printed},
		{parities10, gaussianParams{tightPreset, at("cube"), hammingMargin, 100}, 100},
		{thresholds31, gaussianParams{tightPreset, at("standard"), hammingMargin, 0}, 31 / tightShift(math.Log(32), 1, 1e-6)},
		{thresholds31, gaussianParams{tightPreset, at("standard"), hullMargin, 0},
			2 / (math.Sqrt(2./31) * tightShift(math.Log(32), 1, 1e-6))},
	} {
		want := c.give
		want.Eta = c.want
		g, err := resolved(t, a, c.p, c.give, want)
		if err != nil || g.Pure || g.Epsilon != 1 || g.Delta != 1e-6 || g.Source == "" ||
			g.Unproved != strings.HasPrefix(c.give.Preset, "paper") {
			t.Errorf("%+v: %+v, %v", c.give, g, err)
		}
	}
}

// The noise of Corollary 2 is private if it is no less than the proved noise, which is the case for
// a large epsilon; its printed sample size is md/(alpha^2 epsilon) if that exceeds d/alpha^2.
func TestCorollary2(t *testing.T) {
	a := gaussian()
	s := setting(a, parities10)
	s.Params.Preset = corollary2Preset
	list, err := finitetest.Bound(a, &s)
	b := finitetest.BoundNamed(t, list, err, "corollary-2")
	if b.Value != 10*10/(0.1*0.1) || !b.Order || b.Proved {
		t.Errorf("%+v", b)
	}
	for _, c := range []struct {
		epsilon float64
		proved  bool
	}{{0.1, true}, {1, true}, {1e5, false}} {
		s := setting(a, parities10)
		s.Params.Preset, s.Epsilon = corollary2Preset, c.epsilon
		if g, err := finitetest.Guarantee(a, &s); err != nil || g.Unproved == c.proved {
			t.Errorf("epsilon %v: %+v, %v", c.epsilon, g, err)
		}
	}
	r := rspm()
	q := setting(r, parities10)
	want := map[string]float64{laplaceNoise: 1000 + 1000, gaussianNoise: math.Ceil(1000 + 100*math.Sqrt(10))}
	for noise, want := range want {
		q.Params = rspmParams{Noise: noise, SeparatorParams: at("standard")}
		list, err := finitetest.Bound(r, &q)
		if b := finitetest.BoundNamed(t, list, err, "neel-2020"); math.Abs(b.Value-want) > 1 || !b.Order {
			t.Errorf("noise %s: %+v, want %v", noise, b, want)
		}
	}
}

func TestRSPMResolve(t *testing.T) {
	a := rspm()
	for _, c := range []struct {
		p    algo.Problem
		give rspmParams
		want float64
	}{
		{parities10, rspmParams{laplaceNoise, at("standard"), 0}, 20},
		{parities10, rspmParams{laplaceNoise, at("cube"), 0}, 4},
		{parities10, rspmParams{laplaceNoise, at("standard"), 50}, 50},
		{parities10, rspmParams{gaussianNoise, at("cube"), 0}, 2 / tightShift(10*math.Ln2, 1, 1e-6)},
		{parities10, rspmParams{gaussianNoise, at("standard"), 0}, 10 / tightShift(10*math.Ln2, 1, 1e-6)},
	} {
		want := c.give
		want.Scale = c.want
		g, err := resolved(t, a, c.p, c.give, want)
		if pure := c.give.Noise == laplaceNoise; err != nil || g.Pure != pure || g.Epsilon != 1 ||
			(g.Delta == 0) != pure || g.Unproved || g.Source == "" {
			t.Errorf("%+v: %+v, %v", c.give, g, err)
		}
	}
}

func TestPublicResolve(t *testing.T) {
	a := publicData()
	s := setting(a, parities10)
	for range 2 {
		if err := a.Check(&s); err != nil {
			t.Fatal(err)
		}
	}
	two := s.Params
	if g, err := finitetest.Guarantee(a, &s); err != nil || !g.Unproved || g.Epsilon != 1 || g.Delta != 1e-6 {
		t.Errorf("two-stage: %+v, %v", g, err)
	}
	s = setting(a, parities10)
	s.Params.Preset = tracePreset
	for range 2 {
		if err := a.Check(&s); err != nil {
			t.Fatal(err)
		}
	}
	if g, err := finitetest.Guarantee(a, &s); err != nil || g.Unproved {
		t.Errorf("trace: %+v, %v", g, err)
	}
	near(t, "eta of trace", s.Params.Eta, 100/tightShift(10*math.Ln2, 1, 1e-6), 1e-12)
	if s.Params.Sigma != 0 || two.Sigma <= 0 || two.Eta <= s.Params.Eta { // 100 points are fewer than 1/a
		t.Errorf("trace %+v, two-stage %+v", s.Params, two)
	}
	s.Params.Public = 3 // at most 8 traces
	s.Params.Eta = 0
	if err := a.Check(&s); err != nil {
		t.Fatal(err)
	}
	near(t, "eta of trace, 3 points", s.Params.Eta, 3/tightShift(3*math.Ln2, 1, 1e-6), 1e-12)
}

// refusals checks that Check rejects each setting with the given reason.
func refusals[P any](t *testing.T, a algo.Algorithm[P], cases []refusal[P]) {
	for _, c := range cases {
		s := setting(a, algo.Problem{Class: "parities", Dim: 4})
		c.change(&s)
		err := a.Check(&s)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			algo.IsInfeasible(err) != c.infeasible || algo.IsInvalid(err) == c.infeasible {
			t.Errorf("%s: %v, want %q", a.Name, err, c.want)
		}
	}
}

type refusal[P any] struct {
	change     func(*algo.Setting[P])
	infeasible bool
	want       string
}

// common returns the refusals of all three algorithms.
func common[P any]() (list []refusal[P]) {
	problem := func(p algo.Problem, want string) {
		list = append(list, refusal[P]{func(s *algo.Setting[P]) { s.Problem = p }, false, want})
	}
	problem(algo.Problem{Class: "halfspace", Dim: 3}, "use boosting/hs-stl")
	problem(algo.Problem{Class: "nothing"}, `unknown class "nothing"`)
	problem(algo.Problem{Class: "parities", Dim: 30}, "no exact method")
	problem(algo.Problem{Class: "conjunctions", Dim: 15}, "no exact method")
	problem(algo.Problem{Class: "rectangles", Domain: 4, Dim: 3}, "no exact method")
	for _, eps := range []float64{0, -1, math.Inf(1), math.NaN()} {
		list = append(list, refusal[P]{func(s *algo.Setting[P]) { s.Epsilon = eps }, false, "epsilon"})
	}
	return list
}

func TestRefusals(t *testing.T) {
	type g = algo.Setting[gaussianParams]
	refusals(t, gaussian(), append(common[gaussianParams](), []refusal[gaussianParams]{
		{func(s *g) { s.Delta = 0 }, false, "never pure"},
		{func(s *g) { s.Epsilon, s.Delta = 1e-200, 1e-200 }, true, "hides all information"},
		{func(s *g) { s.Params.Eta = 1 }, true, "raise it, or omit it"},
		{func(s *g) { s.Params.Eta = 1e300 }, false, "above the largest"},
		{func(s *g) { s.Params.CodeSeed = 1 }, false, `code_seed 1 is not used by separator "standard"`},
		{func(s *g) { s.Params.Preset, s.Params.Eta = paper8Preset, 1e4 }, false, "fixes eta"},
		{func(s *g) { s.Params.Preset, s.Params.Margin = paper8Preset, hullMargin }, false, "margin hull is not used " +
			"by preset paper-8"},
		{func(s *g) { s.Params.Preset = "loose" }, false, "unknown preset"},
		{func(s *g) { s.Problem = algo.Problem{Class: "thresholds", Domain: 1 << 40, Dim: 1} }, false, "use at most"},
		{func(s *g) { s.Problem, s.Params.Separator = thresholds31, "code" }, false, "only parities"},
		{func(s *g) { s.Problem = algo.Problem{Class: "points", Domain: 1, Dim: 1} }, false, "single hypothesis"},
		{func(s *g) { s.Problem.Dim, s.Params.Separator = 14, "greedy" }, false, "use at most"},
	}...))
	type r = algo.Setting[rspmParams]
	refusals(t, rspm(), append(common[rspmParams](), []refusal[rspmParams]{
		{func(s *r) { s.Delta, s.Params.Noise = 0, gaussianNoise }, false, "never pure"},
		{func(s *r) { s.Params.Scale = 1 }, true, "raise it, or omit it"},
		{func(s *r) { s.Epsilon = 1e-200 }, true, "hides all information"},
		{func(s *r) { s.Problem.Dim, s.Params.Separator = 21, "cube" }, false,
			"noise laplace draws at each of 2097152 points"},
	}...))
	type p = algo.Setting[publicParams]
	refusals(t, publicData(), append(common[publicParams](), []refusal[publicParams]{
		{func(s *p) { s.Delta = 0 }, false, "never pure"},
		{func(s *p) { s.Params.Preset, s.Params.Eta = tracePreset, 1 }, true, "raise it, or omit it"},
		{func(s *p) { s.Epsilon, s.Delta = 1e-200, 1e-200 }, true, "hide all information"},
		{func(s *p) { s.Problem, s.N = algo.Problem{Class: "rectangles", Domain: 1 << 20, Dim: 2}, 2000 }, false,
			"n = 2000 and 100 public points"},
	}...))
	s := setting(rspm(), parities10)
	s.Delta = 0
	if err := rspm().Check(&s); err != nil {
		t.Errorf("Laplace noise without delta: %v", err)
	}
}

func TestBounds(t *testing.T) {
	a := gaussian()
	s := setting(a, parities10)
	s.Params.Separator = "cube"
	list, err := finitetest.Bound(a, &s)
	b := finitetest.BoundNamed(t, list, err, "explicit")
	if b.Value != 2204 || !b.Proved || b.With["m"] != 1024 || b.With["h"] != 512 || b.With["kappa2"] != 2 ||
		b.With["eta"] != s.Params.Eta {
		t.Errorf("%+v", b)
	}
	near(t, "lambda", b.With["lambda"], tightShift(10*math.Ln2, 1, 1e-6), 1e-12)
	near(t, "rho", b.With["rho_pm"], math.Sqrt2, 1e-12)
	g, tail := math.Sqrt(20*math.Ln2)/2, math.Sqrt(math.Log(20))
	for name, want := range map[string]float64{
		"lemma-3":   max((g*g+tail*tail)/0.01, 2*s.Params.Eta*(g+tail)/0.1),
		"theorem-2": max((g*g+tail*tail)/0.01, (g+math.Sqrt(math.Log(1e6)))*(g+tail)/0.05),
	} {
		if b := finitetest.BoundNamed(t, list, err, name); b.Value != math.Ceil(want) || b.Proved || !b.Order {
			t.Errorf("%+v, want %v", b, want)
		}
	}
	s.Params = gaussianParams{Preset: paper8Preset, SeparatorParams: at("cube"), Margin: hammingMargin}
	list, err = finitetest.Bound(a, &s)
	b = finitetest.BoundNamed(t, list, err, "explicit")
	if b.Value < 2204 || !strings.Contains(b.Source, "covers only accuracy") {
		t.Errorf("paper: %+v", b)
	}
	s.Params = gaussianParams{Preset: tightPreset, SeparatorParams: at("cube"), Margin: hammingMargin}
	s.Problem.Noise, s.Problem.NoiseRate = "random", 0.2
	list, err = finitetest.Bound(a, &s)
	b = finitetest.BoundNamed(t, list, err, "explicit")
	if b.With["alpha"] != 0.1*(1-2*0.2) || b.Value <= 2204 || !b.Proved {
		t.Errorf("random noise: %+v", b)
	}
	s.Problem.Noise, s.Problem.NoiseRate = "adversarial", 0.06
	list, err = finitetest.Bound(a, &s)
	if b := finitetest.BoundNamed(t, list, err, "explicit"); !math.IsInf(b.Value, 1) {
		t.Errorf("adversary: %+v", list)
	}

	r := rspm()
	q := setting(r, parities10)
	list, err = finitetest.Bound(r, &q)
	b = finitetest.BoundNamed(t, list, err, "explicit")
	if b.Value != 5641 || !b.Proved || b.With["b"] != 20 || b.With["widest"] != 10 {
		t.Errorf("%+v", b)
	}
	q.Params = rspmParams{Noise: gaussianNoise, SeparatorParams: at("standard")}
	list, err = finitetest.Bound(r, &q)
	if b := finitetest.BoundNamed(t, list, err, "explicit"); b.Value > 5993+1 || !b.Proved {
		t.Errorf("%+v", b)
	}
}

// The bounds that apply, by the properties of a cell.
func TestPremises(t *testing.T) {
	for _, c := range []struct {
		noise            string
		rate             float64
		realizable       bool
		least, reference float64
		gaussian         string
		rspm             string
	}{
		{"none", 0, true, 0, 0, "explicit lemma-3 theorem-2", "explicit neel-2020"},
		{"random", 0.1, true, 0, 0, "explicit lemma-3 theorem-2", "explicit neel-2020"},
		{"adversarial", 0.01, true, 0, 0, "explicit", "explicit"},
		{"none", 0, false, 0.2, 0.2, "explicit lemma-3 theorem-2", "explicit neel-2020"},
		{"adversarial", 0.01, false, 0.2, 0.3, "explicit", "explicit"},
		{"none", 0, false, 0.2, 0.1, "", ""},
	} {
		p := thresholds31
		p.Noise, p.NoiseRate, p.Realizable = c.noise, c.rate, c.realizable
		names := func(list []algo.Bound, err error) string {
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range list {
				if !(b.Value >= 1) {
					t.Errorf("%+v: %+v", c, b)
				}
			}
			return finitetest.Names(finitetest.Holding(list, p, c.least, c.reference))
		}
		s, q := setting(gaussian(), p), setting(rspm(), p)
		if got := names(finitetest.Bound(gaussian(), &s)); got != c.gaussian {
			t.Errorf("gaussian, %+v: %q, want %q", c, got, c.gaussian)
		}
		if got := names(finitetest.Bound(rspm(), &q)); got != c.rspm {
			t.Errorf("rspm, %+v: %q, want %q", c, got, c.rspm)
		}
	}
}

// sample returns n uniform points, labeled by member number target of the class and then flipped at
// the rate.
func sample(c concept.Finite, spec concept.Spec, target uint64, n int, rate float64, r *rand.Rand) *algo.Data {
	x, y := drawPublic(c, spec, n, r), make([]float64, n)
	c.Member(target).Labels(x, y)
	for i := range y {
		if r.Float64() < rate {
			y[i] = -y[i]
		}
	}
	return algo.NewData(x, c.Dim(), y)
}

// The cube of the parities carries Gaussian noise also if it has too many points to be listed, for
// both algorithms.
func TestCubeWithoutPoints(t *testing.T) {
	p := algo.Problem{Class: "parities", Dim: 21}
	a, r := gaussian(), rspm()
	s, q := setting(a, p), setting(r, p)
	s.Params.Separator = "cube"
	q.Params = rspmParams{Noise: gaussianNoise, SeparatorParams: at("cube")}
	list, err := finitetest.Bound(a, &s)
	size := finitetest.BoundNamed(t, list, err, "explicit")
	if err := r.Check(&q); err != nil || q.Params.Scale != s.Params.Eta ||
		size.With["m"] != 1<<21 || size.With["h"] != 1<<20 {
		t.Fatalf("eta %v, scale %v, %+v, %v", s.Params.Eta, q.Params.Scale, size, err)
	}
	near(t, "eta", s.Params.Eta, 2/tightShift(21*math.Ln2, 1, 1e-6), 1e-12)
	const target = 1<<20 | 5
	st, random := makeSite(t, finite.PlaceOf(p, "", 0)), rand.New(rand.NewPCG(4, 4))
	d := sample(st.class, st.Spec, target, int(size.Value), 0, random)
	for _, learn := range []func() (algo.Model, error){
		func() (algo.Model, error) {
			return a.Learn(context.Background(), &algo.Trial[gaussianParams]{Setting: s, Rand: random}, d)
		},
		func() (algo.Model, error) {
			return r.Learn(context.Background(), &algo.Trial[rspmParams]{Setting: q, Rand: random}, d)
		},
	} {
		want := finite.Declare(concept.Parity{Dim: 21, Set: target}, "")
		if m, err := learn(); err != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("answer %v, %v", m, err)
		}
	}
	p.Dim = 24 // the largest dimension: resolved without a table, which would take 64 MiB
	s = setting(a, p)
	s.Params.Separator, s.Params.Margin = "cube", hullMargin
	if err := a.Check(&s); err != nil || !(s.Params.Eta > 0) {
		t.Error(err)
	}
}
