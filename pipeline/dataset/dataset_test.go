package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"pgregory.net/rapid"
)

// The Arrow library reads the output of Init and of the caller, in memory that had other content
// before. Numbers begin at multiples of 64.
func TestArrowReadsOurs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, dim := rapid.IntRange(0, 40).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "dim")
		labelled := rapid.Bool().Draw(t, "labelled")
		l, err := NewLayout(rows, dim, labelled)
		if err != nil {
			t.Fatal(err)
		}
		b := bytes.Repeat([]byte{0xAA}, l.Size())
		x := rapid.SliceOfN(rapid.Float64(), rows*dim, rows*dim).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64(), rows, rows).Draw(t, "y")
		copy(l.X(b), x)
		copy(l.Y(b), y)
		l.Init(b)
		if l.XAt%64 != 0 || l.YAt%64 != 0 || (l.YAt > 0) != labelled || (l.Y(b) != nil) != labelled {
			t.Errorf("%+v", l)
		}
		r, err := ipc.NewFileReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		rec, err := r.Record(0)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"x", "y"}[:rec.NumCols()]
		if r.NumRecords() != 1 || r.Version() != ipc.MetadataV5 || int(rec.NumRows()) != rows || len(names) == 2 != labelled {
			t.Fatalf("%d records, version %v, %v", r.NumRecords(), r.Version(), rec)
		}
		for i, name := range names {
			if f := rec.Schema().Field(i); f.Name != name || f.Nullable {
				t.Errorf("column %v", f)
			}
		}
		points := rec.Column(0).(*array.FixedSizeList)
		got := points.ListValues().(*array.Float64).Float64Values()
		if points.DataType().String() != fmt.Sprintf("fixed_size_list<item: float64>[%d]", dim) || !slices.Equal(got, x) {
			t.Errorf("%v is not %v", points, x)
		}
		if labelled && !slices.Equal(rec.Column(1).(*array.Float64).Float64Values(), y) {
			t.Errorf("%v is not %v", rec.Column(1), y)
		}
	})
}

func TestNewLayoutRefuses(t *testing.T) {
	for _, c := range []struct {
		rows, dim int
		want      string
	}{
		{-1, 1, "-1 rows"}, {1, 0, "dimension 0"}, {1, 1 << 31, "at least 0 and 1 are needed"},
		{1 << 42, 16, "more than 70368744177664 bytes"}, {1 << 62, 1, "more than"},
	} {
		if _, err := NewLayout(c.rows, c.dim, true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d rows of dimension %d: %v, want %q", c.rows, c.dim, err, c.want)
		}
	}
}
