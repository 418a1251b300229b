package population

import "github.com/shatterlab/shatter/pipeline/dataset"

// Seal copies the features to a table in shared memory, see Table. order lists the rows of the file in
// the order of the table; nil: the order of the file. After an error, r has no features.
func (r *Rows) Seal(order []int32) error {
	from := r.X
	r.X = nil
	schema := dataset.Schema{Columns: []dataset.Column{{Name: "x", Type: dataset.List, Width: r.Dim}}}
	layout, err := dataset.Plan(schema, len(r.Y), nil)
	if err != nil {
		return err
	}
	if r.memory, err = dataset.NewMemory("shatter-dataset", int64(layout.Size())); err != nil {
		return err
	}
	layout.Init(r.memory.Bytes())
	r.X = layout.List(r.memory.Bytes(), 0)
	if order == nil {
		copy(r.X, from)
		return nil
	}
	r.At = make([]int32, len(order))
	for place, row := range order {
		r.At[row] = int32(place)
		copy(r.X[place*r.Dim:(place+1)*r.Dim], from[int(row)*r.Dim:])
	}
	return nil
}

// Gone returns what remains known of r without its rows.
func (r *Rows) Gone() *Rows { return &Rows{Dim: r.Dim, Pulled: r.Pulled} }

// Table returns the table that Seal has made: an Arrow file with one column "x", the rows without
// their labels. It is nil before, and after Close.
func (r *Rows) Table() *dataset.Memory { return r.memory }

// Close frees the memory of the rows. Their numbers must not be used any more.
func (r *Rows) Close() (err error) {
	if r.memory != nil {
		err = r.memory.Close()
	}
	r.memory, r.X = nil, nil
	return err
}
