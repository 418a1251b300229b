// Package dataset lays out tables of points in memory that a worker shares with its plugins: as
// an Arrow IPC file of one uncompressed record batch. Each buffer begins at a multiple of 64, so
// that numbers are read and written in place; a [Layout] describes where.
//
// The package requires a little-endian machine. It imports no Arrow library: it builds the few
// flatbuffers of the format itself, so that a plugin's binary stays small. The tests read its
// files with the Arrow library.
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

// alignment is the alignment of every buffer, from the start of the file: a cache line, and the
// width of the widest vector registers.
const alignment = 64

// A Layout describes the positions of the numbers of a table in its Arrow file. The table has the
// column x, a FixedSizeList<float64>[Dim], and, if it is labeled, the column y, a float64.
type Layout struct {
	Rows, Dim int
	XAt, YAt  int // first byte of the numbers of x, row by row, and of y; 0: no labels

	end  int    // length of the body, padded
	head []byte // bytes before the first number: magic, schema message, batch message; a multiple of 64
	tail []byte // bytes after the last number: end of stream, footer, magic
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
	l := &Layout{Rows: rows, Dim: dim}
	columns := []column{{name: "x", dim: dim, len: 8 * rows * dim}}
	if labelled {
		columns = append(columns, column{name: "y", at: pad(columns[0].len, alignment), len: 8 * rows})
	}
	last := columns[len(columns)-1]
	body := pad(last.at+last.len, alignment)
	l.head, l.tail = write(columns, rows, body)
	l.XAt, l.end = len(l.head), len(l.head)+body
	if labelled {
		l.YAt = l.XAt + last.at
	}
	return l, nil
}

// pad rounds n up to a multiple of to.
func pad(n, to int) int { return (n + to - 1) / to * to }

// Size returns the length of the whole file in bytes.
func (l *Layout) Size() int { return l.end + len(l.tail) }

// Init writes everything except the numbers into dst[:Size]. dst must start at a multiple of 8 in
// memory.
func (l *Layout) Init(dst []byte) {
	dst = dst[:l.Size()]
	copy(dst, l.head)
	copy(dst[l.end:], l.tail)
	if l.YAt > 0 {
		clear(dst[l.XAt+8*l.Rows*l.Dim : l.YAt])
		clear(dst[l.YAt+8*l.Rows : l.end])
	} else {
		clear(dst[l.XAt+8*l.Rows*l.Dim : l.end])
	}
}

// X returns the points in a file of this layout, Rows*Dim numbers row by row.
func (l *Layout) X(b []byte) []float64 { return floats(b[l.XAt:], l.Rows*l.Dim) }

// Y returns the labels in a file of this layout; nil if it has none.
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
	m, err := NewMemory(name, int64(l.Size()))
	if err != nil {
		return nil, err
	}
	l.Init(m.Bytes())
	return &Table{m, l}, nil
}

// Points returns the points of the table, row by row.
func (t *Table) Points() []float64 { return t.X(t.Bytes()) }
