package compare

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// A ReadError reports that a file of a result cannot be read.
type ReadError struct {
	Dir string // directory of the result
	Err error
}

func (e *ReadError) Error() string { return e.Err.Error() }

func (e *ReadError) Unwrap() error { return e.Err }

// An IncomparableError reports that two results, or the cells of one, cannot be compared as asked.
type IncomparableError struct {
	Reason string
	Fault  Fault // mistake for which a program can offer a remedy; 0: none
}

// A Fault is a kind of mistake.
type Fault int

// The faults.
const (
	NoValues Fault = iota + 1 // no two cells have the values of By
	NoPair                    // all cells differ in a column that By does not name
)

func (e *IncomparableError) Error() string { return e.Reason }

func incomparable(f Fault, format string, args ...any) error {
	return &IncomparableError{fmt.Sprintf(format, args...), f}
}

// A Table is the table of a result.
type Table struct {
	dir    string
	sheet  *sheet.Sheet
	online bool // each row is a cell at a number of rounds
}

// Read reads the table of the result in the folder dir and checks that it has the columns that a
// comparison needs. It returns a [ReadError], or an [IncomparableError] if another version of
// shatter wrote the table.
func Read(dir string) (*Table, error) {
	read, err := sheet.ReadTable(dir, "table")
	if err != nil {
		return nil, &ReadError{dir, err}
	}
	t := &Table{dir: dir, sheet: read, online: read.Index("regret_mean") >= 0}
	needed := result.Columns("table")
	if t.online {
		needed = result.Columns("games")
	}
	for _, c := range needed {
		if i := read.Index(c.Name); i < 0 || read.Columns[i].Type != c.Type {
			return nil, incomparable(0, "the table in %q has no column %s of type %s: another version of shatter wrote it; "+
				"running the sweep again writes a new one", dir, c.Name, c.Type)
		}
	}
	return t, nil
}

// text returns a value for comparing and naming; "none" for null.
func (t *Table) text(row int, column string) string {
	if v := t.sheet.Value(row, column); v != nil {
		return fmt.Sprint(v)
	}
	return "none"
}

// copied returns a column of the table under another name. row returns the table's row of a pair. A
// parameter's column may exist in only one of the two tables.
func (t *Table) copied(from, name string, row func(*pair) int) column {
	of := schemas.TextColumn
	if i := t.sheet.Index(from); i >= 0 {
		of = t.sheet.Columns[i].Type
	}
	return column{
		Column: schemas.Column{Name: name, Type: of}, Value: func(p *pair) any { return t.sheet.Value(row(p), from) },
	}
}
