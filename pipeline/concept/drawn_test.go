package concept

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// The points are uniform: with two points, on one of which each pair of neighboring thresholds
// differs, h is the smaller of two binomial counts. Its mean over 2,000 seeds is that of the distribution.
func TestDrawnDistribution(t *testing.T) {
	s := Spec{Name: "thresholds", Domain: 2}
	c := newFinite(t, s)
	m := int(drawnCount(drawnKind, 0.5, c.LogSize()))
	if want := int(math.Ceil(16 * math.Log(9/0.02))); m != want {
		t.Fatalf("%d points, want %d", m, want)
	}
	mean, square := 0.0, 0.0
	for k := range m + 1 {
		least := float64(min(k, m-k))
		p := distuv.Binomial{N: float64(m), P: 0.5}.Prob(float64(k))
		mean, square = mean+p*least, square+p*least*least
	}
	const seeds = 2000
	sum := 0.0
	for seed := range uint64(seeds) {
		_, z := separatorOf(t, s, drawnKind, seed)
		sum += float64(z.Hamming)
	}
	if got, se := sum/seeds, math.Sqrt((square-mean*mean)/seeds); math.Abs(got-mean) > 4*se {
		t.Errorf("mean of h %v, want %v within %v", got, mean, 4*se)
	}
}

// The proved number of points satisfies its bound: in at most one of a hundred draws the points
// keep less than half of rho^2. The printed number is a twelfth to a ninth of it. Lemma 7 claims
// that the printed number keeps a quarter with that probability, which is false for the parities
// of seven bits: 379 of 400 draws do, which has probability below 1e-8 if each does with
// probability 0.99.
func TestDrawnKeepsSeparation(t *testing.T) {
	testkit.Serial(t)
	for _, c := range []struct {
		spec    Spec
		p       float64 // rho^2
		printed float64 // share of 400 printed draws that keep a quarter of rho^2
	}{
		{Spec{Name: "parities", Dim: 4}, 0.5, 0.995},
		{Spec{Name: "parities", Dim: 7}, 0.5, 0.9475},
		{Spec{Name: "thresholds", Domain: 16}, 1. / 16, 0.9325},
		{Spec{Name: "conjunctions", Dim: 3}, 1. / 8, 0.985},
	} {
		const seeds = 400
		made, err := New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		class := made.(Finite)
		share := func(kind string, part float64) float64 {
			kept := 0
			for seed := range uint64(seeds) {
				z, err := NewSeparator(class, c.spec, kind, seed)
				switch {
				case errors.Is(err, errAgree):
				case err != nil:
					t.Fatal(err)
				case float64(z.Hamming) >= part*c.p*float64(z.Len()):
					kept++
				}
			}
			return float64(kept) / seeds
		}
		if got := share(drawnKind, 0.5); got < 1-drawnRisk {
			t.Errorf("%+v: %v of the draws keep half of rho^2", c.spec, got)
		}
		if got := share(drawnPrintedKind, 0.25); got != c.printed {
			t.Errorf("%+v: %v of the printed draws keep a quarter of rho^2, want %v", c.spec, got, c.printed)
		}
	}
}

// Separators that cannot be drawn, or do not separate, are rejected with the reason.
func TestDrawnRefusals(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		kind string
		want string
	}{
		{Spec{Name: "thresholds", Domain: 1 << 20}, drawnKind, "separate with "},
		{Spec{Name: "thresholds", Domain: 1 << 13}, drawnKind, "take too long to compare"},
		{Spec{Name: "intervals", Domain: 1 << 10}, drawnKind, "use at most 16384"},
		{Spec{Name: "parities", Dim: 30}, drawnPrintedKind, "another kind"},
	} {
		class, err := New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewSeparator(class.(Finite), c.spec, c.kind, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, %s: %v, want %q", c.spec, c.kind, err, c.want)
		}
	}
	parities := newFinite(t, Spec{Name: "parities", Dim: 2})
	if _, err := paritiesAt(parities, []float64{1, 0, 1, 0}); !errors.Is(err, errAgree) {
		t.Errorf("one point twice separates the parities of two bits: %v", err)
	}
}
