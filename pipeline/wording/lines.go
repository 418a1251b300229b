package wording

import (
	"strings"
	"unicode"
)

// Wrap returns a line as lines of at most width characters, broken at blanks if possible, the later
// ones behind the indent, unless that takes half of the width. A width of 0 or less breaks nothing.
func Wrap(line string, width int, indent string) (lines []string) {
	if width <= 0 {
		return []string{line}
	}
	if 2*len(indent) >= width {
		indent = ""
	}
	rest, before := []rune(line), ""
	for len(rest) > width-len(before) {
		room := max(1, width-len(before))
		at := room
		for at > 0 && rest[at] != ' ' {
			at--
		}
		if at == 0 {
			at = room
		}
		lines = append(lines, strings.TrimRight(before+string(rest[:at]), " "))
		rest, before = []rune(strings.TrimLeft(string(rest[at:]), " ")), indent
	}
	return append(lines, before+string(rest))
}

// ShellWord returns a word as a shell takes it.
func ShellWord(word string) string {
	safe := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+,:=@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
