package population

import (
	"slices"
	"unsafe"

	"github.com/shatterlab/shatter/pipeline/dataset"
)

// layoutOf returns the layout of a table of features.
func layoutOf(rows, dim int) (*dataset.Layout, error) {
	schema := dataset.Schema{Columns: []dataset.Column{{Name: "x", Type: dataset.List, Width: dim}}}
	return dataset.Plan(schema, rows, nil)
}

// open makes an empty memory file for the numbers of t.
func (t *table) open() error {
	layout, err := layoutOf(1, 1)
	if err != nil {
		return err
	}
	t.at = int(layout.At(0))
	t.memory, err = dataset.NewGrowing("shatter-dataset")
	return err
}

// resize sets the length of t.numbers. New numbers have any value. The file grows by half, because
// pages that were never written take no memory.
func (t *table) resize(n int) error {
	if need := t.at + 8*n; need > len(t.b) {
		b, err := t.memory.Resize(int64(need + need/2))
		if err != nil {
			return refuse("data.file", "%s: no memory for %d numbers: %v", t.spec.File, n, err)
		}
		t.b = b
	}
	t.numbers = floats(t.b, t.at, n)
	return nil
}

// floats returns the n numbers in b that start at a byte.
func floats(b []byte, at, n int) []float64 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&b[at])), n)
}

// Seal makes a table of the rows, see Table, and fixes it. order lists the rows of the file in the order
// of the table; nil: the order of the file. After an error, r is closed.
func (r *Rows) Seal(order []int32) error {
	if order != nil {
		r.arrange(order)
	}
	err := r.seal()
	if err != nil {
		_ = r.Close() // err is the cause
	}
	return err
}

func (r *Rows) seal() error {
	layout, err := layoutOf(len(r.Y), r.Dim)
	if err != nil {
		return err
	}
	size, at, bytes := layout.Size(), int(layout.At(0)), 8*len(r.X)
	b, err := r.growing.Resize(int64(max(size, r.at+bytes)))
	if err != nil {
		return err
	}
	copy(b[at:], b[r.at:r.at+bytes]) // the numbers rarely move
	if b, err = r.growing.Resize(int64(size)); err != nil {
		return err
	}
	layout.Init(b)
	r.X = layout.List(b, 0)
	r.memory, err = r.growing.Seal()
	if err == nil {
		r.growing = nil
	}
	return err
}

// Gone returns what remains known of r without its rows.
func (r *Rows) Gone() *Rows { return &Rows{Dim: r.Dim, Pulled: r.Pulled} }

// Table returns the table that Seal has made: an Arrow file with one column "x", the rows without
// their labels. It is nil before, and after Close.
func (r *Rows) Table() *dataset.Memory { return r.memory }

// Close frees the memory of the rows. Their numbers must not be used any more.
func (r *Rows) Close() (err error) {
	switch {
	case r.memory != nil:
		err = r.memory.Close()
	case r.growing != nil:
		err = r.growing.Close()
	}
	r.memory, r.growing, r.X = nil, nil, nil
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
