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

// places holds the memory files of a host. Each is mapped on first use and stays mapped.
type places struct {
	session, dataset func() ([]byte, error)
}

// inherited returns the places at the descriptors that a host passes to a plugin.
func inherited() *places {
	return placesAt(func(fd uintptr) *os.File { return os.NewFile(fd, "memory") })
}

// placesAt returns the places in the files that open returns, by the descriptors of a plugin that
// inherits them. A nil file is absent.
func placesAt(open func(fd uintptr) *os.File) *places {
	return &places{
		session: sync.OnceValues(func() ([]byte, error) { return mapped(open(pluginv1.SessionFD), "session") }),
		dataset: sync.OnceValues(func() ([]byte, error) { return mapped(open(pluginv1.DatasetFD), "dataset") }),
	}
}

// mapped maps a memory file.
func mapped(f *os.File, name string) ([]byte, error) {
	b, err := dataset.MapFile(f)
	if err != nil {
		return nil, fmt.Errorf("map the %s memory: %w", name, err)
	}
	return b, nil
}

// A table is a table of points, with labels if it is a sample. Its slices are views into memory
// that the worker writes.
type table struct {
	x, y []float64 // x is row-major; y is nil without labels
	rows int
	dim  int // numbers per row
}

// open returns the table that a message names.
func (p *places) open(w *pluginv1.Table, labelled bool) (*table, error) {
	var bytes func() ([]byte, error)
	switch w.GetPlace() {
	case pluginv1.Table_PLACE_DATASET:
		bytes = p.dataset
	case pluginv1.Table_PLACE_SESSION:
		bytes = p.session
	default:
		return nil, fmt.Errorf("the table is in an unknown place, %v", w.GetPlace())
	}
	b, err := bytes()
	if err != nil {
		return nil, err
	}
	size := uint64(len(b))
	if w.GetOffset() > size || w.GetLength() > size-w.GetOffset() {
		return nil, fmt.Errorf("wrong position: a table at %d+%d of %d bytes", w.GetOffset(), w.GetLength(), size)
	}
	return tableIn(b[w.GetOffset():w.GetOffset()+w.GetLength()], w, labelled)
}

// tableIn returns the table in b. Its message w states the offsets of the numbers.
func tableIn(b []byte, w *pluginv1.Table, labelled bool) (t *table, err error) {
	rows, dim := w.GetRows(), uint64(w.GetDim())
	if dim == 0 || rows > uint64(len(b))/8/dim {
		return nil, fmt.Errorf("%d rows of %d numbers do not fit %d bytes", rows, dim, len(b))
	}
	t = &table{rows: int(rows), dim: int(dim)}
	if t.x, err = floats(b, w.GetXAt(), rows*dim); err == nil && labelled {
		t.y, err = floats(b, w.GetYAt(), rows)
	}
	return t, err
}

// floats returns the n numbers at an offset in b. As in pipeline/dataset, big-endian machines are
// not supported.
func floats(b []byte, at, n uint64) ([]float64, error) {
	size := uint64(len(b))
	if at == 0 || at%8 != 0 || at > size || n > (size-at)/8 || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 != 0 {
		return nil, fmt.Errorf("wrong position: %d numbers at %d of %d bytes", n, at, size)
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b[at:]))), n), nil
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
