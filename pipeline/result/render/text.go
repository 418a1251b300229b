package render

import (
	"bufio"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// layout says how a format for programs lays out a table as text. Its functions that are given to
// append and return what they have appended to.
type layout struct {
	begin  func(to []byte, names []string) []byte // what stands before all rows
	row    func(to []byte, row int) []byte        // before the values of a row
	column func(name string, column int) string   // before a value
	null   string
	float  func(to []byte, v float64) []byte
	text   func(to []byte, v string) []byte
	endRow string
	end    string
}

// layoutWriter writes tables row by row.
type layoutWriter struct {
	layout
	*bufio.Writer
	before []string // each value of a row
	rows   int
	line   []byte
}

func (l layout) newWriter(w *bufio.Writer, names []string) *layoutWriter {
	out := &layoutWriter{layout: l, Writer: w, line: l.begin(nil, names)}
	for i, name := range names {
		out.before = append(out.before, l.column(name, i))
	}
	return out
}

// writeRow writes a row whose values value appends.
func (w *layoutWriter) writeRow(value func(to []byte, column int) []byte) error {
	w.line = w.row(w.line, w.rows)
	w.rows++
	for i, before := range w.before {
		w.line = value(append(w.line, before...), i)
	}
	w.line = append(w.line, w.endRow...)
	_, err := w.Write(w.line)
	w.line = w.line[:0]
	return err
}

// close writes the end of the table.
func (w *layoutWriter) close() error {
	_, err := w.Write(append(w.line, w.end...))
	return err
}

// writeSheet writes a sheet.
func (l layout) writeSheet(w *bufio.Writer, s *sheet.Sheet) error {
	names := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		names[i] = c.Name
	}
	out := l.newWriter(w, names)
	row := 0
	value := func(to []byte, column int) []byte { return l.appendValue(to, s.At(row, column)) }
	for row = range s.Len() {
		err := out.writeRow(value)
		if err != nil {
			return err
		}
	}
	return out.close()
}

// appendValue appends a value of a sheet.
func (l layout) appendValue(to []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(to, l.null...)
	case float64:
		return l.float(to, v)
	case string:
		return l.text(to, v)
	}
	return append(to, sheet.Text(v)...)
}

// writeAnswer writes an answer batch by batch.
func (l layout) writeAnswer(w *bufio.Writer, a Answer) error {
	var names []string
	for _, f := range a.Schema().Fields() {
		names = append(names, f.Name)
	}
	out := l.newWriter(w, names)
	err := EachBatch(a, func(rec arrow.Record) error {
		columns, row := rec.Columns(), 0
		value := func(to []byte, column int) []byte { return l.appendElement(to, columns[column], row) }
		for row = range int(rec.NumRows()) {
			if err := out.writeRow(value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.close()
}

// appendElement appends element i of a column.
func (l layout) appendElement(to []byte, a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return append(to, l.null...)
	}
	switch a := a.(type) {
	case *array.Int64:
		return strconv.AppendInt(to, a.Value(i), 10)
	case *array.Float64:
		return l.float(to, a.Value(i))
	case *array.Boolean:
		return strconv.AppendBool(to, a.Value(i))
	case *array.String:
		return l.text(to, a.Value(i))
	}
	return to
}
