package render

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

var tableFormat = Format{
	Name:  "table",
	Doc:   "columns of text for terminals and eyes, short",
	brief: writeTable,
}

func writeTable(w *bufio.Writer, b *brief) error {
	if b.sheet.Len() == 0 {
		fmt.Fprintln(w, "no rows")
		return nil
	}
	if above := b.aboveLines(false); len(above) > 0 {
		b.writeLines(w, above)
		fmt.Fprintln(w)
	}
	b.writeRows(w)
	if below := b.belowLines(); len(below) > 0 {
		fmt.Fprintln(w)
		b.writeLines(w, below)
	}
	return nil
}

// writeLines writes the lines above or below a table, in the width of the table.
func (b *brief) writeLines(w *bufio.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, strings.Join(wording.Wrap(line, b.width, "  "), "\n"))
	}
}

func (b *brief) writeRows(w *bufio.Writer) {
	if len(b.columns) == 0 {
		return // all values are facts above the table
	}
	write := func(text func(c briefColumn) string) {
		line := ""
		for _, c := range b.columns {
			v := text(c)
			gap := strings.Repeat(" ", c.width-utf8.RuneCountInString(v))
			if c.Type == schemas.TextColumn {
				line += v + gap + "  "
			} else {
				line += gap + v + "  "
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	write(func(c briefColumn) string { return c.Name })
	for row := range b.sheet.Len() {
		write(func(c briefColumn) string { return c.texts[row] })
	}
}
