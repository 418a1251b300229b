package boosting

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/plugins/algo"
)

// TestExponentials compares exponentials with math.Exp.
func TestExponentials(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := []float64{
		0, math.Copysign(0, -1), 1, -1, 709, 709.01, -708, -708.01, 745, -745, 1e-300, -1e-17, math.Ln2 / 128,
		math.MaxFloat64, -math.MaxFloat64,
	}
	for range 20000 {
		s = append(s, (r.Float64()-0.5)*1416, r.NormFloat64())
	}
	u := make([]float64, len(s))
	capped, tail := exponentials(u, s, 0)
	wantCapped, wantTail := 0, 0.0
	for i, x := range s {
		want := math.Exp(x)
		switch {
		case x > 709:
			want = math.Inf(1)
		case x < -708:
			want = 0
		}
		if u[i] != want && !(math.Abs(u[i]-want) <= 4e-16*want) {
			t.Errorf("e^%v = %v, want %v", x, u[i], want)
		}
		if u[i] >= 1 {
			wantCapped++
		} else {
			wantTail += u[i]
		}
	}
	if capped != wantCapped {
		t.Errorf("capped = %d, want %d", capped, wantCapped)
	}
	near(t, "tail", tail, wantTail, 1e-12)
}

// logWeights draws log-weights like those of rounds, and harder ones: ties, groups far apart, and
// numbers so large that adding to them loses precision.
func logWeights(t *rapid.T) []float64 {
	n := rapid.IntRange(2, 600).Draw(t, "n")
	spread := rapid.SampledFrom([]float64{0, 1e-9, 1, 30, 700, 5000}).Draw(t, "spread")
	shift := rapid.SampledFrom([]float64{0, -3, 400, -2000, 1e5, 1e18, -1e100}).Draw(t, "shift")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	grid := rapid.SampledFrom([]float64{0, 1, 50}).Draw(t, "grid")
	s := make([]float64, n)
	for i := range s {
		v := spread * r.NormFloat64()
		if grid > 0 {
			v = math.Round(v/grid) * grid
		}
		s[i] = v + shift
	}
	return s
}

// TestProjectionProperties checks the mass of the projection, compares it with that of sortedScale,
// and checks that projecting again changes nothing.
func TestProjectionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := logWeights(t)
		n := float64(len(s))
		usual := rapid.SampledFrom([]float64{0.1, 0.25, 0.3, 0.5})
		kappa := rapid.OneOf(rapid.Float64Range(1e-4, 0.999), usual).Draw(t, "kappa")
		mass := kappa * n
		m := measure{u: make([]float64, len(s)), logc: rapid.SampledFrom([]float64{0, -3, 50, -400, 3000}).Draw(t, "start")}
		mu := m.mu(m.project(s, mass))

		sum := 0.0
		for i, v := range mu {
			if v < 0 || v > 1 {
				t.Fatalf("mu[%d] = %v", i, v)
			}
			sum += v
		}
		if math.Abs(sum-mass) > 1e-11*n {
			t.Fatalf("mass = %v, want %v", sum, mass)
		}
		top, logtop, _ := sortedScale(slices.Clone(s), mass)
		for i, v := range mu {
			if want := math.Exp(min(0, s[i]-top+logtop)); math.Abs(v-want) > 1e-10 {
				t.Fatalf("mu[%d] = %v, want %v (log-weight %v, logc %v against %v)", i, v, want, s[i], m.logc, logtop-top)
			}
		}
		if again := m.mu(m.project(s, mass)); !closeTo(again, mu, 1e-12) {
			t.Fatalf("projecting again from the solution gives other weights")
		}
	})
}

// TestExtremesOfWhatIsAccepted checks that all accepted parameters give finite numbers, and weights
// of the right mass, which the sensitivity relies on.
func TestExtremesOfWhatIsAccepted(t *testing.T) {
	x := slices.Repeat([]float64{0.6, 0.8, 0, 1, 0, 1, 1, 0}, 10)
	sample := algo.NewData(x, 2, slices.Repeat([]float64{1, -1, -1, 1}, 10))
	for _, lambda := range []float64{1e-9, 1, 1e6} {
		for _, kappa := range []float64{1e-12, 0.3, 1 - 0x1p-53} {
			for _, sigma := range []float64{0, 1, 1e10, 1e13, 1e100} {
				p := Params{Rounds: 30, Lambda: lambda, Kappa: kappa, Sigma: sigma, Weak: Raw, Loss: Linear}
				r, b := rand.New(rand.NewPCG(1, 9)), newBooster(p, sample)
				for range p.Rounds {
					mass := total(b.weights.mu(b.weights.project(b.s, b.mass)))
					near(t, fmt.Sprintf("mass of %+v", p), mass/b.mass, 1, 1e-12)
					b.round(r.NormFloat64)
				}
				for _, v := range append(b.margins(), b.certificate()) {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("%+v: a metric of %v", p, v)
					}
				}
			}
		}
	}
}

// closeTo reports whether a and b differ by at most tolerance in each number.
func closeTo(a, b []float64, tolerance float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > tolerance {
			return false
		}
	}
	return true
}
