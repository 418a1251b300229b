package calibration

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

func TestNeedleVectors(t *testing.T) {
	var v struct {
		TolAbs float64 `json:"tol_abs"`
		Needle []struct {
			N              int
			A, NL, NR, Eps float64
			EM             float64
		}
		NStar []struct {
			A, NL, NR, Eps, Beta float64
			N                    int
		} `json:"needle_nstar"`
	}
	finitetest.ReadJSON(t, "testdata/needle.json", &v)
	if len(v.Needle) == 0 || len(v.NStar) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Needle {
		if got := (Needle{c.A, c.NL, c.NR}).Success(c.N, c.Eps); math.Abs(got-c.EM) > v.TolAbs {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	for _, c := range v.NStar {
		if got, err := (Needle{c.A, c.NL, c.NR}).SampleSize(c.Eps, c.Beta); err != nil || got != c.N {
			t.Errorf("%+v: got %v, %v", c, got, err)
		}
	}
	// A large one, computed independently, and one that cannot be reached.
	if got, err := (Needle{0.1, 1 << 39, 1<<39 - 1}).SampleSize(0.1, 0.05); err != nil || got != 6262 {
		t.Errorf("2^40 at 0.1: %v, %v", got, err)
	}
	if _, err := (Needle{0.1, 8, 7}).SampleSize(0, 0.05); err == nil {
		t.Error("epsilon 0: no error")
	}
}

// Success is the plain multinomial sum.
func TestNeedleByEnumeration(t *testing.T) {
	for _, law := range []Needle{{0.1, 3, 4}, {0.5, 1, 10}, {0.35, 0, 1e6}} {
		const n, eps = 12, 0.7
		want := 0.0
		for kl := 0; kl <= n; kl++ {
			for kr := 0; kl+kr <= n; kr++ {
				ways := factorial(n) / factorial(kl) / factorial(kr) / factorial(n-kl-kr)
				p := ways * math.Pow(law.Mass, float64(kl+kr)) * math.Pow(1-2*law.Mass, float64(n-kl-kr))
				want += p / (1 + law.Left*math.Exp(-eps/2*float64(kl)) + law.Right*math.Exp(-eps/2*float64(kr)))
			}
		}
		if got := law.Success(n, eps); math.Abs(got-want) > 1e-12 {
			t.Errorf("%+v: got %v, want %v", law, got, want)
		}
	}
}

func factorial(n int) float64 { return math.Gamma(float64(n + 1)) }
