package host

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// tables lays out and fills the sample of a session and its revealed queries, if it has any.
func (s *Session) tables(r OpenRequest, fill func(x, y []float64)) (
	sample, revealed *pluginv1.Table, err error,
) {
	if r.Setting.Task.Rounds() {
		return nil, nil, nil
	}
	samples, queries := s.trials*int(r.Setting.N), s.trials*int(r.Setting.Queries)
	sample, err = s.fill(0, samples, true, fill)
	if !r.Setting.Offline {
		return sample, nil, err
	}
	var small *SizeError
	if errors.As(err, &small) { // the next process needs room for the queries too
		l, err := dataset.NewLayout(queries, s.dim(), false)
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, &SizeError{Need: int64(aligned(uint64(small.Need))) + int64(l.Size()), Have: small.Have}
	}
	if err != nil {
		return nil, nil, err
	}
	revealed, err = s.fill(aligned(sample.Length), queries, false, func(x, _ []float64) { r.Reveal(x) })
	return sample, revealed, err
}

// aligned returns the smallest valid offset of a table that is not less than offset.
func aligned(offset uint64) uint64 { return (offset + 63) / 64 * 64 }

// tableAt describes a table at an offset of a place.
func tableAt(place pluginv1.Table_Place, offset uint64, l *dataset.Layout) *pluginv1.Table {
	return &pluginv1.Table{
		Place: place, Offset: offset, Length: uint64(l.Size()), Rows: uint64(l.Rows), Dim: uint32(l.Dim),
		XAt: uint64(l.XAt), YAt: uint64(l.YAt),
	}
}

// A sessionMemory is the memory that a process shares with its host for tables. Concurrent use is safe.
type sessionMemory struct {
	*dataset.Memory
	mu   sync.Mutex
	last *filled // present table; nil: none
}

// close frees the memory.
func (m *sessionMemory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.Close()
}

// A filled describes a table. The next table with the same shape needs no other layout.
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

// fill writes a table into the session's memory at an offset, with the numbers that the caller draws. The caller draws
// in private memory: while points are drawn, they may show what the finished ones do not, such as a label before noise,
// or how far an adversary moves a point to the target's edge.
func (s *Session) fill(offset uint64, rows int, labelled bool, draw func(x, y []float64)) (*pluginv1.Table, error) {
	m := s.p.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.Bytes()
	if b == nil {
		return nil, s.p.child.gone("idle")
	}
	if want := (shape{offset, rows, s.dim(), labelled}); m.last == nil || m.last.shape != want {
		l, err := dataset.NewLayout(rows, s.dim(), labelled)
		if err != nil {
			return nil, err
		}
		if need := int64(offset) + int64(l.Size()); need > int64(len(b)) {
			return nil, &SizeError{Need: need, Have: int64(len(b))}
		}
		l.Init(b[offset:])
		m.last = &filled{want, l, tableAt(pluginv1.Table_PLACE_SESSION, offset, l)}
	}
	l := m.last.layout
	x, y := l.X(b[offset:]), l.Y(b[offset:])
	drawn, _ := drafts.Get().(*[]float64)
	if drawn == nil {
		drawn = new([]float64)
	}
	defer drafts.Put(drawn)
	*drawn = slices.Grow((*drawn)[:0], len(x)+len(y))[:len(x)+len(y)]
	draw((*drawn)[:len(x)], (*drawn)[len(x):])
	copy(x, *drawn)
	copy(y, (*drawn)[len(x):])
	return m.last.table, nil
}

// drafts holds *[]float64 for tables that are being drawn. Processes share them, because few draw at the same time.
var drafts sync.Pool

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
