package main

import (
	"io"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// harmless returns w, or, where w is a terminal, a writer to it that shows what a terminal may obey as
// spaces. Formats for programs keep every byte of the texts of plugins and files; in a file, and behind a
// pipe, they still do.
func harmless(w io.Writer) io.Writer {
	if !isTerminal(w) {
		return w
	}
	return &printer{to: w}
}

// printer writes the printable part of a text, in pieces that may end within a letter.
type printer struct {
	to   io.Writer
	half []byte // of a letter
}

func (p *printer) Write(b []byte) (int, error) {
	text := append(p.half, b...)
	end := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if start := len(text) - i; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				end = start
			}
			break
		}
	}
	p.half = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(p.to, wording.Printable(string(text[:end]), "\n\t")); err != nil {
		return 0, err
	}
	return len(b), nil
}
