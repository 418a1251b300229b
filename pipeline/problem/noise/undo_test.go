package noise

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// A learner that knows the rate, and undoes a fixed direction in which labels are flipped, has an
// error below the rate with certainty. If the direction is drawn, it succeeds only in the share
// of trials in which it guesses right, and errs by twice the rate in others.
func TestNoiseIsNotUndone(t *testing.T) {
	const trials = 200
	for _, g := range []undoing{thresholdUndoing{}, intervalUndoing{}, halfspaceUndoing{}} {
		r := rand.New(rand.NewPCG(9, 10))
		var known, drawn, errs float64
		for range trials {
			for _, fixed := range []bool{true, false} {
				err := g.trial(r, fixed)
				if good := number(err <= undoRate/2); fixed {
					known += good / trials
				} else {
					drawn, errs = drawn+good/trials, errs+err/trials
				}
			}
		}
		t.Logf("%T: %.3f of the trials come below half of the rate by undoing a known direction, %.3f a drawn one "+
			"(mean error %.3f)", g, known, drawn, errs)
		if known < 0.95 || drawn > 0.6 || errs < undoRate/2 {
			t.Errorf("%T: %v of the trials succeed where the direction is known, %v where it is drawn; mean error %v",
				g, known, drawn, errs)
		}
	}
}

const undoRate = 0.1

// undoing is a learner that undoes one direction.
type undoing interface {
	// trial draws a sample, adds noise in the direction that the learner undoes or in a drawn
	// one, and returns the learner's error.
	trial(r *rand.Rand, fixed bool) float64
}

// onLine returns n labeled points of [0, 1), in units of the largest domain, with the positives
// in [a, b).
func onLine(r *rand.Rand, n int, a, b float64) (x, y []float64) {
	for range n {
		v := math.Floor(r.Float64() * concept.MaxDomain)
		x, y = append(x, v), append(y, 2*number(v >= a*concept.MaxDomain && v < b*concept.MaxDomain)-1)
	}
	return x, y
}

// spoil flips labels of an ordered domain: the lowest positives if fixed is set.
func spoil(r *rand.Rand, x, y []float64, fixed bool) {
	f := &adversarialFlips{rate: undoRate, points: concept.Scalar}
	if !fixed {
		f.Flip(r, x, y)
		return
	}
	f.rank = indexes(len(y))
	f.rankValues(shift{}, coordinate{x, 1}, y)
	f.flip(flips(undoRate, len(y)), y)
}

// undoLeft returns the point with k points of the sample between itself and v.
func undoLeft(x []float64, v float64, k int) float64 {
	x = slices.Sorted(slices.Values(x))
	i, _ := slices.BinarySearch(x, v)
	return x[max(0, i-k)]
}

func ends(x, y []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i, v := range x {
		if y[i] > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

type thresholdUndoing struct{}

func (thresholdUndoing) trial(r *rand.Rand, fixed bool) float64 {
	c := 0.25 + r.Float64()/2
	x, y := onLine(r, 400, c, 1)
	spoil(r, x, y, fixed)
	low, _ := ends(x, y)
	return math.Abs(undoLeft(x, low, 40)/concept.MaxDomain - c)
}

type intervalUndoing struct{}

func (intervalUndoing) trial(r *rand.Rand, fixed bool) float64 {
	a, b := 0.2+0.2*r.Float64(), 0.6+0.2*r.Float64()
	x, y := onLine(r, 400, a, b)
	spoil(r, x, y, fixed)
	low, high := ends(x, y)
	return math.Abs(undoLeft(x, low, 40)/concept.MaxDomain-a) + math.Abs(high/concept.MaxDomain-b)
}

// halfspaceUndoing restores the labels that had the largest pull on the average, and averages.
type halfspaceUndoing struct{}

func (halfspaceUndoing) trial(r *rand.Rand, fixed bool) float64 {
	const n, d, tau = 1000, 10, 0.1
	x, y := make([]float64, n*d), make([]float64, n)
	around(r, x, y, d, tau)
	if fixed {
		flipLargestPulls(x, y, average(x, y), 1)
	} else {
		(&adversarialFlips{rate: undoRate, points: concept.Ball}).Flip(r, x, y)
	}
	flipLargestPulls(x, y, average(x, y), -1)
	w := average(x, y)
	around(r, x, y, d, tau)
	wrong := 0.0
	for i, label := range y {
		wrong += number(label*inner(w, x[i*d:(i+1)*d]) <= 0) / n
	}
	return wrong
}

// around draws points with a margin to the hyperplane orthogonal to the first axis.
func around(r *rand.Rand, x, y []float64, d int, tau float64) {
	for i := range y {
		row, m := x[i*d:(i+1)*d], tau/(tau+(1-tau)*r.Float64())
		row[0], y[i] = 0, numeric.Coin(r)
		for j := 1; j < d; j++ {
			row[j] = r.NormFloat64()
		}
		c := math.Sqrt((1 - m*m) / inner(row, row))
		for j := range row {
			row[j] *= c
		}
		row[0] = y[i] * m
	}
}

// flipLargestPulls negates the labels of the examples with the largest, or with the sign -1 the
// smallest, y<x,w>.
func flipLargestPulls(x, y, w []float64, sign float64) {
	d := len(w)
	rank := indexes(len(y))
	slices.SortFunc(rank, func(p, q ranked) int {
		return cmp.Compare(sign*y[q.index]*inner(w, x[q.index*d:(q.index+1)*d]),
			sign*y[p.index]*inner(w, x[p.index*d:(p.index+1)*d]))
	})
	for _, e := range rank[:flips(undoRate, len(y))] {
		y[e.index] = -y[e.index]
	}
}

func average(x, y []float64) []float64 {
	d := len(x) / len(y)
	w := make([]float64, d)
	for i, label := range y {
		for j := range w {
			w[j] += label * x[i*d+j]
		}
	}
	return w
}

func inner(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
