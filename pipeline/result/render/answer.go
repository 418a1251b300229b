package render

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// maxShown is the maximum number of rows of an answer in a format for people, whose columns are as
// wide as their widest value.
const maxShown = 10_000

// A TooLongError reports that an answer has too many rows for a format for people.
type TooLongError struct{ Rows int } // Rows: the maximum

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the answer has more than %d rows: use limit, or -o csv, json, arrow or parquet", e.Rows)
}

// Collect reads an answer of at most 10,000 rows.
func Collect(a Answer) (*sheet.Sheet, error) {
	var rows [][]any
	err := EachBatch(a, func(rec arrow.Record) error {
		if len(rows)+int(rec.NumRows()) > maxShown {
			return &TooLongError{maxShown}
		}
		for i := range int(rec.NumRows()) {
			rows = append(rows, sheet.RowOf(rec, i))
		}
		return nil
	})
	return sheet.Of("answer", sheet.ColumnsOf(a.Schema()), rows...), err
}

// wholeOf returns a brief that omits nothing, for an answer to a query, which chose its columns.
// Numbers have all their digits, or few if shortened is set.
func wholeOf(a Answer, shortened bool) (*brief, error) {
	s, err := Collect(a)
	if err != nil {
		return nil, err
	}
	b := &brief{sheet: s, chosen: true}
	text := func(v any) string { return oneLine(sheet.Text(v)) }
	if shortened {
		text = short
	}
	for i := range s.Columns {
		b.columns = append(b.columns, newColumn(s, i, text))
	}
	return b, nil
}

// Summary returns the short form of a sheet without a limit of width: the lines above and below the
// table, the indices of the shown columns, and the text of a row in one of these columns.
func Summary(s *sheet.Sheet) (above, below []string, shown []int, text func(row, column int) string) {
	b := newBrief(s, nil)
	for _, c := range b.columns {
		shown = append(shown, c.from)
	}
	return b.aboveLines(false), b.belowLines(), shown, func(row, column int) string { return b.columns[column].texts[row] }
}
