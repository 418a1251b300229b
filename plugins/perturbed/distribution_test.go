package perturbed

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// This file computes exact distributions of the answer: for noise that is independent for all
// hypotheses, for two coefficients, and for thresholds.

// coefficient describes the distribution of one symmetric random coefficient of scale 1.
type coefficient struct {
	density, cdf func(float64) float64
	reach        float64 // limit beyond which the density is ignored
	step         float64 // panels of this width are exact to about 11 digits
	smooth       bool    // whether there is no kink at 0
}

var normal = coefficient{
	density: func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) },
	cdf:     func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 },
	reach:   9, step: 3, smooth: true,
}

var laplaceDistribution = coefficient{
	density: func(x float64) float64 { return math.Exp(-math.Abs(x)) / 2 },
	cdf: func(x float64) float64 {
		if x < 0 {
			return math.Exp(x) / 2
		}
		return 1 - math.Exp(-x)/2
	},
	reach: 40, step: 4,
}

var nodes, weights = func() (x, w []float64) {
	x, w = make([]float64, 12), make([]float64, 12)
	quad.Legendre{}.FixedLocations(x, w, -1, 1)
	return x, w
}()

// integral returns the integral of density times f over lo..hi, limited to the reach. jumps are the
// points where f is not smooth for every distribution, and kinks those where it is not smooth
// because this distribution's cdf is not.
func (c coefficient) integral(f func(float64) float64, lo, hi float64, jumps, kinks []float64) float64 {
	lo, hi = max(lo, -c.reach), min(hi, c.reach)
	ends, breaks := []float64{lo, hi}, jumps
	if !c.smooth {
		breaks = append(append(breaks, kinks...), 0)
	}
	for _, b := range breaks {
		if lo < b && b < hi {
			ends = append(ends, b)
		}
	}
	slices.Sort(ends)
	sum := 0.0
	for i := range len(ends) - 1 {
		panels := math.Ceil((ends[i+1] - ends[i]) / c.step)
		half := (ends[i+1] - ends[i]) / (2 * panels)
		for k := range int(panels) {
			middle := ends[i] + half*float64(2*k+1)
			for n, node := range nodes {
				x := middle + half*node
				sum += half * weights[n] * c.density(x) * f(x)
			}
		}
	}
	return sum
}

// independentDistribution returns the distribution of the f with the least errs[f] + scale X_f, for
// independent X_f. It depends only on the number of f for each number of errors; known caches it by
// that.
func (c coefficient) independentDistribution(errs []int, scale float64, known map[string][]float64) []float64 {
	levels := slices.Sorted(slices.Values(errs))
	key := fmt.Sprint(levels)
	if known[key] == nil {
		known[key] = c.levelsDistribution(levels, scale)
	}
	distribution := make([]float64, len(errs))
	for f, e := range errs {
		distribution[f] = known[key][slices.Index(levels, e)]
	}
	return distribution
}

// levelsDistribution implements independentDistribution for sorted errs.
func (c coefficient) levelsDistribution(errs []int, scale float64) []float64 {
	count := map[int]float64{}
	for _, e := range errs {
		count[e]++
	}
	levels := slices.Sorted(maps.Keys(count))
	distribution := make([]float64, len(errs))
	for f, e := range errs {
		if f > 0 && errs[f-1] == e {
			distribution[f] = distribution[f-1]
			continue
		}
		kinks := make([]float64, len(levels))
		for k, g := range levels {
			kinks[k] = float64(g-e) / scale
		}
		distribution[f] = c.integral(func(x float64) float64 {
			others := 1 / c.cdf(-x) // f itself belongs to its level
			for k, g := range levels {
				others *= math.Pow(c.cdf(kinks[k]-x), count[g]) // P(g + scale X > e + scale x), for each hypothesis with g errors
			}
			return others
		}, math.Inf(-1), math.Inf(1), nil, kinks)
	}
	return distribution
}

// planarDistribution returns the distribution of the f with the least errs[f] + scale (X_1
// rows[f][0] + X_2 rows[f][1]), for rows of -1 and +1. Given X_1, f is the answer for X_2 in an
// interval, whose ends are piecewise linear in X_1.
func (c coefficient) planarDistribution(errs []int, rows [][2]float64, scale float64) []float64 {
	distribution := make([]float64, len(errs))
	for f := range errs {
		ends := func(x float64) (lo, hi float64) {
			lo, hi = math.Inf(-1), math.Inf(1)
			for g := range errs {
				// f is better than g if excess + X_2 slope < 0
				excess := float64(errs[f]-errs[g])/scale + x*(rows[f][0]-rows[g][0])
				switch slope := rows[f][1] - rows[g][1]; {
				case slope > 0:
					hi = min(hi, -excess/slope)
				case slope < 0:
					lo = max(lo, -excess/slope)
				case excess > 0:
					return 0, 0
				}
			}
			return lo, hi
		}
		distribution[f] = c.integral(func(x float64) float64 {
			lo, hi := ends(x)
			if lo >= hi {
				return 0
			}
			return c.cdf(hi) - c.cdf(lo)
		}, math.Inf(-1), math.Inf(1), crossings(f, errs, rows, scale), nil)
	}
	return distribution
}

// crossings returns all x at which two of the lines of planarDistribution meet each other, or one
// of them 0.
func crossings(f int, errs []int, rows [][2]float64, scale float64) (all []float64) {
	for g := range errs {
		excess, a, b := float64(errs[f]-errs[g])/scale, rows[f][0]-rows[g][0], rows[f][1]-rows[g][1]
		if a != 0 {
			all = append(all, -excess/a)
		}
		for h := range g {
			other, c, d := float64(errs[f]-errs[h])/scale, rows[f][0]-rows[h][0], rows[f][1]-rows[h][1]
			if a*d != b*c { // excess + x a + y b = 0 = other + x c + y d
				all = append(all, (other*b-excess*d)/(a*d-b*c))
			}
		}
	}
	return all
}

// thresholdDistribution returns the distribution of the t with the least errs[t] + scale (sum of
// X_j over j < t), for t = 0..X: the parts to the right and to the left of t are independent random
// walks.
func (c coefficient) thresholdDistribution(errs []int, scale float64) []float64 {
	distribution := make([]float64, len(errs))
	for t := range errs {
		var right, left []float64
		for g := t + 1; g < len(errs); g++ {
			right = append(right, float64(errs[t]-errs[g])/scale)
		}
		for g := t - 1; g >= 0; g-- {
			left = append(left, float64(errs[t]-errs[g])/scale)
		}
		distribution[t] = c.stays(right, 0) * c.stays(left, 0)
	}
	return distribution
}

// stays returns the probability that a random walk from start is above floors[k] after its step k,
// for all k.
func (c coefficient) stays(floors []float64, start float64) float64 {
	switch len(floors) {
	case 0:
		return 1
	case 1:
		return c.cdf(start - floors[0])
	}
	var kinks []float64
	for _, floor := range floors {
		kinks = append(kinks, floor-start)
	}
	further := func(x float64) float64 { return c.stays(floors[1:], start+x) }
	return c.integral(further, floors[0]-start, math.Inf(1), nil, kinks)
}

func TestIndependentDistributionVectors(t *testing.T) {
	for _, c := range readVectors(t).IIDChoice {
		errs := make([]int, len(c.L))
		for i, l := range c.L {
			errs[i] = int(l)
		}
		for i, p := range normal.independentDistribution(errs, c.Eta, map[string][]float64{}) {
			if math.Abs(p-c.P[i]) > 1e-10 {
				t.Errorf("%v at eta %v: P(%d) = %v, want %v", c.L, c.Eta, i, p, c.P[i])
			}
		}
	}
}
