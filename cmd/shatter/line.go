package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A line is a line of progress, part by part.
type line []part

type part struct{ text, colour string }

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// cut joins the parts, two blanks apart, to at most width runes. What shows no sign on a terminal
// is left out.
func (l line) cut(width int, colour bool) string {
	var b strings.Builder
	for i, p := range l {
		text := printable(p.text)
		if i > 0 {
			text = "  " + text
		}
		if n := utf8.RuneCountInString(text); n > width {
			text = string([]rune(text)[:max(0, width)])
			width = 0
		} else {
			width -= n
		}
		if colour && p.colour != "" && text != "" {
			text = p.colour + text + plain
		}
		b.WriteString(text)
	}
	return b.String()
}

// printable replaces what would move the cursor: names and reasons come from plugins.
func printable(text string) string { return wording.Printable(text, "") }

// forPeople returns a writer to w in which foreign text, such as what a plugin says of itself, moves
// no cursor but to the next line.
func forPeople(w io.Writer) io.Writer { return &wording.Printer{To: w} }

// indented returns a text of perhaps several lines as it stands below a first one.
func indented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = printable(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n  ")
}

// line says how far a run is.
func (d *display) line(p coordinator.Progress) line {
	out := line{{fmt.Sprintf("%d/%d cells", p.Decided, p.Cells), bold}}
	if d.label != "" {
		out = append(line{{d.label, ""}}, out...)
	}
	trials := wording.Thousands(float64(p.Trials)) + " trials"
	if p.Known > 0 {
		trials += fmt.Sprintf(" (+%s known)", wording.Thousands(float64(p.Known)))
	}
	if p.Served > 0 {
		trials += fmt.Sprintf(" (+%s from the cache)", wording.Thousands(float64(p.Served)))
	}
	out = append(out, part{trials, ""}, part{wording.Thousands(p.PerSecond) + "/s", ""})
	if p.Workers > 1 {
		out = append(out, part{fmt.Sprintf("%d workers, %d slots", p.Workers, p.Slots), ""})
	}
	switch {
	case p.Stands() != "":
		out = append(out, part{p.Stands(), yellow})
	case p.Left != nil:
		out = append(out, part{"about " + roughSeconds(p.Left.Seconds) + " left", ""})
	}
	var kinds []string
	for _, f := range p.First {
		kinds = append(kinds, fmt.Sprintf("%d %s", p.Failed[f.Kind], f.Kind))
	}
	if len(kinds) > 0 {
		out = append(out, part{"failed: " + strings.Join(kinds, ", "), red})
	}
	switch {
	case p.Rechecks > 0:
		out = append(out, part{fmt.Sprintf("rechecking %s trials, %s done",
			wording.Thousands(float64(p.Rechecks)), wording.Thousands(float64(p.Rechecked))), ""})
	case p.Late != "":
		out = append(out, part{p.Late, yellow})
	case p.Working != "":
		out = append(out, part{p.Working, ""})
	}
	return out
}
