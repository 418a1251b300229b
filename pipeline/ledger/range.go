package ledger

import (
	"fmt"
	"slices"
	"sync"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// Range reads from the files the outcomes of the cell at sample size n whose repetitions are from
// first to last-1, and calls fn as Each does, with these rows alone. Several goroutines may call it
// at a time.
func (l *Ledger) Range(cell [32]byte, n, first, last int64, fn func(*Batch) error) error {
	l.reading.RLock()
	defer l.reading.RUnlock()
	l.mu.Lock()
	owners, files := l.index.owners(cell, n, first, last), l.files[:len(l.files):len(l.files)]
	var frames []frameRef
	for _, owner := range owners {
		frames = append(frames, l.index.cells[cell].frames[owner])
	}
	l.mu.Unlock()
	to := buffers.Get().(*buffer)
	defer buffers.Put(to)
	for i, ref := range frames {
		f := files[ref.file].f
		b, err := to.read(f, ref)
		if err != nil {
			return fmt.Errorf("read %q at %d: %w", f.Name(), ref.at, err)
		}
		begin, _ := slices.BinarySearch(b.Repetition, first)
		end, _ := slices.BinarySearch(b.Repetition, last)
		b = b.slice(begin, end)
		l.mu.Lock()
		to.rows = l.index.owns(b, int(owners[i]), to.rows[:0])
		l.mu.Unlock()
		if err := fn(b.Select(to.rows)); err != nil {
			return err
		}
	}
	return nil
}

// buffer holds what Each and Range use again from call to call: it leaves nothing to collect.
type buffer struct {
	frame []byte
	rows  []int
}

// read reads the frame at ref of a file. The batch is valid until the next call.
func (to *buffer) read(f disk.File, ref frameRef) (*Batch, error) {
	size := frameSize(int(ref.length))
	to.frame = slices.Grow(to.frame[:0], size)[:size]
	return readFrame(f, ref, to.frame)
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// owners returns the numbers of the frames of a cell that brought outcomes of some repetitions,
// ascending.
func (x *index) owners(cell [32]byte, n, first, last int64) []uint32 {
	var all []uint32
	p := x.cells[cell].point(n)
	for i := p.seek(0, first); p != nil && i < len(p.rows) && int64(p.rows[i].repetition) < last; i++ {
		all = append(all, p.rows[i].owner)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// slice returns the rows of b from first to last-1, which share its columns.
func (b *Batch) slice(first, last int) *Batch {
	c := *b
	c.Repetition, c.Status, c.Error = b.Repetition[first:last], b.Status[first:last], b.Error[first:last]
	c.Values = make([][]float64, len(b.Values))
	for i, v := range b.Values {
		c.Values[i] = v[first:last]
	}
	if b.Kind != nil {
		c.Kind = b.Kind[first:last]
	}
	if b.Reason != nil {
		c.Reason = b.Reason[first:last]
	}
	return &c
}
