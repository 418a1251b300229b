package halfspace

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// named returns the names of bounds in order, proved ones in brackets, and the bounds by name.
func named(t *testing.T, list []algo.Bound, err error) (string, map[string]algo.Bound) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	all := map[string]algo.Bound{}
	for _, b := range list {
		if !(b.Value >= 1) || math.IsInf(b.Value, 1) || b.Source == "" {
			t.Errorf("bound %+v", b)
		}
		all[b.Name] = b
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
		want   string
		n      map[string]float64
	}{
		{"grid", func(*setting) {}, "nuz-pure [grid]", map[string]float64{"nuz-pure": 1089, "grid": 201}},
		{"random noise", noise("random", 0.1, 1), "[grid]", map[string]float64{"grid": 275}},
		{"random noise, large epsilon", noise("random", 0.1, 4), "[grid]", map[string]float64{"grid": 198}},
		{"much random noise", noise("random", 0.45, 1), "[grid]", map[string]float64{"grid": 16060}},
		{"adversarial noise", noise("adversarial", 0.01, 1), "[grid]", map[string]float64{"grid": 268}},
		{"adversarial noise, large epsilon", noise("adversarial", 0.01, 4), "[grid]", map[string]float64{"grid": 158}},
		{"too much adversarial noise", noise("adversarial", 0.05, 1), "", nil},
		{"random net", func(s *setting) { s.Params.Net = Random }, "nuz-pure", nil},
		{"projection", func(s *setting) { s.Problem.Dim, s.Params.Project = 10, 2 }, "nuz-pure", nil},
		{"one dimension", func(s *setting) { s.Problem.Dim = 1 }, "nuz-pure [grid]",
			map[string]float64{"grid": oneDimension}},
		{"a larger margin is promised", func(s *setting) { s.Problem.Margin, s.Params.Tau = 0.5, 0.1 }, "nuz-pure [grid]",
			map[string]float64{"grid": 201}},
		{"a smaller margin is promised", func(s *setting) { s.Problem.Margin, s.Params.Tau = 0.09, 0.1 }, "", nil},
		{"not realizable", func(s *setting) { s.Problem.Realizable = false }, "", nil},
		{"no budget", func(s *setting) { s.Epsilon = 0 }, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := exponentialSetting(2, ExponentialParams{Net: Auto})
			c.change(&s)
			list, err := exponentialBounds(&s)
			names, all := named(t, list, err)
			if names != c.want {
				t.Errorf("bounds %q, want %q", names, c.want)
			}
			for name, n := range c.n {
				if all[name].Value != n {
					t.Errorf("%s: %v, want %v", name, all[name].Value, n)
				}
			}
		})
	}
}

// No law that is allowed has a smaller rate than rate says, and best is where it is largest.
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
		// One law: the margin of w is below g with probability d, and below -g with probability q of
		// that.
		d, q := rapid.Float64Range(c.alpha, 1).Draw(t, "d"), rapid.Float64Range(0, 1).Draw(t, "q")
		moment := 1 + d*((1-c.random)*math.Expm1(-s)+c.random*q*math.Expm1(s))
		if lawRate := -math.Log(moment) - 2*s*c.adversary; rate > 0 && lawRate < rate-1e-9 {
			t.Fatalf("%+v, s %v: a law has rate %v, below %v", c, s, lawRate, rate)
		}
	})
}

// The proved size is enough on a law, and a twentieth of it is not.
func TestGridBoundSuffices(t *testing.T) {
	s := exponentialSetting(2, ExponentialParams{Net: Auto})
	list, err := exponentialBounds(&s)
	_, all := named(t, list, err)
	n := int(all["grid"].Value)
	if got := countUpTo(trialErrors(t, 60, n, 2, false, exponentialLearner(s)), s.Alpha); got < 54 {
		t.Errorf("n = %d: %d of 60 trials succeed", n, got)
	}
	if got := countUpTo(trialErrors(t, 60, n/20, 2, false, exponentialLearner(s)), s.Alpha); got >= 54 {
		t.Errorf("n = %d: %d of 60 trials succeed", n/20, got)
	}
}

func TestGradientBounds(t *testing.T) {
	type setting = algo.Setting[GradientParams]
	for _, c := range []struct {
		name   string
		change func(s *setting)
		want   string
	}{
		{"defaults", func(*setting) {}, "[hinge]"}, // 1/(2 eta T) + eta/(2 gamma^2) is above alpha
		{"provable parameters", func(s *setting) { s.Params.Steps, s.Params.Rate = 100_000, 2e-4 },
			"[hinge] [own-parameters]"},
		{"smaller gamma", func(s *setting) { s.Params.Gamma, s.Params.Steps, s.Params.Rate = 0.09, 100_000, 2e-4 },
			"[hinge] [own-parameters]"},
		{"larger gamma", func(s *setting) { s.Params.Gamma, s.Params.Steps, s.Params.Rate = 0.2, 100_000, 2e-4 }, "[hinge]"},
		{"little random noise", func(s *setting) { s.Problem.Noise, s.Problem.NoiseRate = "random", 0.001 }, "[hinge]"},
		{"little adversarial noise", func(s *setting) { s.Problem.Noise, s.Problem.NoiseRate = "adversarial", 0.001 },
			"[hinge]"},
		{"too much noise", func(s *setting) { s.Problem.Noise, s.Problem.NoiseRate = "adversarial", 0.01 }, ""},
		{"projection", func(s *setting) { s.Params.Project = 4 }, ""},
		{"not realizable", func(s *setting) { s.Problem.Realizable = false }, ""},
		{"margin only guessed", func(s *setting) { s.Problem.Margin, s.Params.Gamma = 0, 0.1 }, ""},
		{"too many steps", func(s *setting) { s.Problem.Margin, s.Alpha = 0.001, 0.01 }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := gradientSetting(10, GradientParams{Steps: 400, Rate: 0.01})
			c.change(&s)
			list, err := gradientBounds(&s)
			names, all := named(t, list, err)
			if names != c.want {
				t.Errorf("bounds %q, want %q", names, c.want)
			}
			if own, ok := all["own-parameters"]; ok && own.Value < all["hinge"].Value*0.999 {
				t.Errorf("own parameters %v are better than the best, %v", own.Value, all["hinge"].Value)
			}
		})
	}
}

// The bound is the least n that is proved, its privacy is the budget, and the run that it names
// claims the same.
func TestGradientBoundIsLeast(t *testing.T) {
	s := gradientSetting(10, GradientParams{Steps: 400, Rate: 0.01})
	list, err := gradientBounds(&s)
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
	list, err = gradientBounds(&s)
	if _, own := named(t, list, err); own["own-parameters"].Value != b.Value {
		t.Errorf("own parameters: %v, want %v", own["own-parameters"].Value, b.Value)
	}
}

// The parts of the bound, written out: they are alpha at the least n, and more at fewer examples.
func TestGradientBoundInParts(t *testing.T) {
	for _, c := range []struct {
		noise        string
		rate, events float64
	}{{"none", 0, 3}, {"random", 0.001, 4}, {"adversarial", 0.001, 3}} {
		s := gradientSetting(10, GradientParams{Steps: 400, Rate: 0.01})
		s.Problem.Noise, s.Problem.NoiseRate = c.noise, c.rate
		list, err := gradientBounds(&s)
		_, all := named(t, list, err)
		b := all["hinge"]
		l, n, steps, rate, sigma := math.Log(c.events/0.1), b.Value, b.With["steps"], b.With["rate"], b.With["sigma"]
		noise := sigma * sigma * (10*steps + 2*math.Sqrt(10*steps*l) + 2*l)
		excess := (1/(2*rate) + rate/2*(100*(steps+1)+noise) + sigma*(2+10*rate)*math.Sqrt(2*steps*l)) / (steps + 1)
		deviation := math.Sqrt(l / (2 * n))
		flipped := c.rate
		if c.noise == "random" {
			flipped += deviation
		}
		if total := excess + 20/math.Sqrt(n) + deviation + flipped*12; total > 0.1+1e-12 || total < 0.09999 {
			t.Errorf("%s: the error is bounded by %v", c.noise, total)
		}
	}
}

// excess bounds the loss that the descent ends with, for all of some runs (it fails in fewer than
// one of fifteen).
func TestExcessHolds(t *testing.T) {
	const n, d, margin = 300, 4, 0.3
	g := goal{alpha: 0.1, beta: 0.1, margin: margin, noise: "none", dim: d, mu: 3}
	p := plan{gamma: margin, steps: 300, rate: 0.01}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		run := newDescent(tableOf(t, newLaw(r, d, margin, true).draw(n)), margin, p.rate, p.sigma(n, g))
		for range int(p.steps) {
			run.step(r.NormFloat64)
		}
		loss := hingeAt(run.examples, run.mean(int(p.steps)), margin)
		if bound := p.excess(n, g); loss > bound || loss < bound/50 {
			t.Errorf("seed %d: hinge loss %v, bounded by %v", seed, loss, bound)
		}
	}
}
