package compare

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/problem"
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

// A Table is the table of a result, with the outcomes of its trials once they are needed.
type Table struct {
	dir    string
	sheet  *sheet.Sheet
	column map[string]int // indices of columns by name
	online bool           // whether each row is a cell at a number of rounds
	trials map[string]map[int64]*result.Outcomes
}

// Read reads the table of the result in the folder dir and checks that it has the columns that a
// comparison needs. It returns a [ReadError], or an [IncomparableError] where another version of
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
				"running the sweep again writes it anew", dir, c.Name, c.Type)
		}
	}
	return t, nil
}

// readTrials reads the outcomes that the tests are made of, unless that was done before.
func (t *Table) readTrials() (err error) {
	if t.trials != nil {
		return nil
	}
	metric := ""
	if t.online {
		metric = schemas.Regret
	}
	if t.trials, err = result.ReadTrials(t.dir, metric); err != nil {
		return &ReadError{t.dir, err}
	}
	return nil
}

// value returns what stands in a row, and nil where the table has no such column.
func (t *Table) value(row int, column string) any {
	if i, ok := t.column[column]; ok {
		return t.sheet.At(row, i)
	}
	return nil
}

// text returns a value for comparing and naming: "none" where there is none.
func (t *Table) text(row int, column string) string {
	if v := t.value(row, column); v != nil {
		return fmt.Sprint(v)
	}
	return "none"
}

// number returns the value of a column of integers, whose type Read has checked; 0 for null.
func (t *Table) number(row int, column string) int64 {
	n, _ := t.value(row, column).(int64)
	return n
}

// label returns the value of a column of text; empty for null.
func (t *Table) label(row int, column string) string {
	s, _ := t.value(row, column).(string)
	return s
}

// fixed reports whether no search chose the trials of a row.
func (t *Table) fixed(row int) bool { return t.online || t.value(row, "fixed") == true }

// sequential reports whether the errors of a row are measured by the sequential rule.
func (t *Table) sequential(row int) bool {
	_, sequential := problem.AllRead(t.text(row, "evaluation"))
	return sequential
}

// side returns the bracket of a row.
func (t *Table) side(row int) estimate.Side {
	return estimate.Side{
		Status: t.label(row, "status"), Low: t.number(row, "n_low"), High: t.number(row, "n_high"), Fixed: t.fixed(row),
	}
}

// measured returns what the table says of a row in short: its bracket, or its regret.
func (t *Table) measured(row int) string {
	if t.online {
		short := func(column string) string {
			if v, ok := t.value(row, column).(float64); ok {
				return fmt.Sprintf("%.4g", v)
			}
			return "-"
		}
		return fmt.Sprintf("%s [%s, %s]", short("regret_mean"), short("regret_low"), short("regret_high"))
	}
	low, high := "0", "inf"
	if n := t.number(row, "n_low"); n > 0 {
		low = fmt.Sprint(n)
	}
	if n := t.number(row, "n_high"); n > 0 {
		high = fmt.Sprint(n) + "]"
	} else {
		high += ")"
	}
	return fmt.Sprintf("%s (%s, %s", t.text(row, "status"), low, high)
}
