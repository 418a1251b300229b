package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/schemas"
)

// Columns are inserted and replaced in a copy.
func TestInsert(t *testing.T) {
	whole := schemas.Column{Name: "n", Type: schemas.IntColumn}
	s := Of("table", []schemas.Column{{Name: "cell", Type: schemas.TextColumn}}, []any{"a"}, []any{"b"})
	joined := s.Insert(0, whole, func(row int) any { return int64(row) }).Insert(2, whole, func(int) any { return nil })
	changed := joined.Replace(1, func(row int) any { return []any{"x", nil}[row] })
	for _, tt := range []struct {
		of   *Sheet
		want [][]any
	}{
		{s, [][]any{{"a"}, {"b"}}},
		{joined, [][]any{{int64(0), "a", nil}, {int64(1), "b", nil}}},
		{changed, [][]any{{int64(0), "x", nil}, {int64(1), nil, nil}}},
	} {
		if diff := cmp.Diff(tt.want, slices.Collect(tt.of.Rows())); diff != "" {
			t.Error(diff)
		}
	}
}

// All pages of a column have one encoding, for any number of distinct labels, because the Parquet
// library writes the list of two encodings in random order.
func TestManyLabels(t *testing.T) {
	encodings := func(rows int) string {
		cell := schemas.Column{Name: "cell", Type: schemas.TextColumn}
		s := Of("table", nil, make([][]any, rows)...).Insert(0, cell, func(row int) any { return fmt.Sprintf("%010x", row) })
		path := filepath.Join(t.TempDir(), "table.parquet")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := writeParquet(s, f); err != nil {
			t.Fatal(err)
		}
		r, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.ParquetReader().Close()
		c, err := r.ParquetReader().MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(c.Encodings())
	}
	if few, many := encodings(3), encodings(RowGroup); few != many {
		t.Errorf("many labels have the encodings %s, few %s", many, few)
	}
}

// A sheet keeps its original values when rows are selected, and when it is written and read.
func TestValues(t *testing.T) {
	columns := []schemas.Column{{Name: "text", Type: schemas.TextColumn}, {Name: "int", Type: schemas.IntColumn},
		{Name: "float", Type: schemas.FloatColumn}, {Name: "bool", Type: schemas.BoolColumn}}
	values := []*rapid.Generator[any]{
		rapid.SampledFrom([]any{nil, "", "a", "b"}), rapid.SampledFrom([]any{nil, int64(0), int64(-1), int64(1 << 62)}),
		rapid.SampledFrom([]any{nil, 0.0, 1.5, math.Inf(1)}), rapid.SampledFrom([]any{nil, true, false})}
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var want [][]any
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			var row []any
			for i, v := range values {
				row = append(row, v.Draw(t, columns[i].Name))
			}
			want = append(want, row)
		}
		s := Of("table", columns, want...)
		var file bytes.Buffer
		if err := writeParquet(s, &file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "table.parquet"), file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		read, err := ReadTable(dir, "table")
		if err != nil {
			t.Fatal(err)
		}
		taken := rapid.SliceOfN(rapid.IntRange(0, max(0, len(want)-1)), 0, 2*len(want)).Draw(t, "taken")
		for _, s := range []*Sheet{s, read} {
			if diff := cmp.Diff(want, slices.Collect(s.Rows())); diff != "" || len(want) != s.Len() {
				t.Fatal(diff)
			}
			for i, row := range slices.Collect(s.Take(taken).Rows()) {
				if diff := cmp.Diff(want[taken[i]], row); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	})
}

// writeParquet writes the sheet to a file.
func writeParquet(s *Sheet, w io.Writer) error {
	rec := s.Record()
	to, err := NewParquetWriter(w, rec.Schema())
	if err != nil {
		return err
	}
	return errors.Join(to.Write(rec), to.Close())
}
