package render

import (
	"bufio"
	"bytes"
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
	if b.len() == 0 && len(b.sections) == 0 {
		fmt.Fprintln(w, "no rows")
		return nil
	}
	if above := b.aboveLines(); len(above) > 0 {
		b.writeLines(w, above)
		fmt.Fprintln(w)
	}
	for i := range b.sections {
		part := &b.sections[i]
		if i > 0 {
			fmt.Fprintln(w)
		}
		b.writeLines(w, part.aboveLines())
		part.writeRows(w)
	}
	if len(b.sections) == 0 {
		b.writeRows(w)
	}
	if below := b.belowLines(); len(below) > 0 {
		fmt.Fprintln(w)
		b.writeLines(w, below)
	}
	return nil
}

// writeLines writes lines that are no part of a table, in the width of the table.
func (b *brief) writeLines(w *bufio.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, strings.Join(wording.Wrap(line, b.width, "  "), "\n"))
	}
}

// writeRows writes the header and the rows.
func (b *brief) writeRows(w *bufio.Writer) {
	if len(b.columns) == 0 {
		return // all is said above
	}
	widths := b.widths()
	header := make([]string, len(b.columns))
	for i, c := range b.columns {
		header[i] = c.Name
	}
	var line []byte
	write := func(row []string) {
		line = line[:0]
		for i, v := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v))
			if b.columns[i].Type == schemas.TextColumn {
				line = append(append(line, v...), gap...)
			} else {
				line = append(append(line, gap...), v...)
			}
			line = append(line, "  "...)
		}
		w.Write(append(bytes.TrimRight(line, " "), '\n'))
	}
	write(header)
	var texts []string
	for row := range b.len() {
		texts = b.line(row, texts)
		write(texts)
	}
}
