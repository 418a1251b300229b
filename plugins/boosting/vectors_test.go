package boosting

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// near reports a test error if got differs from want by more than tolerance, relative to want if
// that is above 1.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

// nearAll compares each number of a list with the wanted one like near.
func nearAll(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has length %d, want %d", what, len(got), len(want))
	}
	for i := range got {
		near(t, fmt.Sprintf("%s[%d]", what, i), got[i], want[i], tolerance)
	}
}

// mu returns the weights for the factor that project returned.
func (m *measure) mu(factor float64) []float64 {
	mu := make([]float64, len(m.u))
	for i, u := range m.u {
		mu[i] = min(1, factor*u)
	}
	return mu
}

func TestBoostingVectors(t *testing.T) {
	var file struct {
		X     [][]float64
		Y     []float64
		Noise [][]float64
		Runs  []struct {
			Weak, Loss string
			Lazy       bool
			Sigma      float64
			Lam, Kappa float64
			T          int
			Tau        float64
			Rounds     []struct{ Mu, Z, Loss []float64 }
			Z          []float64
		}
	}
	finitetest.ReadJSON(t, "testdata/boosting.json", &file)
	d := len(file.X[0])
	sample := algo.NewData(slices.Concat(file.X...), d, file.Y)
	covered := 0
	for _, run := range file.Runs {
		covered++
		t.Run(fmt.Sprintf("%s %s sigma %g lazy %v", run.Weak, run.Loss, run.Sigma, run.Lazy), func(t *testing.T) {
			p := Params{
				Rounds: run.T, Lambda: run.Lam, Kappa: run.Kappa, Sigma: run.Sigma, Tau: run.Tau,
				Weak: run.Weak, Loss: run.Loss,
			}
			if run.Weak == "debias" {
				p.Weak, p.Debias = Raw, true
			}
			b := newBooster(p, sample)
			b.eager = !run.Lazy
			for i, want := range run.Rounds {
				noise := slices.Clone(file.Noise[i])
				before := slices.Clone(b.s)
				b.round(func() float64 { g := noise[0]; noise = noise[1:]; return g })
				nearAll(t, fmt.Sprintf("round %d: released", i), b.released, want.Z, 1e-11)
				mass := p.Kappa * float64(len(before))
				check := measure{u: make([]float64, len(before))}
				nearAll(t, fmt.Sprintf("round %d: mu", i), check.mu(check.project(before, mass)), want.Mu, 1e-11)
				if b.eager {
					check.settle(before)
				}
				// The log-weights omit a constant of each loss.
				losses := make([]float64, len(before))
				for j := range losses {
					losses[j] = 0.5 + (before[j]-b.s[j])/run.Lam
				}
				nearAll(t, fmt.Sprintf("round %d: loss", i), losses, want.Loss, 1e-11)
			}
			final := make([]float64, d)
			for j, v := range b.sum {
				final[j] = v / float64(run.T)
			}
			nearAll(t, "final", final, run.Z, 1e-11)
		})
	}
	if covered != 7 {
		t.Errorf("%d runs covered, want 7", covered)
	}
}

func TestTheoryVectors(t *testing.T) {
	var file struct {
		Params []struct {
			Alpha, Beta, Tau float64
			Paper            struct {
				Kappa, Lam float64
				T          int
				Sigma      float64
			}
			TheoremA struct {
				Kappa, Lam float64
				T          int
				Sigma      float64
			} `json:"corrected_n10000_kappa_alpha"`
			Paper30    float64 `json:"n_privacy_paper"`
			Tight      float64 `json:"n_privacy_paper_tight"`
			PrivacyA   float64 `json:"n_privacy_corrected"`
			Noisy      float64 `json:"n_privacy_corrected_noisy"`
			Fat        float64 `json:"n_fat_thm28"`
			Rademacher float64 `json:"n_rademacher_relmargin_tau4"`
		}
	}
	finitetest.ReadJSON(t, "testdata/privacy.json", &file)
	for _, c := range file.Params {
		t.Run(fmt.Sprintf("alpha %g beta %g tau %g", c.Alpha, c.Beta, c.Tau), func(t *testing.T) {
			s := setting(Params{Preset: PaperPreset, Weak: Raw, Loss: Paper})
			s.Alpha, s.Beta, s.Problem.Margin = c.Alpha, c.Beta, c.Tau
			if err := resolve(&s); err != nil {
				t.Fatal(err)
			}
			p := s.Params
			near(t, "paper lambda", p.Lambda, c.Paper.Lam, 1e-11)
			near(t, "paper kappa", p.Kappa, c.Paper.Kappa, 1e-11)
			near(t, "paper sigma", p.Sigma/c.Paper.Sigma, 1, 1e-11)
			if p.Rounds != c.Paper.T {
				t.Errorf("paper rounds = %d, want %d", p.Rounds, c.Paper.T)
			}

			s.Params, s.N = Params{Preset: TheoremA, Weak: Raw, Loss: Linear}, 10000
			if err := resolve(&s); !algo.IsInfeasible(err) {
				t.Errorf("theorem-a at n = 10000: %v, want infeasible", err)
			}
			p = s.Params
			near(t, "theorem-a kappa", p.Kappa, c.TheoremA.Kappa, 1e-11)
			near(t, "theorem-a lambda", p.Lambda, c.TheoremA.Lam, 1e-11)
			near(t, "theorem-a sigma", p.Sigma/c.TheoremA.Sigma, 1, 1e-11)
			if p.Rounds != c.TheoremA.T {
				t.Errorf("theorem-a rounds = %d, want %d", p.Rounds, c.TheoremA.T)
			}

			s.N, s.Params = 0, Params{Preset: Calibrated, Weak: Raw, Loss: Linear}
			clean := boundsByName(t, s)
			near(t, "theorem-30-privacy", clean["theorem-30-privacy"].Value, c.Paper30, 1e-11)
			near(t, "theorem-30-privacy-tight", clean["theorem-30-privacy-tight"].Value, c.Tight, 1e-11)
			near(t, "theorem-30-accuracy", clean["theorem-30-accuracy"].Value, c.Fat, 1e-9)
			near(t, "theorem-30", clean["theorem-30"].Value, max(c.Paper30, c.Fat), 1e-9)
			near(t, "theorem-a-privacy", clean["theorem-a-privacy"].Value, c.PrivacyA, 1e-11)
			near(t, "generalization", clean["generalization"].Value, c.Rademacher, 1e-11)

			s.Params = Params{Preset: Calibrated, Weak: Raw, Loss: Linear}
			s.Problem.Noise, s.Problem.NoiseRate = "random", 1e-6
			near(t, "noisy theorem-a-privacy", boundsByName(t, s)["theorem-a-privacy"].Value, c.Noisy, 1e-11)
		})
	}
}

// setting returns (1, 1e-6)-private learning of halfspaces with margin 0.1 in 10 dimensions, with
// alpha = beta = 0.1.
func setting(p Params) algo.Setting[Params] {
	return algo.Setting[Params]{
		Params:  p,
		Task:    algo.Learn,
		Problem: algo.Problem{Class: "halfspace", Dim: 10, Margin: 0.1, Noise: "none", Realizable: true},
		Alpha:   0.1, Beta: 0.1, Epsilon: 1, Delta: 1e-6,
	}
}

// boundsByName returns the bounds of boosting/hs-stl, by name.
func boundsByName(t *testing.T, s algo.Setting[Params]) map[string]algo.Bound {
	t.Helper()
	list, err := finitetest.Bound(hsStL(), &s)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]algo.Bound)
	for _, b := range list {
		if _, twice := all[b.Name]; twice {
			t.Errorf("bound %q twice", b.Name)
		}
		all[b.Name] = b
	}
	return all
}
