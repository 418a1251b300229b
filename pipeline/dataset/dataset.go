// Package dataset lays out tables of points in memory that a worker shares with its plugins: little-endian float64s at
// multiples of 64 bytes, so that numbers are read and written in place; a [Layout] describes where.
//
// The package requires a little-endian machine and imports no Arrow library, so that a plugin's binary stays small.
//
// Start at [NewLayout] and [NewTable]; [MapFile] is for the reader. [CheckMessage] and
// [CheckSchema] protect the Arrow library, in other packages, from files that state more than
// they contain.
package dataset

import (
	"fmt"
	"math"
	"unsafe"
)

// maxBody limits the bytes of a table's numbers, far above any use.
const maxBody = 1 << 46

// alignment is the alignment of the numbers of a column: a cache line, and the width of the widest vector registers.
const alignment = 64

// A Layout describes the positions of the numbers of a table: points, and labels if it is labeled.
type Layout struct {
	Rows, Dim int
	XAt, YAt  int // first byte of the points, row by row, and of the labels; 0: no labels
	Size      int // bytes of the table
}

// NewLayout lays out a table. It rejects a negative number of rows, a dimension below 1, and a
// table of more than 2^46 bytes.
func NewLayout(rows, dim int, labelled bool) (*Layout, error) {
	switch {
	case rows < 0 || dim < 1 || dim > math.MaxInt32:
		return nil, fmt.Errorf("lay out a table of %d rows of dimension %d: at least 0 and 1 are needed", rows, dim)
	case rows > maxBody/8/(dim+1):
		return nil, fmt.Errorf("lay out a table of %d rows of dimension %d: it takes more than %d bytes", rows, dim,
			int64(maxBody))
	}
	l := &Layout{Rows: rows, Dim: dim, XAt: alignment} // a position of 0 means that there are no numbers
	l.Size = l.XAt + pad(8*rows*dim, alignment)
	if labelled {
		l.YAt = l.Size
		l.Size += pad(8*rows, alignment)
	}
	return l, nil
}

// pad rounds n up to a multiple of to.
func pad(n, to int) int { return (n + to - 1) / to * to }

// X returns the points in memory of this layout, Rows*Dim numbers row by row.
func (l *Layout) X(b []byte) []float64 { return floats(b[l.XAt:], l.Rows*l.Dim) }

// Y returns the labels in memory of this layout; nil if it has none.
func (l *Layout) Y(b []byte) []float64 {
	if l.YAt == 0 {
		return nil
	}
	return floats(b[l.YAt:], l.Rows)
}

// floats returns a view of the first n numbers in b. It panics if b is shorter or misaligned in memory.
func floats(b []byte, n int) []float64 {
	b = b[:8*n]
	if n == 0 {
		return []float64{}
	}
	p := unsafe.Pointer(&b[0])
	if uintptr(p)%8 != 0 {
		panic(fmt.Sprintf("dataset: numbers at the misaligned address %#x", uintptr(p)))
	}
	return unsafe.Slice((*float64)(p), n)
}

// A Table is an unlabeled table of points in memory that other processes can map.
type Table struct {
	*Memory
	*Layout
}

// NewTable creates a table, whose points the caller fills in. The name only appears in listings
// of open files.
func NewTable(name string, rows, dim int) (*Table, error) {
	l, err := NewLayout(rows, dim, false)
	if err != nil {
		return nil, err
	}
	m, err := NewMemory(name, int64(l.Size))
	if err != nil {
		return nil, err
	}
	return &Table{m, l}, nil
}

// Points returns the points of the table, row by row.
func (t *Table) Points() []float64 { return t.X(t.Bytes()) }
