package problem

import (
	"cmp"
	"math"
	"slices"
)

// flips is the number of labels that an adversary with this rate may flip among n: floor(rate n), where a product that misses a
// whole number by rounding alone, such as 0.29*100, counts as that number.
func flips(rate float64, n int) int { return int(math.Floor(float64(rate*float64(n)) + 1e-9)) }

// flipper is the adversary of label noise. It flips labels after seeing the clean sample; see the package comment for its choice.
type flipper struct {
	rank []ranked
	pull []float64
}

// ranked is an example with what it is worth to the adversary: the larger, the rather flipped.
type ranked struct {
	worth float64
	index int
}

// flip negates k of the labels y of the examples x.
func (a *flipper) flip(k int, points shape, x, y []float64) {
	if k == 0 {
		return
	}
	a.rank = slices.Grow(a.rank[:0], len(y))
	switch points {
	case scalar:
		a.rankValues(x, y)
	case vector:
		a.rankPulls(x, y)
	default:
		a.rankLabels(y)
	}
	slices.SortFunc(a.rank, func(p, q ranked) int {
		if c := cmp.Compare(q.worth, p.worth); c != 0 {
			return c
		}
		return cmp.Compare(p.index, q.index)
	})
	for _, r := range a.rank[:k] {
		y[r.index] = -y[r.index]
	}
}

// rankValues prefers positives to negatives, low positives to high ones and high negatives to low ones. Values are below 2^40,
// so the worth of a positive is exact and above that of any negative.
func (a *flipper) rankValues(x, y []float64) {
	for i, v := range x {
		worth := v
		if y[i] > 0 {
			worth = 2*maxDomain - v
		}
		a.rank = append(a.rank, ranked{worth, i})
	}
}

// rankLabels prefers positives to negatives.
func (a *flipper) rankLabels(y []float64) {
	for i, label := range y {
		a.rank = append(a.rank, ranked{label, i})
	}
}

// rankPulls ranks by y<x,w>, w being the sum of all yx.
func (a *flipper) rankPulls(x, y []float64) {
	d := len(x) / len(y)
	a.pull = slices.Grow(a.pull[:0], d)[:d]
	clear(a.pull)
	for i, label := range y {
		for j, v := range x[i*d : (i+1)*d] {
			a.pull[j] += float64(label * v)
		}
	}
	for i, label := range y {
		worth := 0.0
		for j, v := range x[i*d : (i+1)*d] {
			worth += float64(v * a.pull[j])
		}
		a.rank = append(a.rank, ranked{float64(label * worth), i})
	}
}
