package law

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// levelsOf returns the levels of all points of an array, before they are permuted.
func levelsOf(dim, s int) (all [][]int) {
	a := array{s: s, at: make([]int32, dim)}
	for range s * s {
		of := make([]int, dim)
		for j, l := range a.at {
			of[j] = int(l)
		}
		all = append(all, of)
		a.step(int32(s))
	}
	return all
}

// Each pair of levels of two numbers occurs once.
func TestArrayLevels(t *testing.T) {
	for _, c := range []struct{ dim, s int }{{3, 3}, {4, 5}, {5, 5}, {7, 11}, {32, 37}} {
		all := levelsOf(c.dim, c.s)
		for j := range c.dim {
			for k := range j {
				seen := make([]bool, c.s*c.s)
				for i, of := range all {
					pair := of[k]*c.s + of[j]
					if seen[pair] {
						t.Fatalf("%+v: numbers %d and %d of point %d have levels that occurred before", c, k, j, i)
					}
					seen[pair] = true
				}
			}
		}
	}
}

// arrayVariance bounds the variance on s^2 points of the design, beside that of independent points.
func arrayVariance(s int) float64 { return 1 + float64(2*s-1)/(float64(s-1)*float64(s-1)) }

// By enumeration of all permutations of the three levels of three numbers: the mean loss is unbiased for
// any loss, its variance is at most arrayVariance times that of independent points, reaches it for a
// loss of all three numbers, and is 0 for losses of two.
func TestArrayVariance(t *testing.T) {
	const s = 3
	r := rand.New(rand.NewPCG(7, 8))
	permutations := [][s]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	all := levelsOf(3, s)
	try := func(loss func(a, b, c int) float64) (ratio float64) {
		mean, square := 0.0, 0.0 // of one point
		for i := range s * s * s {
			g := loss(i/9, i/3%3, i%3)
			mean, square = mean+g/27, square+g*g/27
		}
		sum, squares := 0.0, 0.0 // of the means on arrays
		for _, p := range permutations {
			for _, q := range permutations {
				for _, o := range permutations {
					of := 0.0
					for _, l := range all {
						of += loss(p[l[0]], q[l[1]], o[l[2]]) / float64(len(all))
					}
					sum, squares = sum+of/216, squares+of*of/216
				}
			}
		}
		if math.Abs(sum-mean) > 1e-12 {
			t.Errorf("the mean loss is %v, want %v", sum, mean)
		}
		return (squares - sum*sum) / ((square - mean*mean) / float64(len(all)))
	}
	for range 100 {
		var losses [27]float64
		for i := range losses {
			losses[i] = r.Float64()
		}
		if ratio := try(func(a, b, c int) float64 { return losses[9*a+3*b+c] }); ratio > arrayVariance(s) {
			t.Errorf("a variance of %v times that of independent points", ratio)
		}
		if ratio := try(func(a, b, _ int) float64 { return losses[3*a+b] }); ratio > 1e-9 {
			t.Errorf("a loss of two numbers: a variance of %v times that of independent points", ratio)
		}
	}
	contrast := [s]float64{1, -1, 0}
	if ratio := try(func(a, b, c int) float64 { return contrast[a] * contrast[b] * contrast[c] }); math.Abs(
		ratio-arrayVariance(s)) > 1e-9 {
		t.Errorf("a loss of three numbers: a variance of %v times that of independent points, want %v", ratio,
			arrayVariance(s))
	}
}

// All permutations of the levels of two numbers are equally likely.
func TestArrayPermutations(t *testing.T) {
	const draws = 36_000
	a, counts := array{}, map[string]float64{}
	r := stream(5, 6, 0)
	for range draws {
		a.begin(r, 9, 2, 9)
		counts[fmt.Sprint(a.levels)]++
	}
	testkit.CheckCounts(t, slices.Collect(maps.Values(counts)), slices.Repeat([]float64{1. / 36}, 36))
}

// The numbers in words are uniform and below the side.
func TestFewBits(t *testing.T) {
	const words = 20_000
	r := stream(6, 7, 0)
	for _, side := range []uint64{1, 2, 5, 8, 1 << 33} {
		few, parts, all := newFewBits(side), min(side, 8), 0
		counts := make([]float64, parts)
		for range words {
			word := few.draw(r)
			for range few.most {
				if u := word & few.mask; u < side {
					counts[u/(side/parts)]++
				} else {
					t.Fatalf("%d is not below %d", u, side)
				}
				word >>= few.bits
				all++
			}
		}
		if few.most > 1 && few.most < 64/bits.Len64(side) {
			t.Errorf("%d numbers below %d in a word", few.most, side)
		}
		testkit.CheckCounts(t, counts, slices.Repeat([]float64{1 / float64(parts)}, int(parts)))
	}
}

// The measured errors of stumps are unbiased, their standard error is at most the bound, and as many
// are far above the true ones as it allows.
func TestArrayErrors(t *testing.T) {
	const trials = 4000
	r := rand.New(rand.NewPCG(9, 10))
	for _, p := range []schemas.Problem{
		{Class: "stumps", Domain: 1 << 16, Dim: 5},
		{Class: "stumps", Domain: 10, Dim: 6}, // levels share values
	} {
		p.Distribution, p.Target = "uniform", "random"
		const side = 11
		m, dim := side*side, p.Dim
		s, x, y := Open(&p, "").Sampler(), make([]float64, side*side*p.Dim), make([]float64, side*side)
		sum, squares, far, spread := 0.0, 0.0, 0, Array.Spread(&p, m)
		for i := range uint64(trials) {
			s.Begin(stream(1, i, 0))
			s.(Evaluator).DrawEvaluation(stream(1, i, 1), 0, m, x, y)
			box := s.Target().(*concept.Box) // +1 where number axis is at least threshold
			axis, threshold := 0, 0.0
			for j, low := range box.Low {
				if low > 0 {
					axis, threshold = j, low
				}
			}
			other, at := r.IntN(dim), math.Floor(r.Float64()*float64(p.Domain+1))
			measured := 0.0
			for k, label := range y {
				if (x[k*dim+other] >= at) != (label > 0) {
					measured += 1 / float64(m)
				}
			}
			a, b := threshold/float64(p.Domain), at/float64(p.Domain)
			truth := a*(1-b) + b*(1-a)
			if axis == other {
				truth = math.Abs(a - b)
			}
			off := measured - truth
			sum, squares = sum+off, squares+off*off
			if off > 2*spread {
				far++
			}
		}
		sd := math.Sqrt(squares / trials)
		if sd > spread || sd < spread/4 {
			t.Errorf("%+v: standard error %v, bound %v", p, sd, spread)
		}
		if z := sum / math.Sqrt(squares); math.Abs(z) > 4.5 {
			t.Errorf("%+v: biased by %v standard errors", p, z)
		}
		if most := trials * math.Exp(-2); float64(far) > most {
			t.Errorf("%+v: %d of %d errors are two standard errors too large, want %v at most", p, far, trials, most)
		}
	}
}
