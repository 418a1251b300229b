package concept

import (
	"encoding/binary"
	"math/bits"
)

// LabelTable holds the labels of all functions of a finite class at all points of its domain: for
// each point the set of the functions that label it +1. Functions are numbered like Members, points
// from 0. A table does not change: any number of goroutines may share one.
//
// Versions starts a game of online learning on it.
type LabelTable struct {
	functions int
	dim       int
	points    []float64  // row-major
	columns   [][]uint64 // bit i%64 of word i/64 of columns[v] is set where function i labels point v +1
	telling   []int      // the points that tell functions apart, the first of those that do so alike
}

// NewLabelTable tabulates c, the class that New makes of s: any matrix, otherwise at most 2^12
// functions on a domain of at most 2^12 points. The error says which of these numbers is too large.
func NewLabelTable(c Finite, s Spec) (*LabelTable, error) {
	most := maxGreedy
	if definitionOf(c).Shape == Column { // it is listed already
		most = maxMatrix
	}
	n, err := listable(c, most)
	if err != nil {
		return nil, err
	}
	z, err := allPoints(c.Dim(), Side(s), uint64(most))
	if err != nil {
		return nil, err
	}
	t := &LabelTable{functions: n, dim: c.Dim(), points: z, columns: make([][]uint64, len(z)/c.Dim())}
	words := (n + 63) / 64
	for v := range t.columns {
		t.columns[v] = make([]uint64, words)
	}
	labels := make([]float64, len(t.columns))
	for i := range n {
		c.Member(uint64(i)).Labels(z, labels)
		for v, label := range labels {
			if label > 0 {
				t.columns[v][i/64] |= 1 << (i % 64)
			}
		}
	}
	t.telling = different(t.columns, n)
	return t, nil
}

// Functions returns |H|.
func (t *LabelTable) Functions() int { return t.functions }

// Len returns the number of points.
func (t *LabelTable) Len() int { return len(t.columns) }

// Point returns point number v.
func (t *LabelTable) Point(v int) []float64 { return t.points[v*t.dim : (v+1)*t.dim] }

// Positive reports whether a function labels a point +1.
func (t *LabelTable) Positive(function, point int) bool {
	return t.columns[point][function/64]>>(function%64)&1 == 1
}

// VC returns the Vapnik-Chervonenkis dimension. The search is exact, but ends after about a second.
func (t *LabelTable) VC() Dimension { return vcOf(t.columns, t.functions, maxReads) }

// different returns the numbers of the columns that are not constant; of those that are equal or
// complementary only the first.
func different(columns [][]uint64, rows int) (numbers []int) {
	whole := everything(rows)
	seen := map[string]bool{string(make([]byte, 8*len(whole))): true} // what constant columns come to
	for v, c := range columns {
		flip := -(c[0] & 1) // so that the first function has label 0
		key := make([]byte, 0, 8*len(whole))
		for w, word := range c {
			key = binary.LittleEndian.AppendUint64(key, (word^flip)&whole[w])
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			numbers = append(numbers, v)
		}
	}
	return numbers
}

// everything returns the set of n functions.
func everything(n int) []uint64 {
	set := make([]uint64, (n+63)/64)
	for i := range n {
		set[i/64] |= 1 << (i % 64)
	}
	return set
}

// sizeOf returns the number of functions in a set.
func sizeOf(set []uint64) int {
	n := 0
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}

// divide splits a set into those functions that label a point -1 and those that label it +1.
func divide(set, column, minus, plus []uint64) {
	for w, c := range column {
		minus[w], plus[w] = set[w]&^c, set[w]&c
	}
}
