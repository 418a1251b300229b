package privacy

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

var theorems = []Composition{Basic, Advanced, Optimal, Best}

func TestCompositionReferenceValues(t *testing.T) {
	type share struct {
		Eps, Delta, Eps0, Delta0 float64
		V                        int
	}
	var v struct {
		Adv []struct {
			Eps0, DPrime, Eps float64
			K                 int
		} `json:"adv_comp"`
		Shares  []share `json:"eps0"` // the better of basic and advanced
		Optimal []share `json:"eps0_kov"`
		Delta   []struct {
			Eps0, Eps, Delta float64
			K                int
		} `json:"kov_delta"`
	}
	load(t, "prediction_params.json", &v)
	if len(v.Adv)*len(v.Shares)*len(v.Optimal)*len(v.Delta) == 0 {
		t.Fatal("a list of reference values is empty")
	}
	for _, c := range v.Adv {
		near(t, "AdvancedEpsilon", AdvancedEpsilon(c.K, c.Eps0, c.DPrime), c.Eps, 1e-11)
	}
	for _, c := range v.Shares {
		e, d := Basic.Share(c.V, c.Eps, c.Delta)
		if e2, d2 := Advanced.Share(c.V, c.Eps, c.Delta); e2 > e {
			e, d = e2, d2
		}
		near(t, "share, eps0", e, c.Eps0, 1e-11)
		near(t, "share, delta0", d, c.Delta0, 1e-11)
	}
	for _, c := range v.Optimal {
		e, d := Optimal.Share(c.V, c.Eps, c.Delta)
		near(t, "optimal share, eps0", e, c.Eps0, 1e-9) // the references lose digits of 1 - (1 - 1e-6)
		near(t, "optimal share, delta0", d, c.Delta0, 1e-11)
	}
	e, _ := Optimal.Share(27, 1, 1e-6) // with 50 digits
	near(t, "optimal share of 27", e, 0.04764950027026095808, 1e-14)
	e, _ = Optimal.Share(100, 4, 1e-6)
	near(t, "optimal share of 100", e, 0.083455064766466173413, 1e-14)
	for _, c := range v.Delta {
		if got := OptimalDelta(c.K, c.Eps0, 0, c.Eps); math.Abs(got-c.Delta) > 1e-11*c.Delta+1e-16 {
			t.Errorf("%+v: OptimalDelta %v", c, got)
		}
	}
}

// TestOptimalDeltaByEnumeration compares with v randomized responses that reveal everything with
// probability delta0, the worst case of composition. It sums over all transcripts of true and
// false answers, and over the revealing ones.
func TestOptimalDeltaByEnumeration(t *testing.T) {
	for _, c := range []struct {
		v                int
		eps0, delta0, at float64
	}{{1, 0.7, 0.01, 0.2}, {5, 0.3, 0.001, 0.5}, {8, 1.2, 0, 3}, {8, 0.1, 0.1, 0}, {3, 0, 0.2, 0}} {
		p, hidden, want := 1/(1+math.Exp(-c.eps0)), 1.0, 0.0
		for range c.v {
			hidden *= 1 - c.delta0
		}
		for answers := range 1 << c.v {
			here, there := 1.0, 1.0
			for i := range c.v {
				if answers>>i&1 == 1 {
					here, there = here*p, there*(1-p)
				} else {
					here, there = here*(1-p), there*p
				}
			}
			want += max(0, here-math.Exp(c.at)*there)
		}
		want = 1 - hidden + hidden*want
		if got := OptimalDelta(c.v, c.eps0, c.delta0, c.at); math.Abs(got-want) > 1e-13 {
			t.Errorf("%+v: got %v, want %v", c, got, want)
		}
	}
}

// TestOptimalDeltaOfManyIsTheWholeSum checks that the terms omitted from the sum for large v are
// 0.
func TestOptimalDeltaOfManyIsTheWholeSum(t *testing.T) {
	for _, v := range []int{900, 4001} {
		for _, eps0 := range []float64{0.001, 0.02, 0.5, 3} {
			for _, epsilon := range []float64{0, 0.5, 3} {
				n, sum := float64(v), 0.0
				all, _ := math.Lgamma(n + 1)
				for l := v; l >= 0; l-- {
					loss := float64(eps0*float64(2*l-v)) - epsilon
					if loss <= 0 {
						break
					}
					in, _ := math.Lgamma(float64(l) + 1)
					out, _ := math.Lgamma(n - float64(l) + 1)
					logP := float64(-n*math.Log1p(math.Exp(-eps0))) - float64(eps0*(n-float64(l)))
					sum -= float64(math.Exp(all-in-out+logP) * math.Expm1(-loss))
				}
				if got := OptimalDelta(v, eps0, 0, epsilon); !(math.Abs(got-min(1, sum)) <= 1e-10*sum) {
					t.Errorf("v %d, eps0 %v, epsilon %v: %v, want %v", v, eps0, epsilon, got, sum)
				}
			}
		}
	}
}

// TestSharesCompose checks that a share composes to no more than the shared budget, by its own
// theorem and by the exact one, and that Best is no worse than any other theorem.
func TestSharesCompose(t *testing.T) {
	merit := func(eps0, delta0 float64) float64 { return eps0 / -math.Log(delta0) }
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.IntRange(1, 300).Draw(t, "v")
		epsilon := math.Exp(rapid.Float64Range(-5, 2.5).Draw(t, "ln epsilon"))
		delta := math.Exp(rapid.Float64Range(-40, -1).Draw(t, "ln delta"))
		best, bestDelta := Best.Share(v, epsilon, delta)
		for _, c := range theorems {
			eps0, delta0 := c.Share(v, epsilon, delta)
			if e := c.Epsilon(v, eps0, delta0, delta); !(e <= epsilon*(1+1e-9)) {
				t.Fatalf("%s: (%v, %v) composes to %v", c, eps0, delta0, e)
			}
			if d := OptimalDelta(v, eps0, delta0, epsilon*(1+1e-12)); !(d <= delta*(1+1e-9)) {
				t.Fatalf("%s: (%v, %v) has delta %v", c, eps0, delta0, d)
			}
			if merit(eps0, delta0) > merit(best, bestDelta) {
				t.Fatalf("%s: (%v, %v) is better than best (%v, %v)", c, eps0, delta0, best, bestDelta)
			}
			if e, b := c.Epsilon(v, eps0, delta0, delta), Best.Epsilon(v, eps0, delta0, delta); b > e {
				t.Fatalf("%s: epsilon %v, best %v", c, e, b)
			}
		}
	})
}

func TestDegenerateComposition(t *testing.T) {
	inf := math.Inf(1)
	share := func(c Composition, v int, epsilon, delta float64) float64 {
		eps0, _ := c.Share(v, epsilon, delta)
		return eps0
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"basic, too small a delta", Basic.Epsilon(3, 1, 0.1, 0.1), inf},
		{"advanced, too small a delta", Advanced.Epsilon(3, 1, 0.1, 0.3), inf},
		{"optimal, too small a delta", Optimal.Epsilon(3, 1, 0.1, 0.1), inf},
		{"optimal, delta for everything", Optimal.Epsilon(2, 0.1, 0, 0.9), 0},
		{"optimal, pure", Optimal.Epsilon(4, 0.5, 0, 0), 2},
		{"best, one mechanism", Best.Epsilon(1, 0.5, 1e-6, 1e-6), 0.5},
		{"best share, one mechanism", share(Best, 1, 0.5, 1e-6), 0.5},
		{"best share, pure", share(Best, 4, 1, 0), 0.25},
		{"advanced share, pure", share(Advanced, 4, 1, 0), 0},
		{"optimal share, pure", share(Optimal, 4, 1, 0), 0.25},
		{"share of nothing", share(Best, 4, 0, 1e-6), 0},
		{"no mechanisms", OptimalDelta(0, 1, 0.5, 0), 0},
		{"revealing", OptimalDelta(2, 1, 1, 5), 1},
		{"no budget", OptimalDelta(2, math.NaN(), 0, 1), math.NaN()},
		{"unknown, epsilon", Composition("naive").Epsilon(2, 1, 0, 0), math.NaN()},
		{"unknown, share", share("naive", 2, 1, 0), math.NaN()},
	} {
		if math.Abs(c.got-c.want) > 1e-12 && c.got != c.want || math.IsNaN(c.got) != math.IsNaN(c.want) {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
}
