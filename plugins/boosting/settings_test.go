package boosting

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

func TestResolve(t *testing.T) {
	plain := func(preset string) Params { return Params{Preset: preset, Weak: Raw, Loss: Linear} }
	tightSigma := 0.00896581144629225 / 2 *
		math.Sqrt(math.Log(3072*math.Log(40)/(0.05*0.04))/math.Log(3072*math.Log(40)/(0.1*0.04)))
	for _, c := range []struct {
		name  string
		give  Params
		tau   float64 // tau of the problem
		n     int
		noise float64
		want  Params
	}{
		{"calibrated", plain(Calibrated), 0.1, 0, 0,
			Params{Preset: Calibrated, Rounds: 50, Lambda: 8, Kappa: 0.3, Weak: Raw, Loss: Linear, Tau: 0.1}},
		{"calibrated, small margin", plain(Calibrated), 0.05, 0, 0,
			Params{Preset: Calibrated, Rounds: 200, Lambda: 8, Kappa: 0.3, Weak: Raw, Loss: Linear, Tau: 0.05}},
		{"calibrated, no margin", plain(Calibrated), 0, 0, 0,
			Params{Preset: Calibrated, Rounds: 50, Lambda: 8, Kappa: 0.3, Weak: Raw, Loss: Linear}},
		{"calibrated, n fixed",
			Params{Preset: Calibrated, Rounds: 50, Lambda: 4, Kappa: 0.1, Weak: Unit, Loss: Clip}, 0.1, 5000, 0,
			Params{Preset: Calibrated, Rounds: 50, Lambda: 4, Kappa: 0.1, Sigma: 0.1194919636391463,
				Weak: Unit, Loss: Clip, Tau: 0.1}},
		{"paper", Params{Preset: PaperPreset, Weak: Raw, Loss: ByPreset}, 0.1, 0, 0,
			Params{Preset: PaperPreset, Rounds: 377742, Lambda: 0.0125, Kappa: 0.025, Sigma: 0.00438621303744598,
				Weak: Raw, Loss: Paper, C: math.Sqrt(0.5), Tau: 0.1}},
		{"paper-tight, own margin and c",
			Params{Preset: PaperTight, Weak: Raw, Loss: ByPreset, C: math.Sqrt2, Tau: 0.2}, 0.5, 0, 0,
			Params{Preset: PaperTight, Rounds: 94436, Lambda: 0.025, Kappa: 0.025, Sigma: tightSigma,
				Weak: Raw, Loss: Linear, C: math.Sqrt2, Tau: 0.2}},
		{"theorem-a", plain(TheoremA), 0.1, 0, 0,
			Params{Preset: TheoremA, Rounds: 3685, Lambda: 1, Kappa: 0.1, Weak: Raw, Loss: Linear, Tau: 0.1}},
		{"theorem-a, noisy labels", plain(TheoremA), 0.1, 0, 0.001,
			Params{Preset: TheoremA, Rounds: 14737, Lambda: 1, Kappa: 0.1, Weak: Raw, Loss: Linear, Tau: 0.1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := setting(c.give)
			s.Problem.Margin, s.Problem.NoiseRate, s.N = c.tau, c.noise, c.n
			for _, pass := range []string{"once", "twice"} {
				if err := resolve(&s); err != nil {
					t.Fatalf("%s: %v", pass, err)
				}
				if diff := cmp.Diff(c.want, s.Params, cmpopts.EquateApprox(1e-11, 0)); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", pass, diff)
				}
			}
			s.N = 1 << 40 // parameters resolved without n apply to every n
			if c.n == 0 {
				if err := resolve(&s); err != nil {
					t.Errorf("resolve again at another n: %v", err)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *algo.Setting[Params])
		want   string
	}{
		{"class", func(s *algo.Setting[Params]) { s.Problem.Class = "thresholds" },
			`boosting/hs-stl learns halfspaces, not class "thresholds"`},
		{"no delta", func(s *algo.Setting[Params]) { s.Delta = 0 },
			"Gaussian noise, which is never pure: set privacy.delta in (0,1), not 0"},
		{"no epsilon", func(s *algo.Setting[Params]) { s.Epsilon = 0 }, "privacy.epsilon above 0 and at most 1e100, not 0"},
		{"infinite epsilon", func(s *algo.Setting[Params]) { s.Epsilon = math.Inf(1) },
			"privacy.epsilon above 0 and at most 1e100, not +Inf"},
		{"kappa", func(s *algo.Setting[Params]) { s.Params.Kappa = 1 }, "kappa must be at least 1e-12 and below 1, not 1"},
		{"lambda", func(s *algo.Setting[Params]) { s.Params.Lambda = math.NaN() },
			"lambda must be between 1e-9 and 1e6, not NaN"},
		{"tau", func(s *algo.Setting[Params]) { s.Params.Tau = 2 }, "tau must be between 1e-6 and 1, not 2"},
		{"votes", func(s *algo.Setting[Params]) { s.Params.Loss, s.Params.Rounds = Clip, 1<<50 },
			"a vote of 1125899906842624 rounds in 10 dimensions stores 1.126e+16 numbers, and 67108864 are allowed: " +
				"lower rounds to 6710886, or use another loss"},
		{"sigma", func(s *algo.Setting[Params]) { s.Params.Sigma = 0.1 },
			`preset calibrated derives sigma from epsilon, delta and n: omit sigma`},
		{"sigma at n", func(s *algo.Setting[Params]) { s.Params.Sigma, s.N = 0.1, 1000 },
			`preset calibrated fixes sigma at 0.199`},
		{"c", func(s *algo.Setting[Params]) { s.Params.C = 1 },
			`c is not used by preset calibrated: omit it, or use preset paper`},
		{"debias and unit", func(s *algo.Setting[Params]) { s.Params.Debias, s.Params.Weak = true, Unit },
			`debias and weak "unit" both normalize`},
		{"debias without margin", func(s *algo.Setting[Params]) { s.Params.Debias, s.Problem.Margin = true, 0 },
			"debias requires a margin and the problem guarantees none: set tau"},
		{"paper without margin", func(s *algo.Setting[Params]) { s.Params.Preset, s.Problem.Margin = PaperPreset, 0 },
			`preset paper requires a margin and the problem guarantees none: set tau`},
		{"paper with kappa", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.Kappa = PaperPreset, 0.3 },
			`preset paper fixes kappa at 0.025, not 0.3: omit kappa, or use preset calibrated`},
		{"paper with rounds", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.Rounds = PaperTight, 50 },
			`preset paper-tight fixes rounds at 377742, not 50`},
		{"paper with unit", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.Weak = PaperPreset, Unit },
			`preset paper fixes weak at raw, not unit`},
		{"paper with debias", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.Debias = PaperPreset, true },
			`preset paper fixes debias at false, not true`},
		{"paper with loss", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.Loss = PaperPreset, Linear },
			`preset paper fixes loss at paper, not linear: omit loss, or use preset calibrated`},
		{"paper with c", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.C = PaperPreset, -1 },
			"c must be above 0 and at most 1e6, not -1"},
		{"theorem-a with loss", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.Loss = TheoremA, Paper },
			`preset theorem-a fixes loss at linear, not paper`},
		{"theorem-a with lambda", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.Lambda = TheoremA, 8 },
			`preset theorem-a fixes lambda at 1, not 8`},
		{"theorem-a with kappa", func(s *algo.Setting[Params]) { s.Params.Preset, s.Params.Kappa = TheoremA, 0.5 },
			`preset theorem-a needs kappa above 0 and at most 1/e = 0.3679, not 0.5`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := setting(Params{Preset: Calibrated, Weak: Raw, Loss: ByPreset})
			c.change(&s)
			err := resolve(&s)
			if !algo.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestLeastSampleSizes checks the least n of presets with fixed noise, which privacy determines.
func TestLeastSampleSizes(t *testing.T) {
	for preset, least := range map[string]int{PaperPreset: 119944424, PaperTight: 47357810, TheoremA: 731195} {
		t.Run(preset, func(t *testing.T) {
			for n, infeasible := range map[int]bool{1: true, least - 1: true, least: false, 2 * least: false} {
				s := setting(Params{Preset: preset, Weak: Raw, Loss: ByPreset})
				s.N = n
				err := resolve(&s)
				if algo.IsInfeasible(err) != infeasible || (err != nil) != infeasible {
					t.Errorf("n = %d: %v", n, err)
				}
				if infeasible && !strings.Contains(err.Error(), fmt.Sprintf("only for n of at least %d, not at %d: raise n",
					least, n)) {
					t.Errorf("n = %d: %v: the least n is %d", n, err, least)
				}
			}
		})
	}
}

// TestGuaranteeFollowsFromTheNoise checks the guarantee against the noise that learn adds.
func TestGuaranteeFollowsFromTheNoise(t *testing.T) {
	for _, c := range []struct {
		preset string
		n      int
		rho    float64 // rho of a round, times (kappa n sigma)^2
	}{
		{Calibrated, 10, 2}, {Calibrated, 1400, 2}, {PaperPreset, 119944424, 8}, {PaperPreset, 1e9, 8},
		{PaperTight, 47357810, 2}, {TheoremA, 731195, 2}, {TheoremA, 1e7, 2},
	} {
		t.Run(fmt.Sprintf("%s %d", c.preset, c.n), func(t *testing.T) {
			s := setting(Params{Preset: c.preset, Weak: Raw, Loss: ByPreset})
			s.N = c.n
			g, err := finitetest.Guarantee(hsStL(), &s)
			if err != nil {
				t.Fatal(err)
			}
			p := s.Params
			scale := p.Kappa * float64(c.n) * p.Sigma
			rho := c.rho * float64(p.Rounds) / (scale * scale)
			if (g.Rho > 0) != (c.preset == PaperPreset) || (g.Mu > 0) == (g.Rho > 0) {
				t.Errorf("guarantee %+v: proved by rho in preset %s, else by mu", g, PaperPreset)
			}
			near(t, "rho", (g.Rho+g.Mu*g.Mu/2)/rho, 1, 1e-9)
			if g.Pure || g.Delta != s.Delta || g.Epsilon > s.Epsilon {
				t.Errorf("guarantee %+v exceeds the budget", g)
			}
			if delta := privacy.GaussianDelta(math.Sqrt(4*float64(p.Rounds))/scale, g.Epsilon); delta > s.Delta*(1+1e-9) {
				t.Errorf("delta = %g at epsilon %g, want at most %g", delta, g.Epsilon, s.Delta)
			}
		})
	}
	s := setting(Params{Preset: PaperPreset, Weak: Raw, Loss: ByPreset})
	g, err := finitetest.Guarantee(hsStL(), &s)
	if err != nil || g.Epsilon != 1 || g.Delta != 1e-6 {
		t.Errorf("before n is fixed: %+v, %v", g, err)
	}
}

// Bounds about other parameters than the row's, and partial bounds, are listed with the reason why
// they do not apply to the row.
func TestBoundsSayWhatIsProved(t *testing.T) {
	const (
		calibrated = "preset calibrated with rounds = 50, lambda = 8, kappa = 0.3"
		paper      = "it covers preset paper with rounds = 377742, lambda = 0.0125, kappa = 0.025; this row has "
		theoremA   = "it covers preset theorem-a with rounds = 4794, lambda = 1, kappa = 0.05; this row has "
		kappa      = "a kappa share of the sample may be wrong, and kappa = 0.3 is not below the error 0.1"
		unpromised = "the problem guarantees a margin of %v, and the proof requires 1e-06"
	)
	noise := func(kind string, rate float64) func(*algo.Setting[Params]) {
		return func(s *algo.Setting[Params]) { s.Problem.Noise, s.Problem.NoiseRate = kind, rate }
	}
	params := func(p Params) func(*algo.Setting[Params]) {
		return func(s *algo.Setting[Params]) { s.Params = p }
	}
	for _, c := range []struct {
		name                  string
		change                func(s *algo.Setting[Params])
		printed, theorem, own string // failure reasons of theorem-30 and 33, theorem-a, and own-parameters
	}{
		{"calibrated", func(*algo.Setting[Params]) {}, paper + calibrated, theoremA + calibrated, kappa},
		{"provable parameters",
			params(Params{Preset: Calibrated, Rounds: 4000, Lambda: 1, Kappa: 0.02, Weak: Raw, Loss: ByPreset}),
			paper + "preset calibrated with rounds = 4000, lambda = 1, kappa = 0.02",
			theoremA + "preset calibrated with rounds = 4000, lambda = 1, kappa = 0.02", ""},
		{"too few rounds", params(Params{Preset: Calibrated, Kappa: 0.02, Weak: Raw, Loss: ByPreset}),
			paper + "preset calibrated with rounds = 50, lambda = 8, kappa = 0.02",
			theoremA + "preset calibrated with rounds = 50, lambda = 8, kappa = 0.02",
			"no positive margin is proved for the sample after these rounds: change rounds and lambda"},
		{"another weak learner", params(Params{Preset: Calibrated, Weak: Unit, Loss: ByPreset}),
			paper + calibrated, theoremA + calibrated,
			"the proof is for weak raw, loss linear and debias false; this row has weak unit, loss linear and debias false"},
		{"paper", params(Params{Preset: PaperPreset, Weak: Raw, Loss: ByPreset}),
			"", theoremA + "preset paper with rounds = 377742, lambda = 0.0125, kappa = 0.025",
			"the proof is for weak raw, loss linear and debias false; this row has weak raw, loss paper and debias false"},
		{"paper-tight", params(Params{Preset: PaperTight, Weak: Raw, Loss: ByPreset}),
			"", theoremA + "preset paper-tight with rounds = 377742, lambda = 0.0125, kappa = 0.025", ""},
		{"theorem-a", params(Params{Preset: TheoremA, Weak: Raw, Loss: ByPreset}),
			paper + "preset theorem-a with rounds = 3685, lambda = 1, kappa = 0.1",
			theoremA + "preset theorem-a with rounds = 3685, lambda = 1, kappa = 0.1",
			"a kappa share of the sample may be wrong, and kappa = 0.1 is not below the error 0.1"},
		{"theorem-a, the best kappa", params(Params{Preset: TheoremA, Kappa: 0.05, Weak: Raw, Loss: ByPreset}),
			paper + "preset theorem-a with rounds = 4794, lambda = 1, kappa = 0.05", "", ""},
		{"adversarial noise", noise("adversarial", 1e-3),
			"adversarial label noise at rate 0.001 exceeds 0.000625, the largest rate that the proof allows at kappa = 0.025",
			"it covers preset theorem-a with rounds = 19173, lambda = 1, kappa = 0.05; this row has " + calibrated, kappa},
		{"too much noise", noise("random", 0.1),
			"random label noise at rate 0.1 exceeds 0.0003125, the largest rate that the proof allows at kappa = 0.025",
			"random label noise at rate 0.1 exceeds 0.00125, the largest rate that the proof allows at kappa = 0.1",
			"random label noise at rate 0.1 exceeds 0.00375, the largest rate that the proof allows at kappa = 0.3"},
		{"no margin", func(s *algo.Setting[Params]) { s.Problem.Margin = 0 }, "", "", fmt.Sprintf(unpromised, 0)},
		{"next to no margin", func(s *algo.Setting[Params]) { s.Problem.Margin, s.Params.Tau = 1e-200, 0.1 }, "", "",
			fmt.Sprintf(unpromised, 1e-200)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := setting(Params{Preset: Calibrated, Weak: Raw, Loss: ByPreset})
			c.change(&s)
			all := boundsByName(t, s)
			for name, b := range all {
				want := map[string]string{
					"theorem-30": c.printed, "theorem-33": c.printed, "theorem-a": c.theorem, "own-parameters": c.own,
				}
				why, whole := want[name]
				switch {
				case !whole && !strings.HasPrefix(b.Fails, "it covers only "):
					t.Errorf("half %s fails by %q", name, b.Fails)
				case whole && b.Fails != why:
					t.Errorf("%s fails by %q, want %q", name, b.Fails, why)
				}
				if b.Proved != (name == "theorem-a" || name == "own-parameters") || !(b.Value >= 1) ||
					math.IsInf(b.Value, 1) && b.Fails == "" || !slices.Contains(b.Premises, algo.TargetInClass) {
					t.Errorf("bound %+v", b)
				}
			}
			if whole := s.Problem.Margin >= leastMargin; len(all) != 1 && !whole || len(all) != 9 && whole {
				t.Errorf("%d bounds", len(all))
			}
		})
	}
}

// Errors that are measured on points must be proved smaller. The measurement does not change the
// learner: preset theorem-a has the noise of the setting's beta.
func TestBoundsOfMeasuredErrors(t *testing.T) {
	s := setting(Params{Preset: TheoremA, Kappa: 0.08, Weak: Raw, Loss: ByPreset})
	exact := boundsByName(t, s)["own-parameters"]
	s.Test = 100_000
	measured := boundsByName(t, s)["own-parameters"]
	alpha, beta := s.Proof()
	plan := theoremASchedule(0.08, 0.1, 0.1)
	g := goal{alpha: alpha, beta: beta, margin: 0.1}
	if n := measured.Value; !(n > exact.Value) || !plan.proves(n, g) || plan.proves(n-1, g) {
		t.Errorf("n = %v, and %v for exact errors", n, exact.Value)
	}
	if half := boundsByName(t, s)["theorem-a-privacy"]; !slices.Contains(half.Premises, algo.ExactError) {
		t.Errorf("a statement at the alpha of the setting has the premises %v", half.Premises)
	}
}

// TestProvedSampleSize checks that privacy, training and generalization all hold at the proved
// size.
func TestProvedSampleSize(t *testing.T) {
	s := setting(Params{Preset: Calibrated, Weak: Raw, Loss: ByPreset})
	b := boundsByName(t, s)["theorem-a"]
	g := goal{alpha: 0.1, beta: 0.1, margin: 0.1}
	plan := theoremASchedule(b.With["kappa"], 0.1, 0.1)
	if !plan.proves(b.Value, g) || plan.proves(b.Value-1, g) && plan.least(exactAccount(1, 1e-6)) < b.Value {
		t.Errorf("n = %v is not the least that is proved", b.Value)
	}
	spent := exactAccount(1, 1e-6).spent(b.Value, plan.rounds, plan.kappa, plan.sigma(b.Value))
	if spent > privacy.GaussianMu(1, 1e-6) {
		t.Errorf("n = %v spends mu = %v", b.Value, spent)
	}
	// The preset with that kappa has the same bound.
	s.Params = Params{Preset: TheoremA, Kappa: b.With["kappa"], Weak: Raw, Loss: ByPreset}
	if own := boundsByName(t, s)["own-parameters"]; own.Value != b.Value {
		t.Errorf("own parameters: %v, want %v", own.Value, b.Value)
	}
	// Theorem A's own statement is weaker than the statement that proves uses.
	for _, n := range []float64{1e6, 1e8} {
		if theta := plan.trainingMargin(n, 0.1, 0.1); theta < 3.0/32*0.01 {
			t.Errorf("n = %g: margin %v, below the (3/32) tau^2 of Theorem A", n, theta)
		}
	}
}

func TestCenteringSettings(t *testing.T) {
	s := unbudgeted(CenteringParams{})
	s.Epsilon, s.Delta = 1, 1e-6
	if err := resolveCentering(&s); err != nil || s.Params.Sigma != 0 {
		t.Errorf("before n is fixed: sigma %v, %v", s.Params.Sigma, err)
	}
	s.N = 1000
	for range 2 {
		if err := resolveCentering(&s); err != nil {
			t.Fatal(err)
		}
		near(t, "sigma", s.Params.Sigma, 2/(1000*privacy.GaussianMu(1, 1e-6)), 1e-12)
	}
	s.Epsilon, s.Delta, s.Params.Sigma = 1e-300, 1e-300, 0
	if err := resolveCentering(&s); !algo.IsInfeasible(err) {
		t.Errorf("next to no budget: %v", err)
	}
	s.Epsilon, s.Delta, s.Params.Sigma = 1, 1e-6, 1
	if err := resolveCentering(&s); !algo.IsInvalid(err) {
		t.Errorf("another sigma: %v", err)
	}
	s.Problem.Class = "points"
	err := resolveCentering(&s)
	if !algo.IsInvalid(err) || !strings.Contains(err.Error(), "boosting/centering learns halfspaces") {
		t.Errorf("another class: %v", err)
	}
}
