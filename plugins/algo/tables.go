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

// places are the memory files that this process inherited, each mapped when it is first needed and then for good.
type places struct {
	session, dataset func() ([]byte, error)
	points           func() (*table, error) // the dataset, opened once
}

// inherited is the places that a host gave us.
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

func mapped(fd uintptr, name string) ([]byte, error) {
	m, err := dataset.MapFile(os.NewFile(fd, name))
	if err != nil {
		return nil, fmt.Errorf("map the %s memory at descriptor %d: %w", name, fd, err)
	}
	return m.Bytes(), nil
}

// table is rows of points, with labels in a sample: views into memory that somebody else writes.
type table struct {
	x, y []float64
	rows int
	dim  int
}

// open finds a table, and checks that it has the shape that its message says.
func (p *places) open(w *pluginv1.Table, labelled bool) (*table, error) {
	t, err := p.find(w, labelled)
	if err != nil {
		return nil, err
	}
	if uint64(t.rows) != w.GetRows() || uint64(t.dim) != uint64(w.GetDim()) {
		return nil, fmt.Errorf("the table has %d rows of %d numbers, its message says %d of %d", t.rows, t.dim, w.GetRows(), w.GetDim())
	}
	return t, nil
}

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

// slice sets d to rows from..from+n-1 of the table.
func (t *table) slice(d *Data, from, n int) {
	d.n, d.dim = n, t.dim
	d.x = t.x[from*t.dim : (from+n)*t.dim : (from+n)*t.dim]
	d.y = nil
	if t.y != nil {
		d.y = t.y[from : from+n : from+n]
	}
}

func fillNaN(v []float64) {
	for i := range v {
		v[i] = math.NaN()
	}
}

// bytesOf is v as packed little-endian float64, a view: as in pipeline/dataset, machines of the other order are not supported.
func bytesOf(v []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}
