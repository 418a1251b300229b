package perturbed

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

type vectors struct {
	TolRel float64 `json:"tol_rel"`
	DP     []struct {
		Eps, Delta, F float64
		RhoSquared    float64 `json:"rho_pm1_sq"`
		EtaSimple     float64 `json:"eta_simple"`
		EtaTight      float64 `json:"eta_tight"`
		W             float64
		DeltaGauss    float64 `json:"delta_gauss_at_lambda"`
		NGauss        float64 `json:"n_gauss"`
		Kappa2        float64
		RSPMM         int      `json:"rspm_m"`
		RSPMB         float64  `json:"rspm_b"`
		NRSPM         *float64 `json:"n_rspm"`
	}
	Counterexample []struct {
		Eps, Delta, Const, Eta float64
		P                      float64 `json:"p_S"`
	}
	IIDChoice []struct {
		L   []float64
		Eta float64
		P   []float64
	} `json:"iid_choice"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	finitetest.ReadJSON(t, "testdata/vectors.json", &v)
	if len(v.DP) == 0 || len(v.Counterexample) == 0 || len(v.IIDChoice) == 0 {
		t.Fatal("no vectors")
	}
	return v
}

// near reports a test error unless got is within the relative tolerance of want.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s: %.17g, want %.17g", what, got, want)
	}
}

func TestCalibrationVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.DP {
		lnF, radius := math.Log(c.F), c.RhoSquared/2
		tight, w := tightShift(lnF, c.Eps, c.Delta), unionTail(lnF, c.Delta)
		near(t, "w", w, c.W, v.TolRel)
		near(t, "eta simple", noise(radius, simpleShift(w, c.Eps)), c.EtaSimple, v.TolRel)
		near(t, "eta tight", noise(radius, tight), c.EtaTight, 1e-5) // the search for the vectors' lambda is accurate to 1e-5
		near(t, "delta at the tight eta", privacy.GaussianDelta(tight, c.Eps)*c.F, c.Delta, v.TolRel)
		near(t, "delta of the vectors", c.DeltaGauss*c.F, c.Delta, v.TolRel)

		g := goal{0.1, math.Log((c.F - 1) / 0.05)}
		if got := g.gaussianSize(noise(radius, tight), c.Kappa2); got != c.NGauss {
			t.Errorf("n gauss: %v, want %v", got, c.NGauss)
		}
		near(t, "b", laplaceScale(c.RSPMM, 1, c.Eps), c.RSPMB, v.TolRel)
		if c.NRSPM != nil && g.laplaceSize(c.RSPMB, c.RSPMM) != *c.NRSPM {
			t.Errorf("n rspm: %v, want %v", g.laplaceSize(c.RSPMB, c.RSPMM), *c.NRSPM)
		}
	}
}

// Over all 2^m patterns, the sum over them is better for few points, and the tail over all of them
// for many.
func TestSignShift(t *testing.T) {
	for _, c := range []struct {
		m     int
		signs bool
	}{{10, false}, {24, false}, {200, true}, {1000, true}} {
		lnF := float64(c.m) * math.Ln2
		if got, tight := signShift(c.m, lnF, 1, 1e-6), tightShift(lnF, 1, 1e-6); (got > tight) != c.signs {
			t.Errorf("%d points: %v, without the tail %v", c.m, got, tight)
		}
	}
}

// The sizes are the least n at which (2) reaches its goal at the best s.
func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := goal{rapid.Float64Range(0.01, 0.5).Draw(t, "edge"), rapid.Float64Range(0.1, 50).Draw(t, "need")}
		eta, kappa2 := rapid.Float64Range(0, 100).Draw(t, "eta"), rapid.Float64Range(0.01, 4).Draw(t, "kappa2")
		exponent := func(n float64) float64 {
			s := n * g.edge / (n + eta*eta*kappa2)
			return n*(s*s/2-g.edge*s) + s*s*eta*eta*kappa2/2
		}
		n := g.gaussianSize(eta, kappa2)
		if exponent(n) > -g.need*(1-1e-9) || n > 2 && exponent(n-1) < -g.need*(1+1e-9) {
			t.Fatalf("n %v: exponents %v and %v, need %v", n, exponent(n), exponent(n-1), g.need)
		}
		b, k := rapid.Float64Range(0.1, 50).Draw(t, "b"), rapid.IntRange(1, 100).Draw(t, "k")
		n = g.laplaceSize(b, k)
		for i := 1; i < 200; i++ {
			s := float64(i) / 200 * min(1/b, 2*g.edge)
			if size := (g.need - float64(k)*math.Log1p(-s*s*b*b)) / (g.edge*s - s*s/2); size < (n-1)*(1-1e-9) {
				t.Fatalf("laplace: n(%v) = %v, below %v", s, size, n)
			}
		}
	})
	for _, n := range []float64{
		goal{0, 1}.gaussianSize(1, 2), goal{-0.1, 1}.laplaceSize(1, 2),
		goal{0.1, 1}.gaussianSize(math.Inf(1), 2), goal{0.1, 1}.laplaceSize(math.Inf(1), 2),
	} {
		if !math.IsInf(n, 1) {
			t.Errorf("n = %v where none is enough", n)
		}
	}
	for _, n := range []float64{goal{0.1, math.Inf(-1)}.gaussianSize(5, 2), goal{0.1, -1}.laplaceSize(5, 2)} {
		if n != 1 {
			t.Errorf("n = %v where nothing is needed", n)
		}
	}
}
