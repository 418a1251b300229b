package population

import "github.com/shatterlab/shatter/pipeline/dataset"

// Seal copies the features to a table in shared memory, see Table. order lists the rows of the file
// in the order of the table; nil: the order of the file. After an error, r has no features.
func (r *Rows) Seal(order []int32) error {
	from := r.X
	r.X, r.Report = nil, nil
	var err error
	if r.table, err = dataset.NewTable("shatter-dataset", len(r.Y), r.Dim); err != nil {
		return err
	}
	r.X = r.table.Points()
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

// Table returns the table that Seal has made, the rows without their labels. It is nil before, and
// after Close.
func (r *Rows) Table() *dataset.Table { return r.table }

// Close frees the memory of the rows. Their numbers must not be used any more.
func (r *Rows) Close() (err error) {
	if r.table != nil {
		err = r.table.Close()
	}
	r.table, r.X = nil, nil
	return err
}
