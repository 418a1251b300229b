package expmech

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept/concepttest"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

func setting(p algo.Problem, eps float64) algo.Setting[struct{}] {
	if p.Noise == "" {
		p.Noise = "none"
	}
	p.Dim = max(1, p.Dim)
	return algo.Setting[struct{}]{Task: algo.Learn, Problem: p, Alpha: 0.1, Beta: 0.05, Epsilon: eps}
}

func bound(t testing.TB, a algo.Algorithm[struct{}], s algo.Setting[struct{}], name string) algo.Bound {
	t.Helper()
	list, err := a.Bound(&s)
	return finitetest.BoundNamed(t, list, err, name)
}

// thresholdsOf returns a problem on thresholds with h hypotheses.
func thresholdsOf(h uint64) algo.Problem {
	if h == 2 {
		return algo.Problem{Class: "thresholds", Domain: 2, NoConstant: true, Realizable: true}
	}
	return algo.Problem{Class: "thresholds", Domain: h - 1, Realizable: true}
}

func TestSampleSizeVectors(t *testing.T) {
	var v struct {
		TolRel float64 `json:"tol_rel"`
		Cases  []struct {
			H                uint64
			Eps, Alpha, Beta float64
			Theorem1         float64 `json:"n_theorem1"`
			Agnostic         float64 `json:"n_sharp_agnostic"`
			Realizable       float64 `json:"n_sharp_realizable"`
			RateAgnostic     float64 `json:"rate_agnostic"`
			RateRealizable   float64 `json:"rate_realizable"`
		}
	}
	finitetest.ReadJSON(t, "testdata/samplesize.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Cases {
		s := setting(thresholdsOf(c.H), c.Eps)
		s.Alpha, s.Beta = c.Alpha, c.Beta
		for _, w := range []struct {
			name   string
			n      float64
			rate   float64
			proved bool
		}{
			{"theorem-1", c.Theorem1, 0, false},
			{"sharp-agnostic", c.Agnostic, c.RateAgnostic, true},
			{"sharp-realizable", c.Realizable, c.RateRealizable, true},
		} {
			b := bound(t, EM(), s, w.name)
			if b.Value != w.n || b.Proved != w.proved || b.Source == "" || math.Abs(b.With["rate"]-w.rate) > v.TolRel*w.rate {
				t.Errorf("%+v: %+v, want %+v", c, b, w)
			}
		}
	}
}

// The sharper bound never requires more examples, and has the known value at one setting.
func TestThetaBounds(t *testing.T) {
	if got := bound(t, EM(), setting(thresholdsOf(17), 1), "sharp-agnostic-theta").Value; got != 1048 {
		t.Errorf("sharp-agnostic-theta: %v, want 1048", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := thresholdsOf(rapid.Uint64Range(3, 1<<40).Draw(t, "size"))
		p.Noise = rapid.SampledFrom([]string{"none", "random", "adversarial"}).Draw(t, "noise")
		if p.Noise != "none" {
			p.NoiseRate = rapid.Float64Range(0, 0.3).Draw(t, "rate")
		}
		s := setting(p, rapid.SampledFrom([]float64{0.01, 0.1, 1, 5, 100, 2000}).Draw(t, "eps"))
		s.Alpha = rapid.Float64Range(0.01, 0.5).Draw(t, "alpha")
		for _, a := range []algo.Algorithm[struct{}]{EM(), PF()} {
			list, err := a.Bound(&s)
			if err != nil {
				t.Fatal(err)
			}
			n := map[string]float64{}
			for _, b := range list {
				n[b.Name] = b.Value
				if !(b.Value >= 1) {
					t.Fatalf("%+v", b)
				}
			}
			for _, kind := range []string{"sharp-agnostic", "sharp-realizable"} {
				if n[kind+"-theta"] > n[kind] {
					t.Fatalf("%s: %s-theta %v, without it %v", a.Name, kind, n[kind+"-theta"], n[kind])
				}
			}
			if n["sharp-realizable"] > n["sharp-agnostic"]*1.001+1 {
				t.Fatalf("realizable %v, agnostic %v", n["sharp-realizable"], n["sharp-agnostic"])
			}
		}
	})
}

// The pairwise bounds on the mechanisms' choice hold for the exact distributions.
func TestPairwiseBounds(t *testing.T) {
	rules := []struct {
		c            selection
		distribution func([]concepttest.Level, float64) []float64
	}{{exponential, concepttest.ExponentialDistribution}, {permuteAndFlip, concepttest.PermuteAndFlipDistribution}}
	rapid.Check(t, func(t *rapid.T) {
		var levels []concepttest.Level
		for _, e := range rapid.SliceOfN(rapid.IntRange(0, 8), 2, 8).Draw(t, "errs") {
			levels = append(levels, concepttest.Level{Err: e, Count: 1})
		}
		eps := rapid.Float64Range(0, 6).Draw(t, "eps")
		theta := rapid.Float64Range(0, 1).Draw(t, "theta")
		for k, rule := range rules {
			distribution := rule.distribution(levels, eps)
			for i, h := range levels {
				for j, g := range levels {
					y := eps / 2 * float64(h.Err-g.Err)
					most := math.Exp(-theta*y) * math.Exp(min(0, rule.c(theta)))
					if i != j && distribution[i] > most*(1+1e-9) {
						t.Fatalf("mechanism %d, errors %v: P(%d) = %v against %d, at most %v",
							k, levels, i, distribution[i], j, most)
					}
				}
			}
		}
		if c := exponential(theta); c > 0 {
			t.Fatalf("C(%v) = %v", theta, c)
		}
		if c := permuteAndFlip(theta); c > 1e-15 || c < -math.Ln2-1e-15 {
			t.Fatalf("C(%v) = %v", theta, c)
		}
	})
}

// The bounds that apply, by the properties of a cell.
func TestPremises(t *testing.T) {
	const (
		agnostic = "sharp-agnostic sharp-agnostic-theta"
		all      = "sharp-agnostic sharp-realizable sharp-agnostic-theta sharp-realizable-theta"
	)
	for _, c := range []struct {
		noise            string
		rate             float64
		realizable       bool
		least, reference float64
		want             string
	}{
		{"none", 0, true, 0, 0, "theorem-1 " + all},
		{"random", 0.1, true, 0, 0, "theorem-1 " + all},
		{"adversarial", 0, true, 0, 0, "theorem-1 " + all},
		{"adversarial", 0.02, true, 0, 0, all},
		{"none", 0, false, 0.2, 0.2, "theorem-1 " + agnostic},
		{"random", 0.1, false, 0.2, 0.2, "theorem-1 " + agnostic},
		{"adversarial", 0.02, false, 0.2, 0.2, agnostic},
		{"none", 0, false, 0.2, 0.1, ""},
	} {
		p := thresholdsOf(17)
		p.Noise, p.NoiseRate, p.Realizable = c.noise, c.rate, c.realizable
		for _, a := range []algo.Algorithm[struct{}]{EM(), PF()} {
			s := setting(p, 1)
			list, err := a.Bound(&s)
			if err != nil || len(list) != 5 {
				t.Fatalf("%+v: %+v, %v", c, list, err)
			}
			if got := finitetest.Names(finitetest.Holding(list, p, c.least, c.reference)); got != c.want {
				t.Errorf("%s, %+v: %q, want %q", a.Name, c, got, c.want)
			}
		}
	}
}

func TestDegenerateBounds(t *testing.T) {
	one := setting(algo.Problem{Class: "points", Domain: 1, Realizable: true}, 1)
	two := setting(thresholdsOf(2), 1)
	two.Beta = 0.999
	none := setting(thresholdsOf(17), 0)
	for _, name := range []string{"sharp-agnostic", "sharp-agnostic-theta", "sharp-realizable", "sharp-realizable-theta"} {
		if got := bound(t, EM(), one, name).Value; got != 1 {
			t.Errorf("%s with one hypothesis: %v", name, got)
		}
		if got := bound(t, EM(), two, name).Value; got != 1 {
			t.Errorf("%s with beta near |H|-1: %v", name, got)
		}
		if got := bound(t, EM(), none, name).Value; !math.IsInf(got, 1) {
			t.Errorf("%s at epsilon 0: %v", name, got)
		}
	}
	if got := bound(t, EM(), none, "theorem-1").Value; !math.IsInf(got, 1) {
		t.Errorf("theorem-1 at epsilon 0: %v", got)
	}
}

// The proved sample sizes suffice on the needle distribution, and the realizable ones are not far
// from its needs.
func TestBoundsOnNeedle(t *testing.T) {
	for _, domain := range []uint64{1 << 8, 1 << 32} {
		for _, eps := range []float64{0.1, 1, 2, 6} {
			s := setting(algo.Problem{Class: "thresholds", Domain: domain, NoConstant: true, Realizable: true}, eps)
			distribution := finitetest.Needle{
				Mass: s.Alpha + 1e-9, Left: float64(domain / 2), Right: float64(domain - 1 - domain/2),
			}
			need, err := distribution.SampleSize(eps, s.Beta)
			if err != nil {
				t.Fatal(err)
			}
			list, err := EM().Bound(&s)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range list {
				if b.Value < float64(need) {
					t.Errorf("X %d, eps %v: %s says %v, needed are %d", domain, eps, b.Name, b.Value, need)
				}
				if strings.HasPrefix(b.Name, "sharp-realizable") && b.Value > 2*float64(need) {
					t.Errorf("X %d, eps %v: %s says %v, needed are only %d", domain, eps, b.Name, b.Value, need)
				}
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for _, a := range []algo.Algorithm[struct{}]{EM(), PF()} {
		for _, c := range []struct {
			p    algo.Problem
			eps  float64
			want string
		}{
			{algo.Problem{Class: "halfspace", Dim: 3}, 1, "no exact sampler for halfspaces"},
			{algo.Problem{Class: "stump", Domain: 4}, 1, `unknown class "stump"`},
			{algo.Problem{Class: "thresholds", Domain: 1}, 1, "domain 1"},
			{algo.Problem{Class: "rectangles", Domain: 4, Dim: 3}, 1,
				"no exact method: only 2 dimensions have one: use a smaller dimension"},
			{algo.Problem{Class: "parities", Dim: 25}, 1, "no exact method: only up to 24 dimensions"},
			{algo.Problem{Class: "conjunctions", Dim: 15}, 1, "no exact method: only up to 14 dimensions"},
			{algo.Problem{Class: "intervals", Domain: 8}, math.Inf(1), "epsilon +Inf"},
			{algo.Problem{Class: "intervals", Domain: 8}, -1, "epsilon -1"},
			{algo.Problem{Class: "intervals", Domain: 8}, math.NaN(), "epsilon NaN"},
		} {
			s := setting(c.p, c.eps)
			if err := a.Check(&s); !algo.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %+v at %v: %v", a.Name, c.p, c.eps, err)
			}
		}
		s := setting(algo.Problem{Class: "rectangles", Domain: 1 << 20, Dim: 2}, 1)
		s.N = 5000
		if err := a.Check(&s); !algo.IsInvalid(err) || !strings.Contains(err.Error(), "n = 5000") ||
			!strings.Contains(err.Error(), "at most 2048 points") {
			t.Errorf("%s: rectangles around 5000 points: %v", a.Name, err)
		}
		s = setting(algo.Problem{Class: "thresholds", Domain: 1 << 40, NoConstant: true}, 0.5)
		if err := a.Check(&s); err != nil {
			t.Error(err)
		}
		g, err := a.Guarantee(&s)
		if err != nil || !g.Pure || g.Epsilon != 0.5 || g.Delta != 0 || g.Source == "" ||
			(a.Name == "expmech/em") != (g.Rho == 0.5*0.5/8) {
			t.Errorf("%s: %+v, %v", a.Name, g, err)
		}
	}
}
