package concept

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func infiniteClass(t testing.TB, name string) Class {
	t.Helper()
	c, err := New(Spec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Ranks have the order of the points, and invalid points are rejected.
func TestRank(t *testing.T) {
	points := map[string][]float64{
		Naturals: {1, 2, 3, 1 << 20, 1<<53 - 1, 1 << 53},
		Dyadics: {0, math.SmallestNonzeroFloat64, 0x1p-1022, 0x1p-53, 0.25, math.Nextafter(0.5, 0), 0.5, 0.5 + 0x1p-53,
			0.75, 1 - 0x1p-53},
	}
	for name, list := range points {
		var ranks []uint64
		for _, x := range list {
			rank, err := Rank(name, x)
			if err != nil {
				t.Error(err)
			}
			ranks = append(ranks, rank)
		}
		if !slices.IsSorted(ranks) || len(slices.Compact(ranks)) != len(list) {
			t.Errorf("%s: ranks %v of %v", name, ranks, list)
		}
	}
	if zero, err := Rank(Dyadics, math.Copysign(0, -1)); zero != 0 || err != nil {
		t.Errorf("rank %d of -0: %v", zero, err)
	}
	for name, list := range map[string][]float64{
		Naturals: {0, -1, 0.5, 1.5, 1<<53 + 2, math.Inf(1), math.NaN()}, Dyadics: {-0.5, 1, 2, math.Inf(1), math.NaN()},
	} {
		for _, x := range list {
			if _, err := Rank(name, x); err == nil || !strings.Contains(err.Error(), "not in the domain") {
				t.Errorf("%s: %v: %v", name, x, err)
			}
		}
	}
}

// The fewest errors are attained by a threshold at one of the points, or above all of them.
func TestFewestErrorsOfInfiniteThresholds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name, point := Naturals, rapid.Map(rapid.IntRange(1, 8), func(v int) float64 { return float64(v) })
		if rapid.Bool().Draw(r, "dyadics") {
			name, point = Dyadics, rapid.Map(rapid.IntRange(0, 7), func(v int) float64 { return float64(v) / 8 })
		}
		if rapid.Bool().Draw(r, "ends") {
			point = rapid.SampledFrom(map[string][]float64{
				Naturals: {1, 2, 1<<53 - 1, 1 << 53}, Dyadics: {0, math.SmallestNonzeroFloat64, 0.5, 0.5 + 0x1p-53, 1 - 0x1p-53},
			}[name])
		}
		x := rapid.SliceOfN(point, 0, 12).Draw(r, "points")
		y := rapid.SliceOfN(rapid.SampledFrom([]float64{-1, 1}), len(x), len(x)).Draw(r, "labels")
		least := len(x)
		for _, at := range append([]float64{math.Inf(1)}, x...) {
			least = min(least, errs(Threshold(at), x, y))
		}
		if got, err := FewestErrors(infiniteClass(t, name), x, y); err != nil || got != least {
			r.Fatalf("%v, %v, want %v of %d", got, err, least, len(x))
		}
	})
	for _, name := range []string{Naturals, Dyadics} {
		for _, c := range []struct {
			x, y []float64
			want string
		}{
			{[]float64{0.75, 1.5}, []float64{1, 1}, "not in the domain"},
			{[]float64{-1}, []float64{1}, "example 0: point -1"},
			{[]float64{math.NaN()}, []float64{1}, "point NaN"},
		} {
			if _, err := FewestErrors(infiniteClass(t, name), c.x, c.y); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v: %v", name, c.x, err)
			}
		}
	}
	if _, err := FewestErrors(infiniteClass(t, Naturals), []float64{3}, []float64{0}); err == nil ||
		!strings.Contains(err.Error(), "label 0") {
		t.Errorf("label 0: %v", err)
	}
}
