package algo

import (
	"fmt"
	"math"
	"os"
	"sync"
	"unsafe"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// places holds the memory files that this process inherited. Each is mapped when it is first needed
// and stays mapped.
type places struct {
	session, dataset func() ([]byte, error)
	points           func() (*table, error) // the dataset, opened once
}

// inherited returns the places at the descriptors that a host passes to a plugin.
func inherited() *places {
	p := &places{
		session: sync.OnceValues(func() ([]byte, error) { return mapped(pluginv1.SessionFD, "session") }),
		dataset: sync.OnceValues(func() ([]byte, error) { return mapped(pluginv1.DatasetFD, "dataset") }),
	}
	p.points = sync.OnceValues(func() (*table, error) {
		b, err := p.dataset()
		if err != nil {
			return nil, err
		}
		return decode(b, false)
	})
	return p
}

// mapped maps the memory file at descriptor fd.
func mapped(fd uintptr, name string) ([]byte, error) {
	m, err := dataset.MapFile(os.NewFile(fd, name))
	if err != nil {
		return nil, fmt.Errorf("map the %s memory at descriptor %d: %w", name, fd, err)
	}
	return m.Bytes(), nil
}

// table is a table of points, with labels if it is a sample. Its slices are views into memory that
// the worker writes.
type table struct {
	x, y []float64 // x is row-major; y is nil without labels
	rows int
	dim  int // numbers per row
}

// open decodes the table that a message names, and checks that it has the shape that the message
// states.
func (p *places) open(w *pluginv1.Table, labelled bool) (*table, error) {
	t, err := p.find(w, labelled)
	if err != nil {
		return nil, err
	}
	if uint64(t.rows) != w.GetRows() || uint64(t.dim) != uint64(w.GetDim()) {
		return nil, fmt.Errorf("the table has %d rows of %d numbers, its message says %d of %d",
			t.rows, t.dim, w.GetRows(), w.GetDim())
	}
	return t, nil
}

// find decodes the table that a message names.
func (p *places) find(w *pluginv1.Table, labelled bool) (*table, error) {
	switch w.GetPlace() {
	case pluginv1.Table_PLACE_DATASET:
		return p.points()
	case pluginv1.Table_PLACE_SESSION:
		b, err := p.session()
		if err != nil {
			return nil, err
		}
		size := uint64(len(b))
		if w.GetOffset() > size || w.GetLength() > size-w.GetOffset() {
			return nil, fmt.Errorf("the table is said to lie at %d+%d of %d bytes", w.GetOffset(), w.GetLength(), size)
		}
		return decode(b[w.GetOffset():w.GetOffset()+w.GetLength()], labelled)
	}
	return nil, fmt.Errorf("the table lies in an unknown place, %v", w.GetPlace())
}

// decode decodes a table, whose labels it needs if it is labelled.
func decode(b []byte, labelled bool) (*table, error) {
	d, err := dataset.Decode(b)
	if err != nil {
		return nil, err
	}
	t := &table{rows: d.Rows()}
	if t.x, t.dim, err = d.List("x"); err != nil {
		return nil, err
	}
	if labelled {
		t.y, err = d.Float64("y")
	}
	return t, err
}

// slice sets d to the n rows of the table that begin at row first.
func (t *table) slice(d *Data, first, n int) {
	d.n, d.dim = n, t.dim
	d.x = t.x[first*t.dim : (first+n)*t.dim : (first+n)*t.dim]
	d.y = nil
	if t.y != nil {
		d.y = t.y[first : first+n : first+n]
	}
}

// fillNaN sets all numbers of v to NaN.
func fillNaN(v []float64) {
	for i := range v {
		v[i] = math.NaN()
	}
}

// bytesOf returns a view of v as packed little-endian float64. As in pipeline/dataset, big-endian
// machines are not supported.
func bytesOf(v []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}
