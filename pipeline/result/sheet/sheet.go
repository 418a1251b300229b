// Package sheet holds tables of a result with their columns, and reads and writes them as Parquet.
//
// It promises that equal rows give equal bytes, and that reading a file that is damaged or hostile
// ends with an error. Start with Sheet, ReadTable and ParquetWriter.
package sheet

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/schemas"
)

// Sheet is a table with its columns, as it is written, read and shown. A value is nil, a string, an
// int64, a float64 or a bool, as the type of its column says. Of each column every different value is
// kept once: grids repeat most of theirs in many rows.
type Sheet struct {
	Name    string // table, curve, bounds, fits or timing
	Columns []schemas.Column
	rows    int
	values  []column // as many as there are Columns

	Confidence float64 // that no bracket of the table is wrong; 0: none is stated
	Title      string  // of the sweep and its result: a comment in tex

	Notes []string // what formats for people say below the table; no part of the result
}

// New makes a sheet of rows, whose values it reads by way of the columns.
func New[Row any](name string, columns []schemas.ColumnOf[Row], rows []Row) (*Sheet, error) {
	return Stream(name, columns, slices.Values(rows))
}

// Stream makes a sheet as New does, of rows of which one at a time is in memory.
func Stream[Row any](name string, columns []schemas.ColumnOf[Row], rows iter.Seq[Row]) (*Sheet, error) {
	var whole *Sheet
	var err error
	for whole, err = range parts(name, columns, rows, math.MaxInt) {
	}
	return whole, err
}

// WriteStream writes the file of a result that the sheet of Stream is written to, of rows of which one row
// group at a time is in memory.
func WriteStream[Row any](w io.Writer, name string, columns []schemas.ColumnOf[Row], rows iter.Seq[Row]) error {
	sw, err := newSheetWriter(w, name, schemas.Plain(columns))
	if err != nil {
		return err
	}
	for s, e := range parts(name, columns, rows, RowGroup) {
		if err = e; err == nil {
			err = sw.write(s)
		}
		if err != nil {
			break
		}
	}
	return cmp.Or(err, sw.close())
}

// parts makes sheets of as many rows each as most, but for the last one. There is at least one, and none
// after an error.
func parts[Row any](
	name string, columns []schemas.ColumnOf[Row], rows iter.Seq[Row], most int,
) iter.Seq2[*Sheet, error] {
	return func(yield func(*Sheet, error) bool) {
		before, full, gathered := 0, 0, make([]gatherer, len(columns))
		part := func() *Sheet {
			s := &Sheet{Name: name, Columns: schemas.Plain(columns), rows: full}
			for _, g := range gathered {
				s.values = append(s.values, g.column)
			}
			return s
		}
		var row Row // one for all, as those that read the values of columns are given its address
		for row = range rows {
			if full == most {
				if !yield(part(), nil) {
					return
				}
				before, full, gathered = before+full, 0, make([]gatherer, len(columns))
			}
			for j, c := range columns {
				if err := read(&gathered[j], c, &row); err != nil {
					yield(nil, fmt.Errorf("write %s, row %d, column %q: %w", name, before+full, c.Name, err))
					return
				}
			}
			full++
		}
		yield(part(), nil)
	}
}

// read adds the value of a row to a column.
func read[Row any](g *gatherer, c schemas.ColumnOf[Row], row *Row) error {
	switch {
	case c.Text != nil:
		g.addText(c.Text(row))
		return nil
	case c.Number != nil:
		g.addNumber(c.Number(row))
		return nil
	}
	v, err := convert(c.Value(row), c.Type)
	if err == nil {
		g.add(v)
	}
	return err
}

// Of makes a sheet of rows, each of which has a value for each column.
func Of(name string, columns []schemas.Column, rows ...[]any) *Sheet {
	s := &Sheet{Name: name, Columns: columns, rows: len(rows)}
	for j := range columns {
		s.values = append(s.values, gather(len(rows), func(i int) any { return rows[i][j] }))
	}
	return s
}

// convert returns v as a value of a column whose type other rows may have made wider.
func convert(v any, to schemas.ColumnType) (any, error) {
	switch x := v.(type) {
	case nil:
		return nil, nil
	case string:
		if to == schemas.TextColumn {
			if utf8.ValidString(x) {
				return v, nil
			}
			return strings.ToValidUTF8(x, "\uFFFD"), nil
		}
	case int64:
		switch to {
		case schemas.IntColumn:
			return v, nil
		case schemas.FloatColumn:
			return float64(x), nil
		}
	case float64:
		if to == schemas.FloatColumn {
			return v, nil
		}
	case bool:
		if to == schemas.BoolColumn {
			return v, nil
		}
	}
	if to == schemas.TextColumn {
		return Text(v), nil
	}
	return nil, fmt.Errorf("%T %v in a column of %s", v, v, to)
}

// JoinTypes returns the type of a column that holds values of both types: integers and floats make
// floats, and anything else makes text. An empty type joins with any other.
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

// Finite returns v, or NaN where it is infinite.
func Finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
