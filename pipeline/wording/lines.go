package wording

import (
	"strings"
	"unicode"
)

// Wrap breaks a line into lines of at most width characters, at blanks if possible. It prefixes
// all lines except the first with indent, unless that takes half of the width. If width is 0 or
// less, it breaks nothing.
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

// Printable returns untrusted text with a blank in place of each character that would move a
// terminal's cursor, reverse text or be invisible. The characters in keep are preserved.
func Printable(text, keep string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 { // the usual case
		return text
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !strings.ContainsRune(keep, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// OneLine returns untrusted text, such as a plugin's reason, printable and on one line, truncated
// to the given number of letters.
func OneLine(text string, most int) string {
	text = text[:min(len(text), 8*most)] // limits the cost of long texts
	letters := []rune(strings.Join(strings.Fields(Printable(text, "")), " "))
	if len(letters) > most {
		return string(letters[:most]) + "..."
	}
	return string(letters)
}

// Shorten cuts a quotation after 40 letters.
func Shorten(text string) string {
	if short := []rune(text); len(short) > 40 {
		return string(short[:40]) + "..."
	}
	return text
}

// ShellWord quotes a word for a shell, if necessary.
func ShellWord(word string) string {
	safe := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+,:=@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Slug returns a name for files and sweeps: lower-case letters, digits and single hyphens.
func Slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}
