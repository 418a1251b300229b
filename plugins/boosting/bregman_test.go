package boosting

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// unbudgeted is setting, but with other parameters and no budget.
func unbudgeted[P any](p P) algo.Setting[P] {
	s := setting(Params{})
	return algo.Setting[P]{Params: p, Task: s.Task, Problem: s.Problem, Alpha: s.Alpha, Beta: s.Beta}
}

// TestMarginsOfBregmanBoosting checks that without noise, rounds and lambda derived from the margin
// leave fewer than kappa n examples below tau/2 (unit) or tau/4 (raw), relative to |w|, and half of
// that with as many wrong labels as a smooth distribution tolerates.
func TestMarginsOfBregmanBoosting(t *testing.T) {
	for _, plugin := range []algo.Algorithm[BregmanParams]{lazyBregman(), bregman()} {
		for weak, share := range map[string]float64{Unit: 0.5, Raw: 0.25} {
			t.Run(plugin.Name+" "+weak, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
					tau := rapid.SampledFrom([]float64{0.2, 0.3, 0.6, 0.9}).Draw(t, "tau")
					n := rapid.IntRange(1, 150).Draw(t, "n")
					s := unbudgeted(BregmanParams{Weak: weak, Kappa: rapid.SampledFrom([]float64{0.05, 0.2, 0.5}).Draw(t, "kappa")})
					s.Problem.Margin = tau
					sample := newDistribution(r, rapid.IntRange(3, 6).Draw(t, "d"), tau, rapid.Bool().Draw(t, "skew")).draw(n)
					if rapid.Bool().Draw(t, "noisy") {
						s.Problem.Noise, s.Problem.NoiseRate = "adversarial", s.Params.Kappa*tau/4
						sample = corrupt(sample, int(s.Problem.NoiseRate*float64(n)))
						tau /= 2
					}
					model, err := plugin.Learn(context.Background(), trialOf(plugin, s, 1), sample)
					if err != nil {
						t.Fatal(err)
					}
					if below := shareBelow(sample, weightsOf(sample, model), share*tau-1e-12); below >= s.Params.Kappa {
						t.Fatalf("a share of %v lies below %v tau, want less than %v", below, share, s.Params.Kappa)
					}
				})
			})
		}
	}
}

// corrupt returns a sample with the labels of the first examples reversed.
func corrupt(sample *algo.Data, count int) *algo.Data {
	y := slices.Clone(sample.Ys())
	for i := range count {
		y[i] = -y[i]
	}
	return algo.NewData(sample.Xs(), sample.Dim(), y)
}

// weightsOf returns the weights of a halfspace through the origin.
func weightsOf(sample *algo.Data, m algo.Model) []float64 {
	return m.(*algo.Declared).Numbers()[:sample.Dim()]
}

// shareBelow returns the share of examples with y <w, x> < theta |w|.
func shareBelow(sample *algo.Data, w []float64, theta float64) float64 {
	count := 0
	for i := range sample.Len() {
		if sample.Y(i)*numeric.Dot(w, sample.X(i)) < theta*math.Sqrt(numeric.Dot(w, w)) {
			count++
		}
	}
	return float64(count) / float64(sample.Len())
}

func TestRivalsRefuse(t *testing.T) {
	type change = func(p *algo.Problem)
	none := func(*algo.Problem) {}
	unpromised := func(p *algo.Problem) { p.Margin = 0 }
	other := func(p *algo.Problem) { p.Class = "points" }
	br := func(p BregmanParams, c change) error {
		s := unbudgeted(p)
		c(&s.Problem)
		return bregman().Check(&s)
	}
	sm := func(p SmoothParams, c change) error {
		s := unbudgeted(p)
		c(&s.Problem)
		return smooth().Check(&s)
	}
	dr := func(p DRVParams, c change) error {
		s := drvSetting(p, 0)
		c(&s.Problem)
		return drv().Check(&s)
	}
	usual := drv().Defaults
	with := func(f func(p *DRVParams)) DRVParams {
		p := usual
		f(&p)
		return p
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{br(BregmanParams{Weak: Unit}, other), `boosting/bregman learns halfspaces, not class "points"`},
		{br(BregmanParams{Weak: Unit}, unpromised),
			"boosting/bregman derives rounds and lambda from the margin, and the problem guarantees none: " +
				"set tau, or both of them"},
		{br(BregmanParams{Weak: Unit, Rounds: 5}, unpromised), "the problem guarantees none: set tau, or both of them"},
		{br(BregmanParams{Weak: Unit, Lambda: math.NaN()}, none), "lambda must be between 1e-9 and 1e6, not NaN"},
		{br(BregmanParams{Weak: Unit, Kappa: 1}, none), "kappa must be at least 1e-12 and below 1, not 1"},
		{br(BregmanParams{Weak: Unit, Kappa: math.NaN()}, none), "kappa must be at least 1e-12 and below 1, not NaN"},
		{br(BregmanParams{Weak: Unit, Tau: 2}, none), "tau must be between 1e-6 and 1, not 2"},
		{sm(SmoothParams{}, other), `boosting/smooth learns halfspaces, not class "points"`},
		{sm(SmoothParams{}, unpromised), "boosting/smooth requires a margin and the problem guarantees none: set tau"},
		{sm(SmoothParams{Tau: math.NaN()}, none), "tau must be between 1e-6 and 1, not NaN"},
		{sm(SmoothParams{Kappa: -1}, none), "kappa must be at least 1e-12 and below 1, not -1"},
		{dr(usual, other), `boosting/drv learns halfspaces, not class "points"`},
		{dr(usual, unpromised), "boosting/drv derives edge from the margin, and the problem guarantees none: set edge " +
			"or tau"},
		{dr(with(func(p *DRVParams) { p.Edge = 0.5 }), none), "edge must be strictly between 0 and 1/2, not 0.5"},
		{dr(with(func(p *DRVParams) { p.Edge = 1e-200 }), none), "rounds must be between 1 and 1000000, not 1000000000"},
		{dr(with(func(p *DRVParams) { p.Edge, p.Rounds = 0.4, 1000 }), none),
			"1000 rounds at edge 0.4 make weights exceed the range of numbers: lower rounds to 546"},
		{dr(with(func(p *DRVParams) { p.Share = 0 }), none), "share must be strictly between 0 and 1, not 0"},
		{dr(with(func(p *DRVParams) { p.Share = 1 }), none), "share must be strictly between 0 and 1, not 1"},
		{dr(with(func(p *DRVParams) { p.Kappa = 1 }), none), "kappa must be at least 1e-12 and below 1, not 1"},
		{dr(with(func(p *DRVParams) { p.Rounds, p.Edge = 70_000, 1e-3 }), func(p *algo.Problem) { p.Dim = 1000 }),
			"a vote of 70000 rounds in 1000 dimensions stores 7e+07 numbers, and 67108864 are allowed: lower rounds to 67108"},
		{dr(with(func(p *DRVParams) { p.Tau = -1 }), none), "tau must be between 1e-6 and 1, not -1"},
		{dr(with(func(p *DRVParams) { p.Sigma = 1 }), none),
			"boosting/drv derives sigma from epsilon, delta and n: omit sigma"},
	} {
		if !algo.IsInvalid(c.err) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want %q", c.err, c.want)
		}
	}
}

// boundsOf returns the bounds of an algorithm with parameters p on a modified problem.
func boundsOf[P any](t *testing.T, a algo.Algorithm[P], p P, change func(*algo.Problem)) []algo.Bound {
	t.Helper()
	s := unbudgeted(p)
	change(&s.Problem)
	list, err := finitetest.Bound(a, &s)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestBoundsOfNoiseFreeBoosting checks that the proved n is the least with kappa + 2/(theta
// sqrt(n)) + sqrt(ln(1/beta)/(2n)) <= alpha.
func TestBoundsOfNoiseFreeBoosting(t *testing.T) {
	least := func(kappa, corrupted, theta, beta float64) float64 {
		root := (2/theta + math.Sqrt(math.Log(1/beta)/2)) / (0.1 - kappa - corrupted)
		return math.Ceil(root * root)
	}
	noisy := func(p *algo.Problem) { p.Noise, p.NoiseRate = "adversarial", 0.05*0.1/4 }
	random := func(p *algo.Problem) { p.Noise, p.NoiseRate = "random", 0.05*0.1/8 }
	clean := func(*algo.Problem) {}
	of := func(p BregmanParams, change func(*algo.Problem)) []algo.Bound {
		return boundsOf(t, bregman(), p, change)
	}
	smoothOf := func(p SmoothParams, change func(*algo.Problem)) []algo.Bound {
		return boundsOf(t, smooth(), p, change)
	}
	for _, c := range []struct {
		name  string
		got   []algo.Bound
		theta float64
		want  float64
		fails string
	}{
		{"unit", of(BregmanParams{Weak: Unit}, clean), 0.05, least(0.05, 0, 0.05, 0.1), ""},
		{"raw", of(BregmanParams{Weak: Raw}, clean), 0.025, least(0.05, 0, 0.025, 0.1), ""},
		{"unit, noisy", of(BregmanParams{Weak: Unit}, noisy), 0.025, least(0.05, 0.00125, 0.025, 0.1), ""},
		// At such an n, Chernoff's share of beta is negligible.
		{"raw, random noise", of(BregmanParams{Weak: Raw}, random), 0.0125, least(0.05, 0.00125, 0.0125, 0.1), ""},
		{"kappa", of(BregmanParams{Weak: Unit, Kappa: 0.02}, clean), 0.05, least(0.02, 0, 0.05, 0.1), ""},
		{"too much noise", of(BregmanParams{Weak: Unit}, func(p *algo.Problem) { p.Noise, p.NoiseRate = "random", 0.01 }),
			0, 0, "random label noise at rate 0.01 exceeds 0.000625, the largest rate that the proof allows at kappa = 0.05"},
		{"too few rounds", of(BregmanParams{Weak: Unit, Rounds: 50}, clean), 0, 0,
			"no positive margin is proved for the sample after these rounds: change rounds and lambda"},
		{"kappa as large as alpha", of(BregmanParams{Weak: Unit, Kappa: 0.1}, clean), 0, 0,
			"a kappa share of the sample may be wrong, and kappa = 0.1 is not below the error 0.1"},
		{"lambda too large", of(BregmanParams{Weak: Raw, Lambda: 8}, clean), 0, 0,
			"no positive margin is proved for the sample after these rounds: change rounds and lambda"},
		{"no margin", of(BregmanParams{Weak: Unit, Tau: 0.1}, func(p *algo.Problem) { p.Margin = 0 }), 0, 0,
			"the problem guarantees a margin of 0, and the proof requires 1e-06"},
		{"smooth", smoothOf(SmoothParams{}, clean), 0.05 / 2.05, least(0.05, 0, 0.05/2.05, 0.1), ""},
		{"smooth, noisy", smoothOf(SmoothParams{}, noisy), 0.025 / 2.025, least(0.05, 0.00125, 0.025/2.025, 0.1), ""},
		{"smooth, small tau", smoothOf(SmoothParams{Tau: 0.05}, clean), 0.025 / 2.025, least(0.05, 0, 0.025/2.025, 0.1), ""},
		{"smooth, tau beyond the margin", smoothOf(SmoothParams{Tau: 0.2}, clean), 0, 0,
			"the proof is for a margin of tau = 0.2, and the problem guarantees 0.1"},
		{"smooth, no margin", smoothOf(SmoothParams{Tau: 0.2}, func(p *algo.Problem) { p.Margin = 0 }), 0, 0,
			"the proof is for a margin of tau = 0.2, and the problem guarantees 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.got) != 1 || !c.got[0].Proved || c.got[0].Fails != c.fails ||
				!slices.Equal(c.got[0].Premises, []algo.Premise{algo.TargetInClass}) {
				t.Fatalf("bounds %+v, want one proved that fails by %q", c.got, c.fails)
			}
			if c.fails != "" {
				if !math.IsInf(c.got[0].Value, 1) {
					t.Errorf("n = %v", c.got[0].Value)
				}
				return
			}
			// Rounds are rounded up, which only helps the margin.
			if theta := c.got[0].With["margin"]; theta < c.theta*(1-1e-12) || theta > c.theta*1.001 {
				t.Errorf("margin %v, want %v", theta, c.theta)
			}
			near(t, "n", c.got[0].Value/c.want, 1, 2e-3)
		})
	}
}
