package halfspace

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// named returns the names of the bounds that do not fail, in order, with proved ones in brackets,
// and all bounds by name. It checks the premises.
func named(t *testing.T, list []algo.Bound, err error) (string, map[string]algo.Bound) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	all := map[string]algo.Bound{}
	for _, b := range list {
		premises := []algo.Premise{algo.TargetInClass}
		if b.Name == "nuz-pure" {
			premises = append(premises, algo.CleanLabels)
		}
		if !(b.Value >= 1) || b.Proved && math.IsInf(b.Value, 1) && b.Fails == "" || b.Source == "" ||
			!slices.Equal(b.Premises, premises) {
			t.Errorf("bound %+v", b)
		}
		all[b.Name] = b
		if b.Fails != "" {
			continue
		}
		if b.Proved {
			b.Name = "[" + b.Name + "]"
		}
		names = append(names, b.Name)
	}
	return strings.Join(names, " "), all
}

func TestExponentialBounds(t *testing.T) {
	type setting = algo.Setting[ExponentialParams]
	noise := func(kind string, rate, epsilon float64) func(*setting) {
		return func(s *setting) { s.Problem.Noise, s.Problem.NoiseRate, s.Epsilon = kind, rate, epsilon }
	}
	oneDimension := math.Ceil(math.Log(10) / -math.Log(1-0.1*(1-math.Exp(-0.5))))
	for _, c := range []struct {
		name   string
		change func(s *setting)
		want   string // bounds that hold if their premises do
		n      map[string]float64
		fails  string // reason why the grid's bound fails
	}{
		{"grid", func(*setting) {}, "nuz-pure [grid]", map[string]float64{"nuz-pure": 1089, "grid": 201}, ""},
		{"random noise", noise("random", 0.1, 1), "nuz-pure [grid]", map[string]float64{"grid": 275}, ""},
		{"random noise, large epsilon", noise("random", 0.1, 4), "nuz-pure [grid]", map[string]float64{"grid": 198}, ""},
		{"much random noise", noise("random", 0.45, 1), "nuz-pure [grid]", map[string]float64{"grid": 16060}, ""},
		{"adversarial noise", noise("adversarial", 0.01, 1), "nuz-pure [grid]", map[string]float64{"grid": 268}, ""},
		{"adversarial noise, large epsilon", noise("adversarial", 0.01, 4), "nuz-pure [grid]",
			map[string]float64{"grid": 158}, ""},
		{"too much adversarial noise", noise("adversarial", 0.05, 1), "nuz-pure", nil,
			"no sample size is proved to be sufficient at epsilon 1, adversarial label noise at rate 0.05 and the error 0.1"},
		{"random net", func(s *setting) { s.Params.Net = Random }, "", nil,
			"4096 random points may not cover the sphere to the radius 0.01"},
		{"projection", func(s *setting) { s.Problem.Dim, s.Params.Project = 10, 2 }, "", nil,
			"a projection to 2 dimensions may not preserve the margin"},
		{"one dimension", func(s *setting) { s.Problem.Dim = 1 }, "nuz-pure [grid]",
			map[string]float64{"grid": oneDimension}, ""},
		{"a larger margin is promised", func(s *setting) { s.Problem.Margin, s.Params.Tau = 0.5, 0.1 }, "nuz-pure [grid]",
			map[string]float64{"grid": 201}, ""},
		{"a smaller margin is promised", func(s *setting) { s.Problem.Margin, s.Params.Tau = 0.09, 0.1 }, "", nil,
			"the proof is for a margin of tau = 0.1, and the problem guarantees 0.09"},
		// 1000 points distinguish errors above 0.1 from those up to 0.071: 201 0.1/0.071 = 283.
		{"measured errors", func(s *setting) { s.Test = 1000 }, "nuz-pure [grid]", map[string]float64{"grid": 283}, ""},
		{"no budget", func(s *setting) { s.Epsilon = 0 }, "nuz-pure", nil,
			"no sample size is proved to be sufficient at epsilon 0, none label noise at rate 0 and the error 0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := exponentialSetting(2, ExponentialParams{Net: Auto})
			c.change(&s)
			list, err := finitetest.Bound(exponential(), &s)
			names, all := named(t, list, err)
			if names != c.want || all["grid"].Fails != c.fails {
				t.Errorf("bounds %q, want %q; the grid's fails by %q", names, c.want, all["grid"].Fails)
			}
			for name, n := range c.n {
				if all[name].Value != n {
					t.Errorf("%s: %v, want %v", name, all[name].Value, n)
				}
			}
		})
	}
}

// No allowed distribution has a smaller rate than rate, and best is the maximum.
func TestCharges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := charges{alpha: rapid.Float64Range(0.01, 0.6).Draw(t, "alpha")}
		switch rapid.IntRange(0, 2).Draw(t, "noise") {
		case 1:
			c.random = rapid.Float64Range(0, 0.45).Draw(t, "random")
		case 2:
			c.adversary = rapid.Float64Range(0, 0.45).Draw(t, "adversary")
		}
		s := rapid.Float64Range(1e-3, 3).Draw(t, "s")
		rate := c.rate(s)
		if best := c.best(); best > 0 && !math.IsInf(best, 1) && rate > c.rate(best)*(1+1e-9) {
			t.Fatalf("rate(%v) = %v, best(%v) = %v", s, rate, best, c.rate(best))
		} else if best <= 0 && rate > 1e-12 {
			t.Fatalf("rate(%v) = %v where none should be", s, rate)
		}
		// One distribution: the margin of w is below g with probability d, and in a share q of
		// these cases below -g.
		d, q := rapid.Float64Range(c.alpha, 1).Draw(t, "d"), rapid.Float64Range(0, 1).Draw(t, "q")
		moment := 1 + d*((1-c.random)*math.Expm1(-s)+c.random*q*math.Expm1(s))
		if distributionRate := -math.Log(moment) - 2*s*c.adversary; rate > 0 && distributionRate < rate-1e-9 {
			t.Fatalf("%+v, s %v: a distribution has rate %v, below %v", c, s, distributionRate, rate)
		}
	})
}

func TestGradientBounds(t *testing.T) {
	type setting = algo.Setting[GradientParams]
	plan := func(gamma float64, steps int, rate float64) func(*setting) {
		return func(s *setting) { s.Params.Gamma, s.Params.Steps, s.Params.Rate = gamma, steps, rate }
	}
	const (
		best = "it covers gamma = 0.1, steps = 640000, rate = 0.0001195; this row has gamma = "
		own  = "with gamma = %v, steps = %d, rate = %v the proof yields an error of %v at best, and the goal is %v"
	)
	for _, c := range []struct {
		name       string
		change     func(s *setting)
		hinge, own string // reasons why the bounds fail; of hinge the beginning
	}{
		{"defaults", func(*setting) {}, best + "0.1, steps = 400, rate = 0.01",
			// 1/(2 eta T) + eta/(2 gamma^2) is above alpha
			fmt.Sprintf(own, 0.1, 400, 0.01, 0.6247, 0.1)},
		{"provable parameters", plan(0, 100_000, 2e-4), best + "0.1, steps = 100000, rate = 0.0002", ""},
		{"smaller gamma", plan(0.09, 100_000, 2e-4), best + "0.09, steps = 100000, rate = 0.0002", ""},
		{"larger gamma", plan(0.2, 100_000, 2e-4), best + "0.2, steps = 100000, rate = 0.0002",
			fmt.Sprintf(own, 0.2, 100000, 0.0002, 0.5275, 0.1)},
		{"little random noise", func(s *setting) { s.Problem.Noise, s.Problem.NoiseRate = "random", 0.001 },
			"it covers gamma = 0.1, steps = ", fmt.Sprintf(own, 0.1, 400, 0.01, 0.6367, 0.1)},
		{"little adversarial noise", func(s *setting) { s.Problem.Noise, s.Problem.NoiseRate = "adversarial", 0.001 },
			"it covers gamma = 0.1, steps = ", fmt.Sprintf(own, 0.1, 400, 0.01, 0.6367, 0.1)},
		{"too much noise", func(s *setting) { s.Problem.Noise, s.Problem.NoiseRate = "adversarial", 0.01 },
			"no sample size is proved to be sufficient for the error 0.1 with up to 10000000 steps",
			fmt.Sprintf(own, 0.1, 400, 0.01, 0.7447, 0.1)},
		{"projection", func(s *setting) { s.Params.Project = 4 },
			"the proof is for no projection, and this row has project = 4",
			"the proof is for no projection, and this row has project = 4"},
		{"margin only guessed", func(s *setting) { s.Problem.Margin, s.Params.Gamma = 0, 0.1 }, "",
			"the problem guarantees no margin"},
		{"too many steps", func(s *setting) { s.Problem.Margin, s.Alpha = 0.001, 0.01 },
			"no sample size is proved to be sufficient for the error 0.01 with up to 10000000 steps",
			fmt.Sprintf(own, 0.001, 400, 0.01, 5000, 0.01)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := gradientSetting(10, GradientParams{Steps: 400, Rate: 0.01})
			c.change(&s)
			list, err := finitetest.Bound(noisyGradient(), &s)
			_, all := named(t, list, err)
			hinge, own := all["hinge"], all["own-parameters"]
			if own.Fails != c.own {
				t.Errorf("own parameters fail by %q, want %q", own.Fails, c.own)
			}
			if !strings.HasPrefix(hinge.Fails, c.hinge) {
				t.Errorf("hinge fails by %q, want %q", hinge.Fails, c.hinge)
			}
			if own.Value < hinge.Value*0.999 {
				t.Errorf("own parameters %v are better than the best, %v", own.Value, hinge.Value)
			}
		})
	}
}

// The bound is the least proved n, its privacy is the budget, and the run that it describes has the
// same bound.
func TestGradientBoundIsLeast(t *testing.T) {
	s := gradientSetting(10, GradientParams{Steps: 400, Rate: 0.01})
	list, err := finitetest.Bound(noisyGradient(), &s)
	_, all := named(t, list, err)
	b := all["hinge"]
	g := goal{alpha: 0.1, beta: 0.1, margin: 0.1, noise: "none", dim: 10, mu: privacy.GaussianMu(1, 1e-6)}
	p := plan{gamma: 0.1, steps: b.With["steps"]}
	if !p.proves(b.Value, g) || p.proves(b.Value-1, g) || !p.proves(3*b.Value, g) {
		t.Errorf("n = %v is not the least that is proved", b.Value)
	}
	params := GradientParams{Gamma: 0.1, Steps: int(b.With["steps"])}
	if sigma := params.sigma(b.Value, 1, 1e-6); math.Abs(b.With["sigma"]/sigma-1) > 1e-12 {
		t.Errorf("sigma %v, and the algorithm adds %v", b.With["sigma"], sigma)
	}
	s.Params = GradientParams{Steps: int(b.With["steps"]), Rate: b.With["rate"]}
	list, err = finitetest.Bound(noisyGradient(), &s)
	if names, own := named(t, list, err); own["own-parameters"].Value != b.Value || names != "[own-parameters] [hinge]" {
		t.Errorf("own parameters: %v, want %v; %s hold", own["own-parameters"].Value, b.Value, names)
	}
}
