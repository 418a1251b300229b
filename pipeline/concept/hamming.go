package concept

import (
	"fmt"
	"math"
	"math/bits"
)

// maxTable is the most hypotheses whose pairs are compared one by one: 2^27 pairs, seconds at a thousand points.
const maxTable = 1 << 14

// SignTable is the table of the labels of all hypotheses of a class on some points: one row of bits for each hypothesis, a bit for each
// point, set where the label is +1.
type SignTable struct {
	n, m  int
	words int // per row
	bits  []uint64
}

// NewSignTable is the table of the class on the points z (row-major), which must lie in its domain. The error says that the class has too
// many hypotheses, above 2^14.
func NewSignTable(c Finite, z []float64) (*SignTable, error) {
	n, err := listable(c, maxTable)
	if err != nil {
		return nil, err
	}
	m := len(z) / c.Dim()
	t := &SignTable{n: n, m: m, words: (m + 63) / 64}
	t.bits = make([]uint64, n*t.words)
	labels := make([]float64, m)
	for i := range n {
		c.Member(uint64(i)).Labels(z, labels)
		row := t.row(i)
		for j, v := range labels {
			if v > 0 {
				row[j/64] |= 1 << (j % 64)
			}
		}
	}
	return t, nil
}

// listable is the number of hypotheses of a class that is to be listed.
func listable(c Finite, most int) (int, error) {
	if size := c.Size(); !size.IsInt64() || size.Int64() > int64(most) {
		return 0, fmt.Errorf("list class %q: %v hypotheses, use at most %d", c.Name(), size, most)
	}
	return int(c.Size().Int64()), nil
}

func (t *SignTable) row(i int) []uint64 { return t.bits[i*t.words : (i+1)*t.words] }

// MinHamming is the least number of points on which two hypotheses differ, and the first two that differ on no more, i < j. A table with
// fewer than two rows has none: h is then -1. O(n^2 m/64).
func (t *SignTable) MinHamming() (h, i, j int) {
	d := t.distances()
	return d.least, d.i, d.j
}

// distances are the extreme Hamming distances of two rows, and the first pair at the least one.
type distances struct{ least, most, i, j int }

// distances compares all pairs, tile by tile, so that the rows compared stay in the nearest cache.
func (t *SignTable) distances() distances {
	if t.n < 2 {
		return distances{least: -1, most: -1}
	}
	d := distances{least: math.MaxInt}
	tile := max(1, 1024/max(1, t.words)) // rows of 8 kB
	for a := 0; a < t.n; a += tile {
		for b := a; b < t.n; b += tile {
			t.compare(a, min(a+tile, t.n), b, min(b+tile, t.n), &d)
		}
	}
	return d
}

// compare takes in the pairs i < j with i from a to before aEnd and j from b to before bEnd.
func (t *SignTable) compare(a, aEnd, b, bEnd int, d *distances) {
	for i := a; i < aEnd; i++ {
		left := t.row(i)
		for j := max(b, i+1); j < bEnd; j++ {
			right := t.row(j)[:len(left)] // so that the loop checks no bounds
			h := 0
			for k, v := range left {
				h += bits.OnesCount64(v ^ right[k])
			}
			d.most = max(d.most, h)
			if h < d.least || h == d.least && i < d.i { // the tiles come in the order of j, but not of i
				d.least, d.i, d.j = h, i, j
			}
		}
	}
}

// Rho is the separation of a table of real values, a row of m for each function: the least sqrt(mean (f-g)^2) over pairs of rows, and
// +Inf where there are fewer than two. It is no ground for privacy: for that a table of real values needs its HullMargin.
func Rho(values []float64, m int) float64 {
	least := math.Inf(1)
	for i := 0; i+m <= len(values); i += m {
		for j := 0; j < i; j += m {
			sum := 0.0
			for k := range m {
				d := values[i+k] - values[j+k]
				sum += float64(d * d)
			}
			least = min(least, sum)
		}
	}
	return math.Sqrt(least / float64(m))
}
