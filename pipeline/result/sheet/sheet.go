// Package sheet holds tables of a result with their columns, and reads and writes them as
// Parquet.
//
// Equal rows give equal bytes. Reading a damaged or hostile file returns an error. Start with
// Sheet, ReadTable and ParquetWriter.
package sheet

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/shatterlab/shatter/schemas"
)

// A Sheet is an immutable table with an Arrow array for each column. A value is nil, a string, an
// int64, a float64 or a bool, according to the type of its column.
type Sheet struct {
	Name    string // table, curve, bounds, fits or timing
	Columns []schemas.Column
	rows    int
	values  []arrow.Array // one array per column, of the type of ArrowType

	Confidence float64  // probability that no bracket of the table is wrong; 0: none is stated
	Origin     []string // metadata for OriginKeys, alternating keys and values; nil: none
	Title      string   // description of the sweep and its result: a comment in tex

	Notes []string // lines below the table in formats for reading; not part of the result
}

// New creates a sheet of rows, whose values it reads with the columns.
func New[Row any](name string, columns []schemas.ColumnOf[Row], rows iter.Seq[Row]) (s *Sheet, err error) {
	for s, err = range batches(name, columns, rows, math.MaxInt) {
	}
	return s, err
}

// batches creates sheets of size rows each, except for the last one. There is at least one sheet,
// and none after an error.
func batches[Row any](
	name string, columns []schemas.ColumnOf[Row], rows iter.Seq[Row], size int,
) iter.Seq2[*Sheet, error] {
	return func(yield func(*Sheet, error) bool) {
		plain := schemas.Plain(columns)
		b := array.NewRecordBuilder(memory.DefaultAllocator, ArrowSchema(name, plain))
		total, count := 0, 0
		batch := func() *Sheet {
			s := &Sheet{Name: name, Columns: plain, rows: count, values: b.NewRecord().Columns()}
			count = 0
			return s
		}
		var row Row // one variable for all rows, because the columns receive its address
		for row = range rows {
			if count == size && !yield(batch(), nil) {
				return
			}
			for j, c := range columns {
				if err := appendValue(b.Field(j), c.Value(&row)); err != nil {
					yield(nil, fmt.Errorf("write %s, row %d, column %q: %w", name, total, c.Name, err))
					return
				}
			}
			total, count = total+1, count+1
		}
		yield(batch(), nil)
	}
}

// Of creates a sheet of rows, each of which has a value for each column. It panics if a value
// does not fit its column.
func Of(name string, columns []schemas.Column, rows ...[]any) *Sheet {
	s := &Sheet{Name: name, Columns: columns, rows: len(rows)}
	for j, c := range columns {
		s.values = append(s.values, gather(c.Type, len(rows), func(i int) any { return rows[i][j] }))
	}
	return s
}

// gather creates the array of a column. It panics if a value does not fit the type.
func gather(t schemas.ColumnType, rows int, value func(row int) any) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, ArrowType(t))
	b.Reserve(rows)
	for row := range rows {
		if err := appendValue(b, value(row)); err != nil {
			panic(err)
		}
	}
	return b.NewArray()
}

// appendValue appends a value to the builder of a column. Other rows may have widened the
// column's type.
func appendValue(to array.Builder, v any) error {
	if v == nil {
		to.AppendNull()
		return nil
	}
	switch b := to.(type) {
	case *array.StringBuilder:
		b.Append(strings.ToValidUTF8(Text(v), "\uFFFD"))
		return nil
	case *array.Int64Builder:
		if x, ok := v.(int64); ok {
			b.Append(x)
			return nil
		}
	case *array.Float64Builder:
		switch x := v.(type) {
		case float64:
			b.Append(x)
			return nil
		case int64:
			b.Append(float64(x))
			return nil
		}
	case *array.BooleanBuilder:
		if x, ok := v.(bool); ok {
			b.Append(x)
			return nil
		}
	}
	return fmt.Errorf("%T %v in a column of %s", v, v, to.Type())
}

// ColumnsOf returns the columns for the fields of an Arrow schema.
func ColumnsOf(s *arrow.Schema) (columns []schemas.Column) {
	for _, f := range s.Fields() {
		columns = append(columns, schemas.Column{Name: f.Name, Type: ColumnType(f.Type)})
	}
	return columns
}

// RowOf returns row i of a record as values of a sheet.
func RowOf(rec arrow.Record, i int) []any {
	row := make([]any, rec.NumCols())
	for j, c := range rec.Columns() {
		row[j] = ValueAt(c, i)
	}
	return row
}

// ValueAt returns element i of an array as a value of a sheet.
func ValueAt(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Int64:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Boolean:
		return a.Value(i)
	}
	return strings.ToValidUTF8(a.ValueStr(i), "\uFFFD")
}

// Len returns the number of rows.
func (s *Sheet) Len() int { return s.rows }

// At returns the value of a row in a column.
func (s *Sheet) At(row, column int) any { return ValueAt(s.values[column], row) }

// Index returns the index of the column of a name, or -1.
func (s *Sheet) Index(column string) int { return schemas.IndexOf(s.Columns, column) }

// Value returns the value of a row in the named column, or nil if there is no such column.
func (s *Sheet) Value(row int, column string) any {
	if i := s.Index(column); i >= 0 {
		return s.At(row, i)
	}
	return nil
}

// Number returns the value of a row in the named column as a number, or NaN if it is not a
// number.
func (s *Sheet) Number(row int, column string) float64 {
	switch v := s.Value(row, column).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// A Partition numbers sets of rows: rows with the same number belong to the same set.
type Partition struct {
	Of   []int // number of the set, by row
	Sets int
}

// Whole returns the partition in which all rows belong to one set.
func (s *Sheet) Whole() Partition { return Partition{make([]int, s.rows), 1} }

// Refine splits the sets of a partition by the values of a column.
func (s *Sheet) Refine(p Partition, column string) Partition {
	type part struct {
		set   int
		value any
	}
	numbers, of := map[part]int{}, make([]int, s.rows)
	for row := range of {
		key := part{p.Of[row], s.Value(row, column)}
		if _, known := numbers[key]; !known {
			numbers[key] = len(numbers)
		}
		of[row] = numbers[key]
	}
	return Partition{of, len(numbers)}
}

// Row returns the values of a row.
func (s *Sheet) Row(row int) []any {
	values := make([]any, len(s.values))
	for i := range values {
		values[i] = s.At(row, i)
	}
	return values
}

// Rows returns the values of all rows.
func (s *Sheet) Rows() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for row := range s.rows {
			if !yield(s.Row(row)) {
				return
			}
		}
	}
}

// Record returns the sheet as an Arrow record with the metadata of its file.
func (s *Sheet) Record() arrow.Record {
	further := slices.Clone(s.Origin)
	if s.Confidence != 0 {
		further = append(further, ConfidenceKey, Text(s.Confidence))
	}
	return array.NewRecord(ArrowSchema(s.Name, s.Columns, further...), s.values, int64(s.rows))
}

// Take returns the sheet with the given rows, in their order.
func (s *Sheet) Take(rows []int) *Sheet {
	kept := *s
	kept.rows, kept.values = len(rows), make([]arrow.Array, len(s.values))
	for i, c := range s.Columns {
		kept.values[i] = gather(c.Type, len(rows), func(row int) any { return s.At(rows[row], i) })
	}
	return &kept
}

// Filter returns the sheet with the rows for which keep returns true.
func (s *Sheet) Filter(keep func(row int) bool) *Sheet {
	var rows []int
	for row := range s.rows {
		if keep(row) {
			rows = append(rows, row)
		}
	}
	return s.Take(rows)
}

// Replace returns the sheet with other values in a column.
func (s *Sheet) Replace(column int, value func(row int) any) *Sheet {
	changed := *s
	changed.values = slices.Clone(s.values)
	changed.values[column] = gather(s.Columns[column].Type, s.rows, value)
	return &changed
}

// Insert returns the sheet with a further column before the one of an index, or at the end if the index
// is the number of columns.
func (s *Sheet) Insert(before int, c schemas.Column, value func(row int) any) *Sheet {
	joined := *s
	joined.Columns = slices.Insert(slices.Clone(s.Columns), before, c)
	joined.values = slices.Insert(slices.Clone(s.values), before, gather(c.Type, s.rows, value))
	return &joined
}

// Distinct returns the values of a column, each once, in the order of the rows.
func (s *Sheet) Distinct(column int) (distinct []any) {
	seen := map[any]bool{}
	for row := range s.rows {
		if v := s.At(row, column); !seen[v] {
			seen[v] = true
			distinct = append(distinct, v)
		}
	}
	return distinct
}

// JoinTypes returns the type of a column that can hold values of both types: float for integers
// and floats, otherwise text. An empty type joins with any other.
func JoinTypes(a, b schemas.ColumnType) schemas.ColumnType {
	number := func(t schemas.ColumnType) bool { return t == schemas.IntColumn || t == schemas.FloatColumn }
	switch {
	case a == "" || a == b:
		return b
	case number(a) && number(b):
		return schemas.FloatColumn
	}
	return schemas.TextColumn
}

// Text returns a value with all its digits, or an empty text for null.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return fmt.Sprint(v)
}

// Finite returns v, or NaN if it is infinite.
func Finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// Union returns a sheet with the rows of all sheets, which have one name, and with the columns of all. A column that a
// sheet lacks is null in its rows.
func Union(sheets []*Sheet) *Sheet {
	var columns []schemas.Column
	wrong := 0.0 // probability that a bracket is wrong
	for _, s := range sheets {
		if s.Confidence > 0 {
			wrong += 1 - s.Confidence
		}
		last := -1 // index of the last column; a new column is inserted after it
		for _, c := range s.Columns {
			at := schemas.IndexOf(columns, c.Name)
			if at < 0 {
				at = last + 1
				columns = slices.Insert(columns, at, c)
			} else {
				columns[at].Type = JoinTypes(columns[at].Type, c.Type)
			}
			last = at
		}
	}
	out := &Sheet{Name: sheets[0].Name, Columns: columns}
	for _, c := range columns {
		var values []any
		for _, s := range sheets {
			from := s.Index(c.Name)
			for row := range s.rows {
				var v any
				if from >= 0 {
					v = s.At(row, from)
				}
				values = append(values, v)
			}
		}
		out.rows = len(values)
		out.values = append(out.values, gather(c.Type, out.rows, func(row int) any { return values[row] }))
	}
	if wrong > 0 {
		out.Confidence = max(0, 1-wrong)
	}
	return out
}
