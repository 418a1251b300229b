package compare

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// A ReadError reports that a file of a result cannot be read.
type ReadError struct {
	Dir string // of the result
	Err error
}

func (e *ReadError) Error() string { return e.Err.Error() }

func (e *ReadError) Unwrap() error { return e.Err }

// An IncomparableError reports that two results, or the cells of one, cannot be compared as asked.
type IncomparableError struct{ Reason string }

func (e *IncomparableError) Error() string { return e.Reason }

func incomparable(format string, args ...any) error {
	return &IncomparableError{fmt.Sprintf(format, args...)}
}

// A Table is the table of a result.
type Table struct {
	dir    string
	sheet  *sheet.Sheet
	column map[string]int // indices of columns by name
	online bool           // whether each row is a cell at a number of rounds
}

// Read reads the table of the result in the folder dir and checks that it has the columns that a
// comparison needs. It returns a [ReadError], or an [IncomparableError] if another version of
// shatter wrote the table.
func Read(dir string) (*Table, error) {
	read, err := sheet.ReadTable(dir, "table")
	if err != nil {
		return nil, &ReadError{dir, err}
	}
	t := &Table{dir: dir, sheet: read, column: map[string]int{}}
	for i, c := range read.Columns {
		t.column[c.Name] = i
	}
	_, t.online = t.column["regret_mean"]
	needed := result.Columns("table")
	if t.online {
		needed = result.Columns("games")
	}
	for _, c := range needed {
		if i, ok := t.column[c.Name]; !ok || read.Columns[i].Type != c.Type {
			return nil, incomparable("the table in %q has no column %s of type %s: another version of shatter wrote it; "+
				"running the sweep again writes a new one", dir, c.Name, c.Type)
		}
	}
	return t, nil
}

// value returns the value of a column in a row, and nil if the table has no such column.
func (t *Table) value(row int, column string) any {
	if i, ok := t.column[column]; ok {
		return t.sheet.At(row, i)
	}
	return nil
}

// text returns a value for comparing and naming, "none" for null.
func (t *Table) text(row int, column string) string {
	if v := t.value(row, column); v != nil {
		return fmt.Sprint(v)
	}
	return "none"
}

// float returns a number, NaN for null.
func (t *Table) float(row int, column string) float64 {
	switch v := t.value(row, column).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// copied returns a column of the table under another name; row returns the table's row of a pair. Only one of two
// tables may have the column of a parameter.
func (t *Table) copied(from, name string, row func(*pair) int) column {
	of := schemas.TextColumn
	if i, ok := t.column[from]; ok {
		of = t.sheet.Columns[i].Type
	}
	return column{
		Column: schemas.Column{Name: name, Type: of}, Value: func(p *pair) any { return t.value(row(p), from) },
	}
}
