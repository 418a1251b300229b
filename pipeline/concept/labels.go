package concept

import (
	"encoding/binary"
	"math/bits"
)

// LabelTable holds the labels of all functions of a finite class at all points of its domain: for
// each point the set of the functions that label it +1. Functions have the numbers of Member,
// points are numbered from 0. A table is immutable and safe for concurrent use.
//
// Versions starts a game of online learning on it.
type LabelTable struct {
	functions int
	dim       int
	points    []float64  // row-major
	columns   [][]uint64 // bit i%64 of word i/64 of columns[v] is set if function i labels point v +1
	telling   []int      // points with non-constant columns, without points equivalent to an earlier one
}

// NewLabelTable tabulates c, the class that New creates from s: any matrix, otherwise at most
// 2^12 functions on a domain of at most 2^12 points. The error names the number that is too
// large.
func NewLabelTable(c Finite, s Spec) (*LabelTable, error) {
	most := maxGreedy
	if definitionOf(c).Shape == Column { // already listed
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

// VC returns the Vapnik-Chervonenkis dimension. The search is exact, but stops after about a
// second.
func (t *LabelTable) VC() Dimension { return vcOf(t.columns, t.functions, maxReads) }

// different returns the numbers of the non-constant columns, without columns that are equal or
// complementary to an earlier one.
func different(columns [][]uint64, rows int) (numbers []int) {
	whole := everything(rows)
	seen := map[string]bool{string(make([]byte, 8*len(whole))): true} // normal form of constant columns
	for v, c := range columns {
		flip := -(c[0] & 1) // normal form: the first function has label 0
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

// divide splits a set into the functions that label a point -1 and those that label it +1.
func divide(set, column, minus, plus []uint64) {
	for w, c := range column {
		minus[w], plus[w] = set[w]&^c, set[w]&c
	}
}
