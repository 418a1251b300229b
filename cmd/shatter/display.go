package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/shatterlab/shatter/coordinator"
)

// display shows a run's progress: one line that is rewritten on a terminal, a plain line now and then elsewhere.
type display struct {
	w        io.Writer
	terminal bool
	width    int
	quiet    bool
	last     time.Time
}

// plainEvery is the time between progress lines where nobody sees them being rewritten.
const plainEvery = 10 * time.Second

func newDisplay(w io.Writer, quiet bool) *display {
	d := &display{w: w, quiet: quiet, width: 80, last: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		d.terminal = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			d.width = width
		}
	}
	return d
}

// opened says what the folder held.
func (d *display) opened(f *coordinator.Folder) {
	for _, line := range coordinator.Lines(f.Report) {
		fmt.Fprintf(d.w, "shatter: ledger: %s\n", line)
	}
}

func (d *display) show(p coordinator.Progress) { d.line(func() string { return progressLine(p) }) }

// line shows a line of progress, if it is time for one.
func (d *display) line(text func() string) {
	switch {
	case d.quiet:
	case d.terminal:
		line := text()
		if len(line) >= d.width {
			line = line[:d.width-1]
		}
		fmt.Fprintf(d.w, "\r\x1b[K%s", line)
	case time.Since(d.last) >= plainEvery:
		d.last = time.Now()
		fmt.Fprintln(d.w, text())
	}
}

func (d *display) end() {
	if d.terminal && !d.quiet {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
}

func progressLine(p coordinator.Progress) string {
	parts := []string{
		fmt.Sprintf("%d/%d cells", p.Decided, p.Cells),
		fmt.Sprintf("%d trials", p.Trials),
		fmt.Sprintf("%.0f/s", p.PerSecond),
	}
	if p.Known > 0 {
		parts[1] += fmt.Sprintf(" (+%d known)", p.Known)
	}
	if p.Served > 0 {
		parts[1] += fmt.Sprintf(" (+%d from the cache)", p.Served)
	}
	switch {
	case p.NoWorkers:
		parts = append(parts, "no worker asks for work: start `shatter worker --server URL`")
	case p.Remaining > 0:
		parts = append(parts, "about "+p.Remaining.String()+" left")
	}
	kinds := make([]string, 0, len(p.Failed))
	for kind, n := range p.Failed {
		kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
	}
	sort.Strings(kinds)
	if len(kinds) > 0 {
		parts = append(parts, "failed: "+strings.Join(kinds, ", "))
	}
	if p.Working != "" {
		parts = append(parts, p.Working)
	}
	return strings.Join(parts, "  ")
}
