package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

var tableFormat = Format{
	Name:   "table",
	Doc:    "columns of text for terminals and eyes, short",
	sheet:  func(w *bufio.Writer, s *sheet.Sheet) error { return writeTable(w, briefOf(s)) },
	answer: answerInShort(writeTable),
}

// Table writes a sheet as the format table does, in lines of at most width characters if that can
// be had by leaving out columns; it says which. A width of 0 leaves none out.
func Table(s *sheet.Sheet, w io.Writer, width int) error {
	return tableFormat.write(s, w, func(out *bufio.Writer, s *sheet.Sheet) error {
		b := briefOf(s)
		if width > 0 {
			b.fit(width)
		}
		return writeTable(out, b)
	})
}

func writeTable(w *bufio.Writer, b brief) error {
	if len(b.rows) == 0 {
		fmt.Fprintln(w, "no rows")
		return nil
	}
	if len(b.above) > 0 {
		fmt.Fprintf(w, "%s\n\n", strings.Join(b.above, "\n"))
	}
	widths := b.widths()
	header := make([]string, len(b.columns))
	for i, c := range b.columns {
		header[i] = c.Name
	}
	for _, row := range append([][]string{header}, b.rows...) {
		var line strings.Builder
		for i, v := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v))
			if b.columns[i].Type == schemas.TextColumn {
				line.WriteString(v + gap + "  ")
			} else {
				line.WriteString(gap + v + "  ")
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
	if len(b.below) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(b.below, "\n"))
	}
	return nil
}
