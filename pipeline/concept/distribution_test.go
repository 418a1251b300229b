package concept

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept/concepttest"
)

type mechanism struct {
	name         string
	distribution func([]concepttest.Level, float64) []float64
	draw         func(Profile, float64, *rand.Rand) Hypothesis
}

func mechanisms() []mechanism {
	return []mechanism{
		{"exponential", concepttest.ExponentialDistribution, Profile.Exponential},
		{"permute-and-flip", concepttest.PermuteAndFlipDistribution, Profile.PermuteAndFlip},
	}
}

// fits fails if counts of total draws are implausible (1e-6) under distribution, which sums to 1.
func fits(t *testing.T, what string, counts []int, distribution []float64) {
	t.Helper()
	total, chi, cells := 0, 0.0, 0
	for _, c := range counts {
		total += c
	}
	restCount, restDistribution := 0, 0.0
	for i, p := range distribution {
		switch expected := float64(total) * p; {
		case p == 0 && counts[i] > 0:
			t.Errorf("%s: outcome %d drawn, its probability is 0", what, i)
		case expected < 10:
			restCount, restDistribution = restCount+counts[i], restDistribution+p
		default:
			chi += (float64(counts[i]) - expected) * (float64(counts[i]) - expected) / expected
			cells++
		}
	}
	if expected := float64(total) * restDistribution; expected > 5 {
		chi += (float64(restCount) - expected) * (float64(restCount) - expected) / expected
		cells++
	}
	if cells < 2 {
		return
	}
	if p := (distuv.ChiSquared{K: float64(cells - 1)}).Survival(chi); p < 1e-6 {
		t.Errorf("%s: chi-square %v on %d cells, p = %v", what, chi, cells, p)
	}
}

// On a domain of 2^40 points the draws have the exact distribution of the error levels, and members
// of a level are uniform.
func TestSamplersOnLargeDomain(t *testing.T) {
	const draws = 40000
	c := readVectors(t).Thresholds[2]
	y := signed(c.Y)
	for _, name := range []string{"thresholds", "points", "intervals"} {
		p := profileOf(t, name, c.X, false, c.X1, y)
		distribution, segment := largeDistribution(p, c.Eps)
		r := rand.New(rand.NewPCG(5, 5))
		counts := make([]int, len(distribution))
		for range draws {
			counts[segment(p.Exponential(c.Eps, r).(Range))]++
		}
		fits(t, name, counts, distribution)
	}
}

// largeDistribution returns the exponential mechanism's distribution of the hypotheses grouped by
// their segment or, for intervals, by the values inside.
func largeDistribution(p Profile, eps float64) (distribution []float64, group func(Range) int) {
	var total float64
	add := func(weight float64) { distribution, total = append(distribution, weight), total+weight }
	switch p := p.(type) {
	case *segments:
		for _, s := range p.list {
			add(float64(s.count) * math.Exp(-eps/2*float64(s.err-p.min)))
		}
		group = func(h Range) int {
			for i, s := range p.list {
				inside := h.Lo >= float64(s.first) && h.Lo < float64(s.first+s.count)
				if inside && (s.count > 1 || i < len(p.values)) {
					return i
				}
			}
			return len(p.list) - 1
		}
		if _, ok := p.class.(*points); ok {
			group = func(h Range) int {
				for i, v := range p.values {
					if h.Lo == float64(v) {
						return i
					}
				}
				return len(p.values)
			}
		}
	case *intervalProfile:
		k := len(p.values)
		for i := range k {
			for j := range k {
				weight := 0.0
				if i <= j {
					weight = float64(p.left(i)) * float64(p.right(j)) * math.Exp(-eps/2*float64(p.sums[j+1]-p.sums[i]-p.least))
				}
				add(weight)
			}
		}
		add(p.none * math.Exp(eps/2*float64(p.least)))
		group = func(h Range) int {
			i := sort.Search(k, func(i int) bool { return float64(p.values[i]) >= h.Lo })
			j := sort.Search(k, func(j int) bool { return float64(p.values[j]) > h.Hi }) - 1
			if i > j {
				return k * k
			}
			return i*k + j
		}
	}
	for i := range distribution {
		distribution[i] /= total
	}
	return distribution, group
}

func TestMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.MapOfN(rapid.Uint64Range(0, 60), rapid.Just(true), 0, 40).Draw(t, "set")
		var values []uint64
		rank := uint64(0)
		for v := range uint64(64) {
			if set[v] {
				values = append(values, v)
			}
		}
		for v := range uint64(64) {
			if set[v] {
				continue
			}
			if got := missing(values, rank); got != v {
				t.Fatalf("missing number %d of %v: %d, want %d", rank, values, got, v)
			}
			rank++
		}
	})
}
