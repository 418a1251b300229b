package privacy

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// load reads a file of reference values, computed independently in Python, with 50 digits if
// necessary.
func load(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s: got %.17g, want %.17g", what, got, want)
	}
}

func TestReferenceValues(t *testing.T) {
	var v struct {
		ZCDP []struct{ Rho, Delta, Eps, Back float64 }
		Inv  []struct {
			Eps, Delta, Rho float64
			Mu              float64 `json:"mu_gdp"`
		} `json:"inverse"`
		Gaussian []struct{ Mu, Eps, Delta float64 } `json:"gaussian_delta"`
		Sigma    []struct {
			Kappa, N, Eps, Delta, Sigma float64
			T                           int
		} `json:"sigma_for"`
	}
	load(t, "privacy.json", &v)
	const tolerance = 1e-11
	for _, c := range v.ZCDP {
		near(t, "EpsilonFromRho", EpsilonFromRho(c.Rho, c.Delta), c.Eps, tolerance)
		near(t, "RhoFromEpsilon", RhoFromEpsilon(c.Eps, c.Delta), c.Back, tolerance)
	}
	for _, c := range v.Inv {
		near(t, "RhoFromEpsilon", RhoFromEpsilon(c.Eps, c.Delta), c.Rho, tolerance)
		near(t, "GaussianMu", GaussianMu(c.Eps, c.Delta), c.Mu, tolerance)
		near(t, "GaussianEpsilon", GaussianEpsilon(c.Mu, c.Delta), c.Eps, tolerance)
	}
	for _, c := range v.Gaussian {
		near(t, "GaussianDelta", GaussianDelta(c.Mu, c.Eps), c.Delta, tolerance)
	}
	for _, c := range v.Sigma {
		near(t, "GaussianSigma", GaussianSigma(2/(c.Kappa*c.N), c.T, c.Eps, c.Delta), c.Sigma, tolerance)
	}
	if len(v.ZCDP)*len(v.Inv)*len(v.Gaussian)*len(v.Sigma) == 0 {
		t.Fatal("a list of reference values is empty")
	}
}

func TestDegenerateValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"EpsilonFromRho(0, 0)", EpsilonFromRho(0, 0), 0},
		{"EpsilonFromRho(1, 0)", EpsilonFromRho(1, 0), inf},
		{"EpsilonFromRho(1, 1)", EpsilonFromRho(1, 1), 1},
		{"EpsilonFromRho(inf, 0.5)", EpsilonFromRho(inf, 0.5), inf},
		{"EpsilonFromRho(inf, 1)", EpsilonFromRho(inf, 1), inf},
		{"EpsilonFromRho(-1, 0.5)", EpsilonFromRho(-1, 0.5), nan},
		{"RhoFromEpsilon(0, 0.5)", RhoFromEpsilon(0, 0.5), 0},
		{"RhoFromEpsilon(0, 1)", RhoFromEpsilon(0, 1), 0},
		{"RhoFromEpsilon(0, 0)", RhoFromEpsilon(0, 0), 0},
		{"RhoFromEpsilon(1, 0)", RhoFromEpsilon(1, 0), 0},
		{"RhoFromEpsilon(1, 1)", RhoFromEpsilon(1, 1), 1},
		{"RhoFromEpsilon(inf, 0)", RhoFromEpsilon(inf, 0), inf},
		{"RhoFromEpsilon(1, 1.5)", RhoFromEpsilon(1, 1.5), nan},
		{"GaussianDelta(0, 0)", GaussianDelta(0, 0), 0},
		{"GaussianDelta(0, 1)", GaussianDelta(0, 1), 0},
		{"GaussianDelta(1, inf)", GaussianDelta(1, inf), 0},
		{"GaussianDelta(inf, inf)", GaussianDelta(inf, inf), 0},
		{"GaussianDelta(inf, 1)", GaussianDelta(inf, 1), 1},
		{"GaussianDelta(1e3, 1)", GaussianDelta(1e3, 1), 1},
		{"GaussianDelta(1e200, 1e300)", GaussianDelta(1e200, 1e300), 1},
		{"GaussianDelta(1e-200, 1)", GaussianDelta(1e-200, 1), 0},
		{"GaussianDelta(nan, 1)", GaussianDelta(nan, 1), nan},
		{"GaussianMu(1, 0)", GaussianMu(1, 0), 0},
		{"GaussianMu(0, 0)", GaussianMu(0, 0), 0},
		{"GaussianMu(1, 1)", GaussianMu(1, 1), inf},
		{"GaussianMu(inf, 0)", GaussianMu(inf, 0), inf},
		{"GaussianMu(-1, 0.5)", GaussianMu(-1, 0.5), nan},
		{"GaussianEpsilon(0, 0)", GaussianEpsilon(0, 0), 0},
		{"GaussianEpsilon(1, 1)", GaussianEpsilon(1, 1), 0},
		{"GaussianEpsilon(1, 0.9)", GaussianEpsilon(1, 0.9), 0},
		{"GaussianEpsilon(1, 0)", GaussianEpsilon(1, 0), inf},
		{"GaussianEpsilon(inf, 0.5)", GaussianEpsilon(inf, 0.5), inf},
		{"GaussianEpsilon(1, -1)", GaussianEpsilon(1, -1), nan},
		{"GaussianSigma(1, 1, 1, 0)", GaussianSigma(1, 1, 1, 0), inf},
		{"GaussianSigma(1, 1, 1, 1)", GaussianSigma(1, 1, 1, 1), 0},
	} {
		if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
}

// TestGaussianDeltaIsOneFunction checks that the three formulas of GaussianDelta agree where they
// meet, and that each agrees with the textbook form where that is accurate.
func TestGaussianDeltaIsOneFunction(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-3, 2.5).Draw(t, "ln mu"))
		epsilon := rapid.Float64Range(0, 12).Draw(t, "epsilon")
		second := math.Exp(epsilon) * phi(-epsilon/mu-mu/2)
		want := phi(-epsilon/mu+mu/2) - second
		if got := GaussianDelta(mu, epsilon); math.Abs(got-want) > 1e-11*math.Max(1, second) {
			t.Fatalf("mu %v, epsilon %v: got %v, want %v", mu, epsilon, got, want)
		}
	})
}

// TestPureMu checks that the trade-off curve of PureMu passes through the corner of that of pure
// privacy, and is nowhere above it.
func TestPureMu(t *testing.T) {
	for _, epsilon := range []float64{1e-6, 0.1, 0.999999, 1, 3, 20, 300} {
		mu := PureMu(epsilon)
		corner := 1 / (1 + math.Exp(epsilon))
		if got := math.Erfc(mu/(2*math.Sqrt2)) / 2; math.Abs(got-corner) > 1e-11*corner {
			t.Errorf("epsilon %v: mu %v meets at %v, want %v", epsilon, mu, got, corner)
		}
		// In terms of delta: at every other epsilon, the delta of mu is at least that of epsilon.
		for _, at := range []float64{0, epsilon / 2, epsilon * 0.99} {
			pure := (math.Exp(epsilon) - math.Exp(at)) * corner
			if delta := GaussianDelta(mu, at); delta < pure*(1-1e-9) {
				t.Errorf("epsilon %v: delta %v at %v, and pure privacy has %v", epsilon, delta, at, pure)
			}
		}
	}
	if v := PureMu(0); v != 0 {
		t.Errorf("PureMu(0) = %v", v)
	}
	if !math.IsNaN(PureMu(-1)) || !math.IsInf(PureMu(math.Inf(1)), 1) {
		t.Error("outside of its range")
	}
}

func TestConversionsAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Exp(rapid.Float64Range(-7, 5).Draw(t, "ln epsilon"))
		delta := math.Exp(rapid.Float64Range(-600, -0.1).Draw(t, "ln delta"))
		if back := EpsilonFromRho(RhoFromEpsilon(epsilon, delta), delta); math.Abs(back-epsilon) > 1e-12*epsilon {
			t.Fatalf("epsilon %v came back as %v", epsilon, back)
		}
		mu := GaussianMu(epsilon, delta)
		if GaussianDelta(mu, epsilon) > delta {
			t.Fatalf("mu %v is not private enough", mu)
		}
		if GaussianDelta(mu*(1+1e-9), epsilon) <= delta {
			t.Fatalf("mu %v is not the largest", mu)
		}
		if mu < math.Sqrt(2*RhoFromEpsilon(epsilon, delta)) {
			t.Fatalf("exact mu %v is below what Lemma 15 gives", mu)
		}
		e := GaussianEpsilon(mu, delta)
		if GaussianDelta(mu, e) > delta || e > epsilon*(1+1e-9) {
			t.Fatalf("epsilon %v came back as %v", epsilon, e)
		}
	})
}
