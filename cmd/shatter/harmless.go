package main

import (
	"io"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// harmless returns w, or, where w is a terminal, a writer to it that shows what a terminal may obey as
// spaces. Formats for programs keep every byte of the texts of plugins and files; in a file, and behind a
// pipe, they still do.
func harmless(w io.Writer) io.Writer {
	if !isTerminal(w) {
		return w
	}
	return &wording.Printer{To: w}
}
