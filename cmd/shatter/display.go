package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
)

// progressMode is --progress.
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
	fs.Var(m, "progress", "auto (one line on a terminal, else a line now and then), plain, json (one object a line, on stderr) or none")
	quiet := fs.VarPF(quietFlag{m}, "quiet", "", "no progress: the same as --progress none")
	quiet.NoOptDefVal = "true"
}

// quietFlag sets the progress to none.
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

// display shows a run's progress on stderr: one line that is rewritten on a terminal, a plain line now and then elsewhere, or events as JSON
// lines. It says the first failure of each kind in full as soon as it happens.
//
// An event is one object with the key "event":
//
//	opened    dir, name, cells, workers, resumed, ledger (what was wrong with it)
//	progress  elapsed, cells, decided, trials, known, served (from the cache), per_second, left_seconds and left_trials (null: not known yet), failed (by kind),
//	          working, no_workers; about once a second
//	failure   kind, trial, what, reason, command (that runs it again): the first of each kind
//	done      elapsed, status (done, partial, interrupted), exit, cells, decided, unfinished, trials, failed, alarms, dir, digest, partial, left
//
// Times are seconds. Further keys may be added, none will change. A line that does not begin with { is a warning or an error for people.
type display struct {
	w        io.Writer
	mode     progressMode // plain, json or none; auto: a terminal
	label    string       // of the line; empty: a sweep
	dir      string       // of the sweep; empty: its trials cannot be run again by their names
	colour   bool
	width    func() int
	question *question // nil: nothing is asked
	said     map[string]bool
	began    time.Time
	last     time.Time
}

const (
	plainEvery = 10 * time.Second // between progress lines where nobody sees them being rewritten
	eventEvery = time.Second
)

func newDisplay(w io.Writer, mode progressMode) *display {
	d := &display{w: w, mode: mode, said: map[string]bool{}, began: time.Now(), last: time.Now()}
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

// text is where messages for people go at the end.
func (d *display) text() io.Writer {
	if d.mode == "json" {
		return io.Discard // the events say the same
	}
	return d.w
}

// event writes one JSON line.
func (d *display) event(name string, fields any) {
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err) // the fields are ours
	}
	fmt.Fprintf(d.w, "{\"event\":%q,%s\n", name, raw[1:])
}

// opened says what the folder held.
func (d *display) opened(f *folder.Folder, workers int) {
	d.dir = f.Dir
	lines := folder.Lines(f.Report)
	if d.mode == "json" {
		d.event("opened", struct {
			Dir     string   `json:"dir"`
			Name    string   `json:"name"`
			Cells   int      `json:"cells"`
			Workers int      `json:"workers"`
			Resumed bool     `json:"resumed"`
			Ledger  []string `json:"ledger"`
		}{f.Dir, f.Plan.Name, len(f.Plan.Cells), workers, f.Resumed(), append([]string{}, lines...)})
		return
	}
	for _, line := range lines {
		fmt.Fprintf(d.w, "shatter: ledger: %s\n", line)
	}
}

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
	d.question.consider(d, p)
}

// rewrite shows a line of progress: in the place of the last one on a terminal, else if it is time for another.
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

func (d *display) progress(p coordinator.Progress) {
	var seconds *float64
	var trials *int64
	if p.Remaining > 0 {
		left := p.Remaining.Seconds()
		seconds, trials = &left, &p.LeftTrials
	}
	d.event("progress", struct {
		Elapsed     float64          `json:"elapsed"`
		Cells       int              `json:"cells"`
		Decided     int              `json:"decided"`
		Trials      int64            `json:"trials"`
		Known       int64            `json:"known"`
		Served      int64            `json:"served"`
		PerSecond   float64          `json:"per_second"`
		LeftSeconds *float64         `json:"left_seconds"`
		LeftTrials  *int64           `json:"left_trials"`
		Failed      map[string]int64 `json:"failed"`
		Working     string           `json:"working"`
		NoWorkers   bool             `json:"no_workers"`
	}{tenths(p.Elapsed.Seconds()), p.Cells, p.Decided, p.Trials, p.Known, p.Served, tenths(p.PerSecond), seconds, trials, p.Failed, p.Working, p.NoWorkers})
}

func tenths(x float64) float64 { return float64(int64(x*10)) / 10 }

// failure says the first failure of its kind in full, once.
func (d *display) failure(f coordinator.Failure) {
	if d.said[f.Kind] {
		return
	}
	d.said[f.Kind] = true
	again := ""
	if d.dir != "" {
		again = fmt.Sprintf("shatter trial %s %s", quoted(d.dir), f.Trial)
	}
	if d.mode == "json" {
		d.event("failure", struct {
			Kind    string `json:"kind"`
			Trial   string `json:"trial"`
			What    string `json:"what"`
			Reason  string `json:"reason"`
			Command string `json:"command"`
		}{f.Kind, f.Trial, f.What, f.Reason, again})
		return
	}
	d.end()
	fmt.Fprintf(d.w, "%s trial %s (%s) ended with %q: %s\n", line{{"shatter:", red}}.cut(80, d.colour), f.Trial, f.What, f.Kind, indented(f.Reason))
	if again != "" {
		fmt.Fprintf(d.w, "  it is the first of this kind; run it again alone: %s\n", again)
	}
}

// failures says at the end how many there were.
func (d *display) failures(all []coordinator.Failure) {
	for _, f := range all {
		if d.mode == "json" {
			d.failure(f)
		}
		reason := indented(f.Reason)
		if d.said[f.Kind] {
			reason = "see above"
		}
		fmt.Fprintf(d.text(), "shatter: %d trials ended with %q, the first is %s (%s): %s\n", f.Count, f.Kind, f.Trial, f.What, reason)
	}
}

// done says how the run ended, where that is an event, and gives back the error that it ends with.
func (d *display) done(s *coordinator.Summary, err error) error {
	var status statusError
	if d.mode != "json" || err != nil && !errors.As(err, &status) {
		return err
	}
	how := "done"
	switch {
	case s.Interrupted:
		how = "interrupted"
	case s.Partial != "":
		how = "partial"
	}
	failed := map[string]int64{}
	for _, f := range s.Failures {
		failed[f.Kind] = f.Count
	}
	d.event("done", struct {
		Elapsed    float64                 `json:"elapsed"`
		Status     string                  `json:"status"`
		Exit       int                     `json:"exit"`
		Cells      int                     `json:"cells"`
		Decided    int                     `json:"decided"`
		Unfinished int                     `json:"unfinished"`
		Trials     int64                   `json:"trials"`
		Failed     map[string]int64        `json:"failed"`
		Alarms     []string                `json:"alarms"`
		Dir        string                  `json:"dir"`
		Digest     string                  `json:"digest"`
		Partial    string                  `json:"partial"`
		Left       []coordinator.Undecided `json:"left"`
	}{
		tenths(time.Since(d.began).Seconds()), how, int(status), s.Cells, s.Decided, s.Unfinished, s.Trials, failed, append([]string{}, s.Alarms...),
		d.dir, s.Digest, s.Partial, append([]coordinator.Undecided{}, s.Left...),
	})
	return err
}

// end clears the rewritten line.
func (d *display) end() {
	if d.mode == "auto" {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
}

// line is what a progress line says, part by part.
type line []part

type part struct{ text, colour string }

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// cut joins the parts, two blanks apart, to at most width runes. What shows no sign on a terminal is left out.
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
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// indented is a text of perhaps several lines below a first one.
func indented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = printable(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n  ")
}

func (d *display) line(p coordinator.Progress) line {
	out := line{{fmt.Sprintf("%d/%d cells", p.Decided, p.Cells), bold}}
	if d.label != "" {
		out = append(line{{d.label, ""}}, out...)
	}
	trials := count(float64(p.Trials)) + " trials"
	if p.Known > 0 {
		trials += fmt.Sprintf(" (+%s known)", count(float64(p.Known)))
	}
	if p.Served > 0 {
		trials += fmt.Sprintf(" (+%s from the cache)", count(float64(p.Served)))
	}
	out = append(out, part{trials, ""}, part{count(p.PerSecond) + "/s", ""})
	switch {
	case p.NoWorkers:
		out = append(out, part{"no worker asks for work: start `shatter worker --server URL`", yellow})
	case p.Remaining > 0:
		out = append(out, part{"about " + coordinator.InWords(p.Remaining) + " left", ""})
	}
	var kinds []string
	for _, f := range p.First {
		kinds = append(kinds, fmt.Sprintf("%d %s", p.Failed[f.Kind], f.Kind))
	}
	if len(kinds) > 0 {
		out = append(out, part{"failed: " + strings.Join(kinds, ", "), red})
	}
	if p.Working != "" {
		out = append(out, part{p.Working, ""})
	}
	return out
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	safe := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+,:=@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
