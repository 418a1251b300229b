package population

import (
	"slices"
	"unsafe"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas"
)

// space is the memory in which the features of a population lie.
type space interface {
	// resize returns n numbers: those that are there, then any.
	resize(n int) ([]float64, error)
}

// resize makes room for n numbers.
func (t *table) resize(n int) (err error) {
	if t.numbers, err = t.space.resize(n); err != nil {
		return refuse("data.file", "%s: no memory for %d numbers: %v", t.spec.File, n, err)
	}
	return nil
}

// heap is a space in the memory of this process.
type heap struct{ x []float64 }

func (h *heap) resize(n int) ([]float64, error) {
	h.x = extend(h.x[:min(n, len(h.x))], max(0, n-len(h.x)))
	return h.x, nil
}

// shared is a space in a memory file, where the one column of a table lies.
type shared struct {
	*dataset.Growing
	b  []byte
	at int // of the first number
}

// newShared returns an empty space.
func newShared() (*shared, error) {
	layout, err := layoutOf(1, 1)
	if err != nil {
		return nil, err
	}
	g, err := dataset.NewGrowing("shatter-dataset")
	return &shared{Growing: g, at: int(layout.At(0))}, err
}

// layoutOf returns the layout of a table of features.
func layoutOf(rows, dim int) (*dataset.Layout, error) {
	schema := dataset.Schema{Columns: []dataset.Column{{Name: "x", Type: dataset.List, Width: dim}}}
	return dataset.Plan(schema, rows, nil)
}

// resize makes the file half as long again as need be: what is not written takes no memory.
func (s *shared) resize(n int) (_ []float64, err error) {
	if need := s.at + 8*n; need > len(s.b) {
		if s.b, err = s.Resize(int64(need + need/2)); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&s.b[s.at])), n), nil
}

// table makes the space a table of its rows, whose size is fixed.
func (s *shared) table(rows, dim int) (*dataset.Memory, []float64, error) {
	layout, err := layoutOf(rows, dim)
	if err != nil {
		return nil, nil, err
	}
	size, at := layout.Size(), int(layout.At(0))
	if s.b, err = s.Resize(int64(max(size, s.at+8*rows*dim))); err != nil {
		return nil, nil, err
	}
	copy(s.b[at:], s.b[s.at:s.at+8*rows*dim]) // as a rule it is there already
	if s.b, err = s.Resize(int64(size)); err != nil {
		return nil, nil, err
	}
	layout.Init(s.b)
	m, err := s.Seal()
	return m, layout.List(s.b, 0), err
}

// ReadShared reads a population as Read does, into memory of its own that Close gives back. Seal makes
// it a table that can be shared with plugins.
func ReadShared(d *schemas.Data, class concept.Spec) (*Rows, error) {
	to, err := newShared()
	if err != nil {
		return nil, err
	}
	rows, err := readInto(d, class, to)
	if err != nil {
		_ = to.Close() // nothing was written to a disk
		return nil, err
	}
	rows.space = to
	return rows, nil
}

// Seal makes a table of the rows of ReadShared, see Table, and fixes it. order is that of the rows in
// the table, the row of the file by place; nil: the order of the file. After an error, r is closed.
func (r *Rows) Seal(order []int32) (err error) {
	if order != nil {
		r.arrange(order)
	}
	to := r.space
	r.space = nil
	if r.memory, r.X, err = to.table(len(r.Y), r.Dim); err != nil {
		_ = to.Close()
	}
	return err
}

// Shared says whether the rows lie in memory that Close gives back.
func (r *Rows) Shared() bool { return r.space != nil || r.memory != nil }

// Gone returns what remains known of r without its rows.
func (r *Rows) Gone() *Rows { return &Rows{Dim: r.Dim, Pulled: r.Pulled} }

// Table returns the table that Seal has made: an Arrow file with one column "x", the rows without
// their labels. It is nil before, and after Close.
func (r *Rows) Table() *dataset.Memory { return r.memory }

// Close gives the memory of ReadShared back. The numbers of rows must not be used any more.
func (r *Rows) Close() (err error) {
	switch {
	case r.memory != nil:
		err = r.memory.Close()
	case r.space != nil:
		err = r.space.Close()
	default:
		return nil
	}
	r.memory, r.space, r.X = nil, nil, nil
	return err
}

// arrange moves the rows of the file order[0], order[1], ... to the places 0, 1, ... It needs memory
// for one row, and for the place of each.
func (r *Rows) arrange(order []int32) {
	row := func(i int32) []float64 { return r.X[int(i)*r.Dim : (int(i)+1)*r.Dim] }
	first := make([]float64, r.Dim)
	r.At = slices.Repeat([]int32{-1}, len(order))
	for start := range order {
		if r.At[order[start]] >= 0 {
			continue // moved already
		}
		copy(first, row(int32(start)))
		place := int32(start)
		for ; order[place] != int32(start); place = order[place] {
			copy(row(place), row(order[place]))
			r.At[order[place]] = place
		}
		copy(row(place), first)
		r.At[start] = place
	}
}
