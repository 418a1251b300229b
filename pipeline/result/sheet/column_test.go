package sheet

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/schemas"
)

// A column gives back what it was made of, to the bit, whatever rows are taken of it.
func TestColumn(t *testing.T) {
	values := []any{nil, "", "a", "b", int64(0), int64(1), 0.0, math.Copysign(0, -1), 1.5, math.NaN(), true, false}
	bits := func(v any) any {
		if f, ok := v.(float64); ok {
			return math.Float64bits(f)
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SampledFrom(values), 0, 40).Draw(t, "values")
		c := gather(len(want), func(row int) any { return want[row] })
		s := &Sheet{rows: len(want), values: []column{c}}
		for row, v := range want {
			if got := s.At(row, 0); bits(got) != bits(v) {
				t.Fatalf("row %d is %v, not %v", row, got, v)
			}
		}
		var distinct []any
		for _, v := range want {
			if !slices.ContainsFunc(distinct, func(old any) bool { return bits(old) == bits(v) }) {
				distinct = append(distinct, v)
			}
		}
		if got := s.Distinct(0); fmt.Sprint(got) != fmt.Sprint(distinct) || len(c.values) != len(distinct) {
			t.Fatalf("distinct values %v, not %v", got, distinct)
		}
		if len(want) == 0 {
			return
		}
		rows := rapid.SliceOfN(rapid.IntRange(0, len(want)-1), 0, 40).Draw(t, "rows")
		taken := s.Take(rows)
		for i, row := range rows {
			if got := taken.At(i, 0); bits(got) != bits(want[row]) {
				t.Fatalf("row %d of those that were taken is %v, not %v", i, got, want[row])
			}
		}
	})
}

// A column of any number of different values gives back what it was made of, in a byte a row where these
// are few.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ different, bytes int }{{1, 0}, {256, 1}, {257, 2}, {1 << 16, 2}, {1<<16 + 1, 4}} {
		const rows = 1<<16 + 10
		value := func(row int) any { return int64(row % tt.different) }
		c := gather(rows, value)
		for row := range rows {
			if got := c.at(row); got != value(row) {
				t.Fatalf("%d different values: row %d is %v, not %v", tt.different, row, got, value(row))
			}
		}
		if got := len(c.places.bytes); got != rows*tt.bytes {
			t.Errorf("%d different values: %d rows take %d bytes, not %d each", tt.different, rows, got, tt.bytes)
		}
	}
}

// Columns are inserted and replaced in a copy.
func TestInsert(t *testing.T) {
	whole := schemas.Column{Name: "n", Type: schemas.IntColumn}
	s := Of("table", []schemas.Column{{Name: "cell", Type: schemas.TextColumn}}, []any{"a"}, []any{"b"})
	joined := s.Insert(0, whole, func(row int) any { return int64(row) }).Insert(2, whole, func(int) any { return nil })
	changed := joined.Replace(1, func(row int) any { return row == 1 })
	for _, tt := range []struct {
		of   *Sheet
		want [][]any
	}{
		{s, [][]any{{"a"}, {"b"}}},
		{joined, [][]any{{int64(0), "a", nil}, {int64(1), "b", nil}}},
		{changed, [][]any{{int64(0), false, nil}, {int64(1), true, nil}}},
	} {
		if diff := cmp.Diff(tt.want, slices.Collect(tt.of.Rows())); diff != "" {
			t.Error(diff)
		}
	}
}

// However many different labels a column has, all its pages have one encoding: of two, the Parquet
// library writes the list in any order.
func TestManyLabels(t *testing.T) {
	encodings := func(rows int) string {
		cell := schemas.Column{Name: "cell", Type: schemas.TextColumn, Label: true}
		s := &Sheet{Name: "table", rows: rows, Columns: []schemas.Column{cell}}
		s.values = []column{gather(rows, func(row int) any { return fmt.Sprintf("%010x", row) })}
		path := filepath.Join(t.TempDir(), "table.parquet")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := s.WriteParquet(f); err != nil {
			t.Fatal(err)
		}
		r, err := OpenParquet(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		c, err := r.File.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(c.Encodings())
	}
	if few, many := encodings(3), encodings(RowGroup); few != many {
		t.Errorf("many labels have the encodings %s, few %s", many, few)
	}
}

// A column that is read as texts or as numbers is the one that is read as values, and rows whose value was
// seen take no memory of their own.
func TestReadTyped(t *testing.T) {
	texts := []string{"a", "", "a", "b", "\xff", "b", "\xff", "\uFFFD", "", "a"}
	numbers := []float64{1, math.NaN(), 0, math.Copysign(0, -1), 1, 2.5, math.Inf(1), 2.5, math.NaN(), 0}
	text := schemas.ColumnOf[int]{
		Column: schemas.Column{Name: "text", Type: schemas.TextColumn},
		Value:  func(row *int) any { return schemas.Nonzero(texts[*row]) },
	}
	number := schemas.ColumnOf[int]{
		Column: schemas.Column{Name: "number", Type: schemas.FloatColumn},
		Value:  func(row *int) any { return schemas.Clean(numbers[*row]) },
	}
	rows := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	want, err := New("x", []schemas.ColumnOf[int]{text, number}, rows)
	if err != nil {
		t.Fatal(err)
	}
	text.Text = func(row *int) string { return texts[*row] }
	number.Number = func(row *int) float64 { return numbers[*row] }
	got, err := New("x", []schemas.ColumnOf[int]{text, number}, rows)
	if err != nil {
		t.Fatal(err)
	}
	if textOf(got) != textOf(want) {
		t.Errorf("%s, want %s", textOf(got), textOf(want))
	}
	for i := range got.values {
		if !slices.Equal(got.values[i].values, want.values[i].values) {
			t.Errorf("values %v, want %v", got.values[i].values, want.values[i].values)
		}
	}
	var seenTexts, seenNumbers gatherer
	seenTexts.addText("a text that was seen")
	seenNumbers.addNumber(1e9)
	allocs := testing.AllocsPerRun(100, func() {
		seenTexts.addText(strings.ToLower("a text that was seen"))
		seenNumbers.addNumber(1e9)
	})
	if allocs > 0 {
		t.Errorf("%v allocations for values that were seen", allocs)
	}
}
