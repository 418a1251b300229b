package folder

import (
	"bufio"
	"fmt"
	"strings"
)

// indenter writes JSON as json.MarshalIndent does with a prefix and an indent of two spaces, in memory
// that does not grow with it.
type indenter struct {
	*bufio.Writer
	depth int
	text  bool // within a string
	skip  bool // the next byte of the string is escaped
	begun bool // an object or an array has begun, which is empty so far
}

// Write writes a part of valid JSON without spaces between its values.
func (w *indenter) Write(b []byte) (int, error) {
	for _, c := range b {
		w.put(c)
	}
	return len(b), nil // the buffer keeps the first error
}

func (w *indenter) put(c byte) {
	if w.text {
		if strings.IndexByte("<>&", c) >= 0 {
			fmt.Fprintf(w.Writer, `\u%04x`, c)
		} else {
			w.WriteByte(c)
		}
		w.text = c != '"' || w.skip
		w.skip = c == '\\' && !w.skip
		return
	}
	closes := c == '}' || c == ']'
	if closes {
		w.depth--
	}
	if w.begun != closes {
		w.newline()
	}
	w.begun, w.text = c == '{' || c == '[', c == '"'
	w.WriteByte(c)
	switch c {
	case '{', '[':
		w.depth++
	case ',':
		w.newline()
	case ':':
		w.WriteByte(' ')
	}
}

// newline begins a line.
func (w *indenter) newline() {
	w.WriteString("\n" + strings.Repeat("  ", w.depth))
}
