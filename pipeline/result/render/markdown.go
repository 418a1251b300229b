package render

import (
	"bufio"
	"fmt"
	"strings"
	"unicode"

	"github.com/shatterlab/shatter/schemas"
)

var markdownFormat = Format{
	Name:  "md",
	Doc:   "a table of Markdown for documents, short",
	brief: writeMarkdown,
}

func writeMarkdown(w *bufio.Writer, b *brief) error {
	if b.sheet.Len() == 0 {
		fmt.Fprintln(w, "no rows")
		return nil
	}
	for _, line := range b.aboveLines(true) {
		fmt.Fprintf(w, "%s\n\n", paragraph(line))
	}
	fmt.Fprint(w, "|")
	for _, c := range b.columns {
		fmt.Fprintf(w, " %s |", escape(c.Name))
	}
	fmt.Fprint(w, "\n|")
	for _, c := range b.columns {
		if c.Type == schemas.TextColumn {
			fmt.Fprint(w, " --- |")
		} else {
			fmt.Fprint(w, " ---: |")
		}
	}
	fmt.Fprint(w, "\n")
	for row := range b.sheet.Len() {
		w.WriteString("|")
		for _, c := range b.columns {
			fmt.Fprintf(w, " %s |", escape(c.texts[row]))
		}
		w.WriteString("\n")
	}
	for _, line := range b.belowLines() {
		fmt.Fprintf(w, "\n%s\n", paragraph(line))
	}
	return nil
}

// escape escapes the characters of s that Markdown or HTML would interpret.
func escape(s string) string {
	var b strings.Builder
	runes := []rune(" " + s + " ")
	for i, r := range runes[:len(runes)-1] {
		switch {
		case i == 0:
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '_' && isWord(runes[i-1]) && isWord(runes[i+1]): // no emphasis within a word
			b.WriteRune(r)
		case strings.ContainsRune("\\|*_`[]~$", r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// paragraph returns a line so that it begins no heading, list or quotation.
func paragraph(line string) string {
	if line != "" && strings.Contains("#>+-=", line[:1]) {
		return `\` + escape(line)
	}
	return escape(line)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
