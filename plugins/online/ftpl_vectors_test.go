package online

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

type coreVectors struct {
	TolRel   float64 `json:"tol_rel"`
	Theorem1 []struct {
		T            int
		F            float64
		Lstar        float64
		Rho01        float64 `json:"rho01"`
		RhoPM2       float64 `json:"rho_pm1_sq"`
		EtaPaper     float64 `json:"eta_paper"`
		Equation2    float64 `json:"bound_eq2"`
		Display      float64 `json:"display_at_eta_paper"`
		EtaProved    float64 `json:"eta_proved"`
		Bound        float64 `json:"bound_at_eta_proved"`
		BoundAtEta10 float64 `json:"bound_proved_at_eta10"`
	}
	Choice []struct {
		L, P []float64
		Eta  float64
	} `json:"iid_choice"`
	Run struct {
		N          int
		X, Y       []int
		Xi, Losses [][]float64
		Eta        float64
		Pick       []int
		Loss       []float64
		Leader     []int `json:"ftl_pick"`
	}
}

func vectors(t *testing.T) (v coreVectors) {
	t.Helper()
	finitetest.ReadJSON(t, "testdata/ftpl_core.json", &v)
	return v
}

func near(got, want, rel float64) bool { return math.Abs(got-want) <= rel*math.Abs(want) }

func TestTheorem1Vectors(t *testing.T) {
	v := vectors(t)
	for _, c := range v.Theorem1 {
		lnF := math.Log(c.F)
		eta := printedScale(c.Rho01, lnF, c.Lstar, c.T)
		p := unitPrice(c.RhoPM2, lnF, c.T, 1)
		best := p.least(c.Lstar)
		for _, n := range []struct {
			name           string
			got, want, tol float64
		}{
			{"eta_paper", eta, c.EtaPaper, v.TolRel},
			{"(2)", printedRegret(c.Rho01, lnF, c.Lstar, c.T), c.Equation2, v.TolRel},
			{"display", printedDisplay(c.Rho01, lnF, c.Lstar, eta, c.T), c.Display, v.TolRel},
			{"eta_proved", best, c.EtaProved, 1e-5},
			{"bound", p.bound(best, c.Lstar), c.Bound, v.TolRel},
			{"bound at 10", p.bound(10, c.Lstar), c.BoundAtEta10, v.TolRel},
		} {
			if !near(n.got, n.want, n.tol) {
				t.Errorf("T = %d, |F| = %g, L* = %g: %s: %v, want %v", c.T, c.F, c.Lstar, n.name, n.got, n.want)
			}
		}
	}
}

// levelsOf groups losses, given in ascending order, into levels. of holds the index of each loss's
// level.
func levelsOf(losses []float64) (levels []level, of []int) {
	for _, v := range losses {
		if n := len(levels); n == 0 || levels[n-1].behind != v-losses[0] {
			levels = append(levels, level{behind: v - losses[0]})
		}
		levels[len(levels)-1].count++
		of = append(of, len(levels)-1)
	}
	return levels, of
}

func TestChoiceVectors(t *testing.T) {
	v := vectors(t)
	for _, c := range v.Choice {
		levels, of := levelsOf(c.L)
		p := make([]float64, len(levels))
		shares(levels, c.Eta, p)
		for i, k := range of {
			if !near(p[k], c.P[i], v.TolRel) {
				t.Errorf("eta %g, losses %v: hypothesis %d: %v, want %v", c.Eta, c.L, i, p[k], c.P[i])
			}
		}
	}
}

// A game with the noise of the reference vectors instead of random noise plays as the vectors
// specify.
func TestPerturbedRunVectors(t *testing.T) {
	v := vectors(t).Run
	for name, c := range map[string]struct {
		eta  float64
		pick []int
	}{"perturbed": {v.Eta, v.Pick}, "leader": {0, v.Leader}} {
		round := 0
		s := setting(ftplGaussian(nil), algo.Problem{Class: "parities", Dim: v.N}, len(v.X))
		s.Params.Separator, s.Params.Schedule, s.Params.Eta = "cube", fixedSchedule, c.eta
		p, err := planGaussian(new(sites), &s)
		if err != nil {
			t.Fatal(err)
		}
		p.noise.distribution = nil
		p.noise.fill = func(c []float64, _ *rand.Rand) {
			copy(c, v.Xi[round])
			for j := range c {
				c[j] /= math.Sqrt(float64(len(c)))
			}
			round++
		}
		l, err := p.start(rand.New(rand.NewPCG(0, 0)), func(string, float64) {})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range v.X {
			if got := l.chooser.(*table).best; got != c.pick[i] {
				t.Fatalf("%s: round %d: %d is played, want %d", name, i, got, c.pick[i])
			}
			point, y := []float64{}, []float64{float64(2*v.Y[i] - 1)}
			for j := range v.N {
				point = append(point, float64(x>>j&1))
			}
			loss := play(t, l, v.N, point, y)
			if name == "perturbed" && loss != v.Loss[i] {
				t.Fatalf("round %d: loss %v, want %v", i, loss, v.Loss[i])
			}
		}
	}
}
