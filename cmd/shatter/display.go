package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// progressMode is the value of --progress.
type progressMode string

var progressModes = []string{"auto", "plain", "json", "none"}

func (m *progressMode) Type() string   { return "MODE" }
func (m *progressMode) String() string { return string(*m) }

func (m *progressMode) Set(text string) error {
	if !slices.Contains(progressModes, text) {
		return fmt.Errorf("one of %s is needed", strings.Join(progressModes, ", "))
	}
	*m = progressMode(text)
	return nil
}

// register adds --progress, and --quiet for `--progress none`.
func (m *progressMode) register(fs *pflag.FlagSet) {
	*m = "auto"
	fs.Var(m, "progress",
		"auto (one line on a terminal, else a line now and then), plain, json (one object a line, on stderr) or none")
	quiet := fs.VarPF(quietFlag{m}, "quiet", "", "no progress: the same as --progress none")
	quiet.NoOptDefVal = "true"
}

// quietFlag is the value of --quiet, which sets the progress to none.
type quietFlag struct{ mode *progressMode }

func (f quietFlag) Type() string     { return "bool" }
func (f quietFlag) String() string   { return "false" }
func (f quietFlag) IsBoolFlag() bool { return true }

func (f quietFlag) Set(text string) error {
	switch text {
	case "true":
		*f.mode = "none"
	case "false":
	default:
		return errors.New("true or false is needed")
	}
	return nil
}

// A display shows a run's progress on stderr: one line that is rewritten on a terminal, a plain
// line now and then elsewhere, or events as JSON lines. It prints the first failure of each kind in
// full as soon as it happens.
type display struct {
	w        io.Writer
	mode     progressMode    // plain, json or none; auto: a terminal
	label    string          // begins the line; empty for a sweep
	dir      string          // of the sweep; empty: its trials cannot be run again by their ids
	colour   bool            // whether the line is in colours
	width    func() int      // characters of a line of the terminal
	reported map[string]bool // kinds of failures
	began    time.Time
	last     time.Time // of the last plain line or progress event
}

const (
	plainEvery = 10 * time.Second // between progress lines where nobody sees them being rewritten
	eventEvery = time.Second
)

// newDisplay returns a display on w. The mode auto becomes plain if w is no terminal.
func newDisplay(w io.Writer, mode progressMode) *display {
	d := &display{w: w, mode: mode, reported: map[string]bool{}, began: time.Now(), last: time.Now()}
	if mode != "auto" {
		return d
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		d.mode = "plain"
		return d
	}
	d.colour = os.Getenv("NO_COLOR") == ""
	d.width = func() int {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
		return 80
	}
	return d
}

// text returns where messages for people go at the end.
func (d *display) text() io.Writer {
	if d.mode == "json" {
		return io.Discard // the events hold the same
	}
	return d.w
}

// opened shows what the folder held.
func (d *display) opened(f *folder.Folder, workers int) {
	d.dir = f.Dir
	lines := folder.Lines(f.Report)
	if d.mode == "json" {
		d.event("opened", openedEvent{
			f.Dir, f.Plan.Name, len(f.Plan.Cells), workers, f.Resumed(), append([]string{}, lines...),
		})
		return
	}
	for _, line := range lines {
		fmt.Fprintf(d.w, "shatter: ledger: %s\n", line)
	}
}

// show shows the progress of a run.
func (d *display) show(p coordinator.Progress) {
	if d.mode != "none" {
		for _, f := range p.First {
			d.failure(f)
		}
	}
	d.rewrite(func() line { return d.line(p) })
	if d.mode == "json" && time.Since(d.last) >= eventEvery {
		d.last = time.Now()
		d.progress(p)
	}
}

// rewrite shows a line of progress: in the place of the last one on a terminal, elsewhere if it is
// time for another.
func (d *display) rewrite(text func() line) {
	switch d.mode {
	case "auto":
		fmt.Fprintf(d.w, "\r\x1b[K%s", text().cut(d.width()-1, d.colour))
	case "plain":
		if time.Since(d.last) >= plainEvery {
			d.last = time.Now()
			fmt.Fprintln(d.w, text().cut(1<<20, false))
		}
	}
}

// failure shows the first failure of its kind in full, once.
func (d *display) failure(f coordinator.Failure) {
	if d.reported[f.Kind] {
		return
	}
	d.reported[f.Kind] = true
	again := ""
	if d.dir != "" {
		again = fmt.Sprintf("shatter trial %s %s", wording.ShellWord(d.dir), f.Trial)
	}
	if d.mode == "json" {
		d.event("failure", failureEvent{f.Kind, f.Trial, f.What, f.Reason, again})
		return
	}
	d.end()
	fmt.Fprintf(d.w, "%s trial %s (%s) ended with %q: %s\n",
		line{{"shatter:", red}}.cut(80, d.colour), f.Trial, f.What, f.Kind, indented(f.Reason))
	if again != "" {
		fmt.Fprintf(d.w, "  it is the first of this kind; run it again alone: %s\n", again)
	}
}

// failures shows at the end how many failures of each kind there were.
func (d *display) failures(all []coordinator.Failure) {
	for _, f := range all {
		if d.mode == "json" {
			d.failure(f)
		}
		reason := indented(f.Reason)
		if d.reported[f.Kind] {
			reason = "see above"
		}
		fmt.Fprintf(d.text(), "shatter: %d trials ended with %q, the first is %s (%s): %s\n",
			f.Count, f.Kind, f.Trial, f.What, reason)
	}
}

// end clears the rewritten line.
func (d *display) end() {
	if d.mode == "auto" {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
}
