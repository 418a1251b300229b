package wording

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// No control character reaches a terminal, for all divisions of a text into writes, and letters
// are preserved.
func FuzzPrinter(f *testing.F) {
	f.Add("a,\x1b[2Jb\n\u009bc,é\t\x7f\xff\xe2\x82", 3)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var whole, pieces strings.Builder
		write := func(p *Printer, s string) {
			if n, err := p.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatalf("wrote %d of %d bytes, %v", n, len(s), err)
			}
		}
		write(&Printer{To: &whole}, text)
		p := &Printer{To: &pieces}
		cut = int(uint(cut) % uint(len(text)+1))
		write(p, text[:cut])
		write(p, text[cut:])
		if utf8.ValidString(text) && whole.String() != pieces.String() {
			t.Errorf("cut at %d: %q, whole %q", cut, pieces.String(), whole.String())
		}
		for _, r := range pieces.String() {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q passes in %q", r, pieces.String())
			}
		}
	})
}
