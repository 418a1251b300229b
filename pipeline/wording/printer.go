package wording

import (
	"io"
	"unicode/utf8"
)

// A Printer writes the printable part of untrusted text to To, with a blank in place of each
// other character except line ends and tabs. A write may end within a letter.
type Printer struct {
	To   io.Writer
	half []byte // bytes of an incomplete letter
}

func (p *Printer) Write(b []byte) (int, error) {
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
	if _, err := io.WriteString(p.To, Printable(string(text[:end]), "\n\t")); err != nil {
		return 0, err
	}
	return len(b), nil
}
