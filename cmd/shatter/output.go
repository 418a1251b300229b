package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// textWidth is the width of texts that do not go to a terminal, in characters.
const textWidth = 100

// writeJSON writes a value for people and programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(sanitized(w))
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the characters of a line, and 0 where w is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// sanitized returns w, or, where w is a terminal, a writer to it that shows what a terminal may obey as
// spaces. Formats for programs keep every byte of the texts of plugins and files; in a file, and behind a
// pipe, they still do.
func sanitized(w io.Writer) io.Writer {
	if !isTerminal(w) {
		return w
	}
	return &wording.Printer{To: w}
}

// printable replaces what would move the cursor: names and reasons come from plugins.
func printable(text string) string { return wording.Printable(text, "") }

// forPeople returns a writer to w that replaces control characters other than newlines, such as in texts of plugins.
func forPeople(w io.Writer) io.Writer { return &wording.Printer{To: w} }

// indented returns a text whose lines after the first are indented.
func indented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = printable(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n  ")
}

// roughCount returns a predicted number to two digits.
func roughCount(x float64) string { return wording.Thousands(float64(estimate.Roughly(x))) }

// roughSeconds returns a predicted time to two digits or so; beyond 30 years it is 30 years.
func roughSeconds(seconds float64) string {
	return wording.RoughDuration(time.Duration(min(seconds, 1e9) * float64(time.Second)))
}
