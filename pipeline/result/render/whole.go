package render

import (
	"bufio"
	"errors"
	"io"
	"slices"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// Whole is Render as table or md, but with every column, all their digits, and nothing said aside: for the answer to a question
// that chose its columns.
func Whole(s *sheet.Sheet, w io.Writer, format string) error {
	return renderTo(s, w, format, func(out *bufio.Writer) error {
		b := wholeOf(s)
		switch format {
		case "table":
			b.renderTable(out)
		case "md":
			b.renderMarkdown(out)
		default:
			return errors.New("unknown format: must be table or md")
		}
		return nil
	})
}

// wholeOf is a brief that leaves nothing out.
func wholeOf(s *sheet.Sheet) (b brief) {
	for _, c := range s.Columns {
		c.Name = oneLine(c.Name)
		b.columns = append(b.columns, c)
	}
	for _, row := range s.Rows {
		line := make([]string, len(row))
		for i, v := range row {
			if line[i] = oneLine(sheet.Text(v)); line[i] == "" {
				line[i] = "-"
			}
		}
		b.rows = append(b.rows, line)
	}
	return b
}

// Summary is what the formats for reading leave of a sheet: the numbers of the columns that stay, what the others say, above and below,
// and the rows as text.
func Summary(s *sheet.Sheet) (above, below []string, shown []int, rows [][]string) {
	b := briefOf(s)
	for _, c := range b.columns {
		shown = append(shown, slices.IndexFunc(s.Columns, func(of schemas.Column) bool { return short(of.Name) == c.Name }))
	}
	return b.above, b.below, shown, b.rows
}
