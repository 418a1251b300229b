package concept

import (
	"fmt"
	"math"
	"math/bits"
)

// maxTable is the largest number of hypotheses whose pairs are compared one by one: 2^27 pairs,
// which takes seconds at a thousand points.
const maxTable = 1 << 14

// signTable holds the labels of all hypotheses of a class on a set of points: one row of bits per
// hypothesis, one bit per point, set if the label is +1.
type signTable struct {
	n, m  int
	words int // per row
	bits  []uint64
}

// newSignTable tabulates the class on the points z (row-major), which must lie in its domain. It
// returns an error for more than 2^14 hypotheses.
func newSignTable(c Finite, z []float64) (*signTable, error) {
	n, err := listable(c, maxTable)
	if err != nil {
		return nil, err
	}
	m := len(z) / c.Dim()
	t := &signTable{n: n, m: m, words: (m + 63) / 64}
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

// listable returns the number of hypotheses of a class, or an error if it exceeds most.
func listable(c Finite, most int) (int, error) {
	if size := c.Size(); !size.IsInt64() || size.Int64() > int64(most) {
		return 0, fmt.Errorf("list class %q: %v hypotheses, use at most %d", c.Name(), size, most)
	}
	return int(c.Size().Int64()), nil
}

// row returns the bits of hypothesis i.
func (t *signTable) row(i int) []uint64 { return t.bits[i*t.words : (i+1)*t.words] }

// distances holds the extreme Hamming distances of two rows, and the first pair at the least
// distance.
type distances struct{ least, most, i, j int }

// distances compares all pairs.
func (t *signTable) distances() distances {
	if t.n < 2 {
		return distances{least: -1, most: -1}
	}
	d := distances{least: math.MaxInt}
	for i := range t.n {
		left := t.row(i)
		for j := i + 1; j < t.n; j++ {
			h := 0
			for k, v := range t.row(j) {
				h += bits.OnesCount64(v ^ left[k])
			}
			d.most = max(d.most, h)
			if h < d.least {
				d.least, d.i, d.j = h, i, j
			}
		}
	}
	return d
}
