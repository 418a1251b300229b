package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

func TestWholeShare(t *testing.T) {
	for rate, want := range map[float64]int64{
		0: 0, 0.3: 10, 0.05: 20, 0.25: 4, 0.29: 100, 0.02: 50, 1. / 3: 3, 0.123: 0, 0.001: 0, 0.45: 20,
	} {
		if got := wholeShare(rate); got != want {
			t.Errorf("wholeShare(%v) = %d, want %d", rate, got, want)
		}
		for n := want; n > 0 && n < 1000; n += want {
			if share := float64(flips(rate, int(n))) / float64(n); share < rate-1e-9 || share > rate+1e-9 {
				t.Errorf("rate %v: a share of %v is flipped at n = %d", rate, share, n)
			}
		}
	}
}

func TestShifts(t *testing.T) {
	const top = concept.MaxDomain - 1
	in, out := shift{}, shift{outward: true}
	rightIn, rightOut := shift{right: true}, shift{right: true, outward: true}
	for _, c := range []struct {
		name    string
		s       shift
		x, y    []float64
		k       int
		flipped []int // indexes
	}{
		{"none", in, []float64{1, 2}, []float64{-1, 1}, 0, nil},
		{"lowest positives", in, []float64{9, 3, 7, 5, 6}, []float64{1, -1, 1, -1, 1}, 2, []int{2, 4}},
		{"highest positives", rightIn, []float64{9, 3, 7, 5, 6}, []float64{1, -1, 1, -1, 1}, 2, []int{0, 2}},
		{"then highest negatives", in, []float64{4, 8, 1, 2}, []float64{-1, 1, -1, -1}, 2, []int{0, 1}},
		{"then lowest negatives", rightIn, []float64{4, 8, 1, 2}, []float64{-1, 1, -1, -1}, 2, []int{1, 2}},
		{"no positives", in, []float64{4, 8, 1, 2}, []float64{-1, -1, -1, -1}, 2, []int{0, 1}},
		{"no positives, outwards", out, []float64{4, 8, 1, 2}, []float64{-1, -1, -1, -1}, 2, []int{0, 1}},
		{"negatives below", out, []float64{9, 3, 7, 5, 6}, []float64{1, -1, 1, -1, 1}, 1, []int{3}},
		{"negatives above", rightOut, []float64{1, 3, 7, 5, 6}, []float64{1, -1, -1, -1, 1}, 1, []int{2}},
		{"negatives below, then the nearest above, then positives", out, []float64{2, 5, 6, 9, 8, 4},
			[]float64{-1, 1, 1, -1, -1, 1}, 4, []int{0, 3, 4, 5}},
		{"no negatives, outwards", out, []float64{4, 8, 1, 2}, []float64{1, 1, 1, 1}, 2, []int{2, 3}},
		{"top of the domain", in, []float64{top, top}, []float64{-1, 1}, 1, []int{1}},
		{"bottom of the domain", out, []float64{0, 1, top}, []float64{-1, 1, -1}, 2, []int{0, 2}},
	} {
		f := &adversarialFlips{rank: indexes(len(c.y))}
		f.rankValues(c.s, coordinate{c.x, 1}, c.y)
		checkFlips(t, c.name, f, c.k, c.y, c.flipped)
	}
}

// An end without negatives beyond it does not move; the other choices are fair coins.
func TestDrawShift(t *testing.T) {
	const draws = 4000
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name  string
		x, y  []float64
		right float64 // share
	}{
		{"threshold", []float64{1, 2, 3}, []float64{-1, 1, 1}, 0},
		{"only below", []float64{1, 2, 3}, []float64{1, 1, -1}, 1},
		{"interval", []float64{1, 2, 3}, []float64{-1, 1, -1}, 0.5},
		{"all positive", []float64{1, 2, 3}, []float64{1, 1, 1}, 0.5},
		{"all negative", []float64{1, 2, 3}, []float64{-1, -1, -1}, 0.5},
	} {
		right, outward := 0.0, 0.0
		for range draws {
			s := coordinate{c.x, 1}.drawShift(r, c.y)
			right, outward = right+number(s.right), outward+number(s.outward)
		}
		testkit.CheckCounts(t, []float64{outward, draws - outward}, []float64{0.5, 0.5})
		if c.right == 0.5 {
			testkit.CheckCounts(t, []float64{right, draws - right}, []float64{0.5, 0.5})
		} else if right != c.right*draws {
			t.Errorf("%s: the right end moves in %v of %v draws", c.name, right, draws)
		}
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The order in the sample does not affect the choice among examples of equal worth.
func TestTiesAreBrokenAtRandom(t *testing.T) {
	const n, draws = 8, 8000
	r, counts := rand.New(rand.NewPCG(7, 8)), make([]float64, n)
	f := &adversarialFlips{rate: 0.125, points: concept.Scalar}
	for range draws {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = 5, 1
		}
		f.Flip(r, x, y)
		counts[slices.Index(y, -1)]++
	}
	testkit.CheckCounts(t, counts, slices.Repeat([]float64{1. / n}, n))
}

// indexes returns unranked examples.
func indexes(n int) []ranked {
	rank := make([]ranked, n)
	for i := range rank {
		rank[i].index = i
	}
	return rank
}

// checkFlips flips k labels of ranked examples and compares their indexes.
func checkFlips(t *testing.T, name string, f *adversarialFlips, k int, y []float64, want []int) {
	t.Helper()
	noisy := slices.Clone(y)
	f.flip(k, noisy)
	var got []int
	for i := range y {
		if noisy[i] != y[i] {
			got = append(got, i)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: flipped %v, want %v", name, got, want)
	}
}

// Malicious noise removes the examples with the smallest pull towards the average's direction,
// and inserts copies, with either label, of the example on which all hypotheses near the average
// err.
func TestMaliciousExamples(t *testing.T) {
	const n, d, bad = 40, 2, 10 // rate 1/4
	r := rand.New(rand.NewPCG(7, 8))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = 2*float64(r.IntN(2)) - 1
		angle := 0.05 * float64(i-n/2) // angle of yx from the axis, which differs slightly from the average's
		x[i*d], x[i*d+1] = y[i]*math.Cos(angle), y[i]*math.Sin(angle)
	}
	var mean [d]float64
	for i, label := range y {
		mean[0], mean[1] = mean[0]+label*x[i*d], mean[1]+label*x[i*d+1]
	}
	length := math.Hypot(mean[0], mean[1])
	pull := func(x []float64, label float64) float64 { return label * (x[0]*mean[0] + x[1]*mean[1]) / length }
	pulls := make([]float64, n)
	for i := range y {
		pulls[i] = pull(x[i*d:], y[i])
	}
	limit := slices.Sorted(slices.Values(pulls))[bad]
	points, labels := slices.Clone(x), slices.Clone(y)
	New(schemas.Noise{Kind: "malicious", Rate: 0.25}, concept.Ball).Flip(r, points, labels)
	positive := 0
	for i := range y {
		got := pull(points[i*d:], labels[i])
		if kept := pulls[i] >= limit; kept && (got != pulls[i] || labels[i] != y[i]) || !kept && math.Abs(got+1) > 1e-12 {
			t.Errorf("example %d with the pull %v has it changed to %v", i, pulls[i], got)
		}
		if pulls[i] < limit && labels[i] > 0 {
			positive++
		}
	}
	if positive == 0 || positive == bad {
		t.Errorf("%d of %d labels of the new examples are positive", positive, bad)
	}
	// If the sum of the examples is 0, the direction is drawn.
	zero, ones := make([]float64, n*d), slices.Repeat([]float64{1}, n)
	New(schemas.Noise{Kind: "malicious", Rate: 0.25}, concept.Ball).Flip(r, zero, ones)
	for i := range n {
		if norm := math.Hypot(zero[i*d], zero[i*d+1]); norm != 0 && math.Abs(norm-1) > 1e-12 {
			t.Errorf("example %d has the norm %v", i, norm)
		}
	}
}
