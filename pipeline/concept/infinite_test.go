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

// The least error is attained by a threshold at one of the points, or above all of them.
func TestBestOfInfiniteThresholds(t *testing.T) {
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
		w := rapid.SliceOfN(rapid.Float64Range(0, 1), len(x), len(x)).Draw(r, "weights")
		least, leastWeighted := math.Inf(1), math.Inf(1)
		for _, at := range append([]float64{math.Inf(1)}, x...) {
			wrong, weight := 0.0, 0.0
			for i := range x {
				if Threshold(at).Label(x[i]) != y[i] {
					wrong, weight = wrong+1, weight+w[i]
				}
			}
			least, leastWeighted = min(least, wrong), min(leastWeighted, weight)
		}
		c := infiniteClass(t, name)
		if got, err := c.Best(x, y, nil); err != nil || got != least/max(1, float64(len(x))) {
			r.Fatalf("best %v, %v, want %v of %d", got, err, least, len(x))
		}
		if got, err := c.Best(x, y, w); err != nil || math.Abs(got-leastWeighted) > 1e-12 {
			r.Fatalf("weighted best %v, %v, want %v", got, err, leastWeighted)
		}
	})
	for _, name := range []string{Naturals, Dyadics} {
		for _, c := range []struct {
			x, y, w []float64
			want    string
		}{
			{[]float64{0.75, 1.5}, []float64{1, 1}, nil, "not in the domain"},
			{[]float64{-1}, []float64{1}, nil, "example 0: point -1"},
			{[]float64{math.NaN()}, []float64{1}, nil, "point NaN"},
		} {
			if _, err := infiniteClass(t, name).Best(c.x, c.y, c.w); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v: %v", name, c.x, err)
			}
		}
	}
	if _, err := infiniteClass(t, Naturals).Best([]float64{3}, []float64{0}, nil); err == nil ||
		!strings.Contains(err.Error(), "label 0") {
		t.Errorf("label 0: %v", err)
	}
	if _, err := infiniteClass(t, Naturals).Best([]float64{3}, []float64{1}, []float64{math.NaN()}); err == nil ||
		!strings.Contains(err.Error(), "weight NaN") {
		t.Errorf("weight NaN: %v", err)
	}
}
