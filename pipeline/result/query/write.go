package query

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// Answer is what can be shown: a Rows.
type Answer interface {
	Schema() *arrow.Schema       // text, int64, float64 and boolean
	Plan() bool                  // texts of several lines
	Next() (arrow.Record, error) // io.EOF at the end
}

// Formats is what Write can write.
func Formats() []string { return []string{"table", "json", "csv", "md", "arrow", "parquet"} }

// maxShown is the rows of an answer for people, whose columns are as wide as their widest value.
const maxShown = 10_000

// Write writes an answer: table and md, for reading, at most 10,000 rows; json, csv, arrow (an IPC stream) and parquet of any length,
// batch by batch. All have every column and every digit; json has null for numbers that are not finite.
func Write(w io.Writer, a Answer, format string) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var err error
	switch format {
	case "table", "md":
		err = writeSheet(out, a, format)
	case "json":
		err = writeJSON(out, a)
	case "csv":
		err = writeCSV(out, a)
	case "arrow":
		err = writeArrow(out, a)
	case "parquet":
		err = writeParquet(out, a)
	default:
		return fmt.Errorf("write answer: unknown format %q: must be one of %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// each calls fn with every batch.
func each(a Answer, fn func(arrow.Record) error) error {
	for {
		rec, err := a.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = fn(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
}

func writeSheet(w io.Writer, a Answer, format string) error {
	s := &sheet.Sheet{Name: "answer", Columns: columns(a.Schema())}
	err := each(a, func(rec arrow.Record) error {
		if len(s.Rows)+int(rec.NumRows()) > maxShown {
			return refuse("the answer has more than %d rows: use limit, or -o csv, json, arrow or parquet", maxShown)
		}
		for i := range int(rec.NumRows()) {
			row := make([]any, rec.NumCols())
			for j, c := range rec.Columns() {
				row[j] = value(c, i)
			}
			s.Rows = append(s.Rows, row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.Plan() {
		for _, row := range s.Rows {
			fmt.Fprintln(w, strings.TrimRight(fmt.Sprint(row[len(row)-1]), "\n"))
		}
		return nil
	}
	return render.Whole(s, w, format)
}

func columns(s *arrow.Schema) []schemas.Column {
	var all []schemas.Column
	for _, f := range s.Fields() {
		all = append(all, schemas.Column{Name: f.Name, Type: sheet.ColumnType(f.Type)})
	}
	return all
}

// value is a value as sheets hold it, copied.
func value(a arrow.Array, i int) any {
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
	return strings.Clone(a.ValueStr(i))
}

func writeCSV(w *bufio.Writer, a Answer) error {
	var line []byte
	for i, f := range a.Schema().Fields() {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendField(line, f.Name)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	return each(a, func(rec arrow.Record) error {
		for i := range int(rec.NumRows()) {
			line = line[:0]
			for j, c := range rec.Columns() {
				if j > 0 {
					line = append(line, ',')
				}
				line = appendCSV(line, c, i)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

func appendCSV(to []byte, a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return to
	}
	switch a := a.(type) {
	case *array.Int64:
		return strconv.AppendInt(to, a.Value(i), 10)
	case *array.Float64:
		return strconv.AppendFloat(to, a.Value(i), 'g', -1, 64)
	case *array.Boolean:
		return strconv.AppendBool(to, a.Value(i))
	case *array.String:
		return appendField(to, a.Value(i))
	}
	return to
}

// appendField appends a field as encoding/csv writes it.
func appendField(to []byte, s string) []byte {
	first, _ := utf8.DecodeRuneInString(s)
	if !strings.ContainsAny(s, ",\"\r\n") && !unicode.IsSpace(first) && s != `\.` {
		return append(to, s...)
	}
	to = append(to, '"')
	to = append(to, strings.ReplaceAll(s, `"`, `""`)...)
	return append(to, '"')
}

func writeJSON(w *bufio.Writer, a Answer) error {
	var names [][]byte
	for i, f := range a.Schema().Fields() {
		name, err := json.Marshal(f.Name)
		if err != nil {
			return err
		}
		if i > 0 {
			name = append([]byte(", "), name...)
		}
		names = append(names, append(name, ": "...))
	}
	line := []byte("[")
	rows := 0
	err := each(a, func(rec arrow.Record) (err error) {
		for i := range int(rec.NumRows()) {
			if rows > 0 {
				line = append(line, ',')
			}
			rows++
			line = append(line, "\n{"...)
			for j, c := range rec.Columns() {
				if line, err = appendJSON(append(line, names[j]...), c, i); err != nil {
					return err
				}
			}
			if _, err := w.Write(append(line, '}')); err != nil {
				return err
			}
			line = line[:0]
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, "\n]\n"...))
	return err
}

func appendJSON(to []byte, a arrow.Array, i int) ([]byte, error) {
	if a.IsNull(i) {
		return append(to, "null"...), nil
	}
	switch a := a.(type) {
	case *array.Int64:
		return strconv.AppendInt(to, a.Value(i), 10), nil
	case *array.Boolean:
		return strconv.AppendBool(to, a.Value(i)), nil
	case *array.Float64:
		v := a.Value(i)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(to, "null"...), nil
		}
		return appendValue(to, v)
	case *array.String:
		return appendValue(to, a.Value(i))
	}
	return to, nil
}

func appendValue(to []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	return append(to, raw...), err
}

func writeArrow(w io.Writer, a Answer) error {
	s := ipc.NewWriter(w, ipc.WithSchema(a.Schema()))
	if err := each(a, s.Write); err != nil {
		return err
	}
	return s.Close()
}

func writeParquet(w io.Writer, a Answer) error {
	p, err := sheet.NewParquetWriter(w, columns(a.Schema()))
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	err = each(a, p.Write)
	if closed := p.Close(); err == nil {
		err = closed
	}
	return err
}
