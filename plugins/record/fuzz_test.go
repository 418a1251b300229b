package record

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/dataset"
)

// Whatever a file holds, it is a record, whose points can all be read, or an error.
func FuzzDecode(f *testing.F) {
	r := example()
	r.Fault = "panic: one"
	b, err := r.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte("ARROW1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(dataset.Align(b))
		if err != nil {
			return
		}
		if r.Setting == nil || r.Dim < 1 || len(r.X) != r.Dim*len(r.Rows) {
			t.Fatalf("%d rows of %d numbers with %d points: %v", len(r.Rows), r.Dim, len(r.X), r.Setting)
		}
		for i := range r.Rows {
			_ = r.PointOf(i)
		}
	})
}
