package prediction

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// A line summarizes a sample on the real line.
type line struct {
	values  []float64 // distinct, ascending
	weights []int     // number of +1 labels minus number of -1 labels of each value
	both    int       // sum over the values of the smaller of the two numbers: errors that every hypothesis makes

	order []int // scratch
}

// reset replaces the sample.
func (l *line) reset(x, y []float64) {
	l.values, l.weights, l.both, l.order = l.values[:0], l.weights[:0], 0, l.order[:0]
	for i := range y {
		l.order = append(l.order, i)
	}
	slices.SortFunc(l.order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	for i := 0; i < len(y); {
		v, positive, negative := x[l.order[i]], 0, 0
		for ; i < len(y) && x[l.order[i]] == v; i++ {
			if y[l.order[i]] > 0 {
				positive++
			} else {
				negative++
			}
		}
		l.values, l.weights = append(l.values, v), append(l.weights, positive-negative)
		l.both += min(positive, negative)
	}
}

// A span is the interval lo..hi, empty if lo > hi.
type span struct{ lo, hi float64 }

func emptySpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s span) empty() bool            { return s.lo > s.hi }
func (s span) holds(v float64) bool   { return s.lo <= v && v <= s.hi }
func (s span) with(v float64) span    { return span{min(s.lo, v), max(s.hi, v)} }
func (s span) covers(other span) bool { return s.lo <= other.lo && other.hi <= s.hi }

// best returns the span with the largest sum of weights of the values inside, among the spans that
// cover must and contain no banned value, and that sum. If must is empty, the empty span counts
// too, with the sum 0. banned is sorted, and must contains no banned value.
//
// The ends are those of must, or values that make the sum larger. Of equally good spans best
// returns the empty one, if it is among them, or else the first. It takes O(values + banned) steps.
func best(values []float64, weights []int, must span, banned []float64) (span, int) {
	if must.empty() {
		return bestFree(values, weights, banned)
	}
	walls := span{math.Inf(-1), math.Inf(1)} // open bounds by the banned values
	for _, v := range banned {
		if v < must.lo {
			walls.lo = v
		} else if v < walls.hi {
			walls.hi = v
		}
	}
	from := sort.SearchFloat64s(values, must.lo)
	to := sort.SearchFloat64s(values, must.hi)
	if to < len(values) && values[to] == must.hi {
		to++
	}
	found, total := must, 0
	for j := from; j < to; j++ {
		total += weights[j]
	}
	sum, most := 0, 0
	for j := from - 1; j >= 0 && values[j] > walls.lo; j-- {
		if sum += weights[j]; sum > most {
			most, found.lo = sum, values[j]
		}
	}
	total += most
	sum, most = 0, 0
	for j := to; j < len(values) && values[j] < walls.hi; j++ {
		if sum += weights[j]; sum > most {
			most, found.hi = sum, values[j]
		}
	}
	return found, total + most
}

// bestFree implements best for an empty must. It runs Kadane's scan, restarted at every banned
// value.
func bestFree(values []float64, weights []int, banned []float64) (span, int) {
	found, most := emptySpan(), 0
	sum, start := 0, 0.0
	for j, v := range values {
		for len(banned) > 0 && banned[0] < v {
			banned, sum = banned[1:], 0
		}
		if len(banned) > 0 && banned[0] == v {
			sum = 0
			continue
		}
		if sum <= 0 {
			sum, start = 0, v
		}
		if sum += weights[j]; sum > most {
			found, most = span{start, v}, sum
		}
	}
	return found, most
}
