package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// tables lays out and fills the sample of a session and, where there are some, its revealed
// queries.
func (p *Process) tables(r OpenRequest, s *Session, fill func(x, y []float64)) (
	sample, revealed *pluginv1.Table, err error,
) {
	if r.Setting.Task.Rounds() {
		return nil, nil, nil
	}
	samples, queries := s.trials*int(r.Setting.N), s.trials*int(r.Setting.Queries)
	sample, err = p.fill(0, samples, s.dim, true, fill)
	if !r.Setting.Offline {
		return sample, nil, err
	}
	var small *SizeError
	if errors.As(err, &small) { // the next process shall hold the queries too
		l, err := layOut(queries, s.dim, false)
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, &SizeError{Need: int64(aligned(uint64(small.Need))) + int64(l.Size()), Have: small.Have}
	}
	if err != nil {
		return nil, nil, err
	}
	revealed, err = p.fill(aligned(sample.Length), queries, s.dim, false, func(x, _ []float64) { r.Reveal(x) })
	return sample, revealed, err
}

// aligned returns the first offset at which a table may lie, from a given one on.
func aligned(offset uint64) uint64 { return (offset + 63) / 64 * 64 }

// layOut returns the layout of a table of points, with labels or without.
func layOut(rows, dim int, labelled bool) (*dataset.Layout, error) {
	s := dataset.Schema{Columns: []dataset.Column{{Name: "x", Type: dataset.List, Width: dim}}}
	if labelled {
		s.Columns = append(s.Columns, dataset.Column{Name: "y", Type: dataset.Float64})
	}
	l, err := dataset.Plan(s, rows, nil)
	if err != nil {
		return nil, fmt.Errorf("lay out %d rows: %w", rows, err)
	}
	return l, nil
}

// A filled describes the table that lies in the session's memory. The next one with the same shape needs no
// other layout.
type filled struct {
	shape
	layout *dataset.Layout
	table  *pluginv1.Table
}

type shape struct {
	offset    uint64
	rows, dim int
	labelled  bool
}

// fill lays a table out in the session's memory, from an offset on, and lets the caller fill it.
func (p *Process) fill(
	offset uint64, rows, dim int, labelled bool, fill func(x, y []float64),
) (*pluginv1.Table, error) {
	p.memUse.RLock()
	defer p.memUse.RUnlock()
	b := p.memory.Bytes()
	if b == nil {
		return nil, p.child.gone("idle")
	}
	if want := (shape{offset, rows, dim, labelled}); p.last == nil || p.last.shape != want {
		l, err := layOut(rows, dim, labelled)
		if err != nil {
			return nil, err
		}
		if need := int64(offset) + int64(l.Size()); need > int64(len(b)) {
			return nil, &SizeError{Need: need, Have: int64(len(b))}
		}
		l.Init(b[offset:])
		t := &pluginv1.Table{
			Place: pluginv1.Table_PLACE_SESSION, Offset: offset, Length: uint64(l.Size()),
			Rows: uint64(rows), Dim: uint32(dim), XAt: l.At(0),
		}
		if labelled {
			t.YAt = l.At(1)
		}
		p.last = &filled{want, l, t}
	}
	l := p.last.layout
	x, y := l.List(b[offset:], 0), []float64(nil)
	if labelled {
		y = l.Float64(b[offset:], 1)
	}
	fill(x, y)
	return p.last.table, nil
}

// sharedPoints returns where the points of a dataset lie.
func sharedPoints(b []byte) (*pluginv1.Table, error) {
	t, err := dataset.Decode(b)
	if err != nil {
		return nil, err
	}
	x, dim, err := t.List("x")
	if err != nil {
		return nil, err
	}
	if t.Rows() == 0 {
		return nil, errors.New("it has no rows")
	}
	return &pluginv1.Table{
		Place: pluginv1.Table_PLACE_DATASET, Length: uint64(len(b)), Rows: uint64(t.Rows()), Dim: uint32(dim),
		XAt: uint64(uintptr(unsafe.Pointer(&x[0])) - uintptr(unsafe.Pointer(&b[0]))), // x is a view into b
	}, nil
}

// packed encodes v as little-endian bytes.
func packed(v []float64) []byte {
	if len(v) == 0 {
		return nil
	}
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// appendFloats appends numbers that are packed as little-endian bytes. As in pipeline/dataset,
// big-endian machines are not supported.
func appendFloats(to []float64, packed []byte) []float64 {
	from := len(to)
	to = slices.Grow(to, len(packed)/8)[:from+len(packed)/8]
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(to[from:]))), 8*(len(to)-from)), packed)
	return to
}
