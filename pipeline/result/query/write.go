package query

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// An Answer is an answer that can be shown, such as [Rows].
type Answer interface {
	render.Answer
	Plan() bool // whether it is an explanation, whose texts have several lines
}

// Formats returns the names of the formats that [Write] accepts.
func Formats() []string { return render.Names() }

// Write writes an answer. The formats table, md and tex, which are for people, accept at most
// 10,000 rows; json, csv, arrow (an IPC stream) and parquet accept any number, batch by batch. All
// have every column, and all except tex every digit; json has null for numbers that are not finite.
// The lines of a table have at most width characters, unless width is 0.
func Write(w io.Writer, a Answer, format string, width int) error {
	var err error
	if f, _ := render.Find(format); a.Plan() && f.ForPeople() {
		err = writePlan(w, a)
	} else {
		err = render.WriteAnswer(w, a, format, width)
	}
	var long *render.TooLongError
	if errors.As(err, &long) {
		return refuse("%v", long)
	}
	return err
}

// writePlan writes the texts of an explanation unchanged.
func writePlan(w io.Writer, a Answer) error {
	s, err := render.Collect(a)
	if err != nil {
		return err
	}
	var text strings.Builder
	for row := range s.Len() {
		fmt.Fprintln(&text, strings.TrimRight(fmt.Sprint(s.At(row, len(s.Columns)-1)), "\n"))
	}
	_, err = io.WriteString(w, text.String())
	return err
}

// ReadFirst reads an answer in the format arrow. It returns its first rows, at most maxRows and
// about maxBytes of text, and the number of all rows.
func ReadFirst(r io.Reader, maxRows, maxBytes int) (first *sheet.Sheet, all int, err error) {
	in, err := ipc.NewReader(r)
	if err != nil {
		return nil, 0, fmt.Errorf("read answer: %w", err)
	}
	defer in.Release()
	var rows [][]any
	for in.Next() {
		rec := in.Record()
		all += int(rec.NumRows())
		for i := 0; i < int(rec.NumRows()) && len(rows) < maxRows && maxBytes > 0; i++ {
			row := sheet.RowOf(rec, i)
			for _, v := range row {
				text, _ := v.(string)
				maxBytes -= len(text) + 8
			}
			rows = append(rows, row)
		}
	}
	return sheet.Of("answer", sheet.ColumnsOf(in.Schema()), rows...), all, in.Err()
}
