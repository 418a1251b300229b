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
	"unicode/utf8"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// progressMode is the value of --progress.
type progressMode string

// register adds --progress, and --quiet for `--progress none`.
func (m *progressMode) register(fs *pflag.FlagSet) {
	*m = "auto"
	modes := []string{"auto", "plain", "json", "none"}
	fs.Var(textFlag[progressMode]{m, "mode", func(text string) (progressMode, error) {
		if !slices.Contains(modes, text) {
			return "", fmt.Errorf("one of %s is needed", strings.Join(modes, ", "))
		}
		return progressMode(text), nil
	}, func(m progressMode) string { return string(m) }}, "progress",
		"progress on stderr: auto (a line that is rewritten on a terminal), plain, json (an object per line) or none")
	fs.BoolFunc("quiet", "no progress, as with --progress none", func(text string) error {
		switch text {
		case "true":
			*m = "none"
		case "false":
		default:
			return errors.New("true or false is needed")
		}
		return nil
	})
}

// A display shows a run on stderr: its progress, as a line that is rewritten on a terminal or as a plain line now and
// then, the first failure of each kind as soon as it happens, and a summary. In mode json it writes events instead.
type display struct {
	w        io.Writer
	mode     progressMode    // plain, json or none; auto: a terminal
	label    string          // first words of the line; "" for a sweep
	dir      string          // output folder; "": its trials cannot be run again by their ids
	color    bool            // whether the line is in colors
	width    func() int      // characters of a line of the terminal
	reported map[string]bool // kinds of failures
	began    time.Time
	printed  bool      // a plain line of progress was printed
	last     time.Time // time of the last plain line or progress event
}

const (
	plainEvery = 10 * time.Second // between progress lines that are not rewritten
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
	d.color = os.Getenv("NO_COLOR") == ""
	d.width = func() int {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
		return 80
	}
	return d
}

// say prints a line for people. In mode json it prints nothing, because the events contain the same facts.
func (d *display) say(format string, args ...any) {
	if d.mode != "json" {
		fmt.Fprintf(d.w, format+"\n", args...)
	}
}

// opened shows the damage that was found in the output folder.
func (d *display) opened(f *folder.Folder, workers int) {
	d.dir = f.Dir
	lines := folder.DescribeDamage(f.Report)
	for _, line := range lines {
		d.say("shatter: ledger: %s", line)
	}
	d.event("opened", openedEvent{
		f.Dir, f.Plan.Name, len(f.Plan.Cells), workers, f.Runs > 1, append([]string{}, lines...),
	})
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
		d.event("progress", newProgressEvent(p))
	}
}

// rewrite shows a line of progress. On a terminal it replaces the last one; elsewhere it is printed at most every
// plainEvery.
func (d *display) rewrite(text func() line) {
	switch d.mode {
	case "auto":
		fmt.Fprintf(d.w, "\r\x1b[K%s", text().cut(d.width()-1, d.color))
	case "plain":
		if time.Since(d.last) >= plainEvery {
			d.last, d.printed = time.Now(), true
			d.say("%s", text())
		}
	}
}

// end clears the rewritten line.
func (d *display) end() {
	if d.mode == "auto" {
		fmt.Fprint(d.w, "\r\x1b[K")
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
	d.event("failure", failureEvent{f.Kind, f.Trial, f.What, f.Reason, again})
	d.end()
	d.say("%s trial %s (%s) ended with %q: %s", line{{"shatter:", red}}.cut(80, d.color), f.Trial, f.What, f.Kind,
		indented(f.Reason))
	if again != "" {
		d.say("  it is the first of this kind; run it again alone: %s", again)
	}
}

// summary shows the alarms, dropped results and failures of a run, and corrects the last plain line of progress.
func (d *display) summary(s *coordinator.Summary) {
	if d.printed {
		d.say("%d/%d cells  %s trials", s.Decided, s.Cells, wording.Thousands(float64(s.Trials)))
	}
	for _, a := range s.Alarms {
		d.say("shatter: integrity alarm: %s", printable(a))
	}
	for _, w := range s.Workers {
		if w.Refused > 0 {
			d.say("shatter: %s results of worker %s were dropped because they were unfit; manifest.json says more",
				wording.Thousands(float64(w.Refused)), printable(w.Name))
		}
	}
	for _, w := range s.Warnings {
		d.say("shatter: %s warned %s in %s: %s", w.Algorithm, wording.Count(int(w.Count), "time"),
			wording.Count(len(w.Cells), "cell"), printable(w.First))
	}
	for _, f := range s.Failures {
		if d.mode == "json" {
			d.failure(f)
		}
		reason := indented(f.Reason)
		if d.reported[f.Kind] {
			reason = "see above"
		}
		d.say("shatter: %d trials ended with %q, the first is %s (%s): %s", f.Count, f.Kind, f.Trial, f.What, reason)
	}
}

// findings shows which bounds the result refutes, and along which searches and lists success goes against its
// direction.
func (d *display) findings(s *coordinator.Summary) {
	for _, line := range s.RefutedBounds {
		d.say("shatter: contradicted bound: %s", line)
	}
	if len(s.Alarms) == 0 && len(s.RefutedBounds) > 0 {
		failed := ""
		if s.FailedTrials > 0 {
			failed = fmt.Sprintf(" (trials that failed count as no success: %s did)", wording.Thousands(float64(s.FailedTrials)))
		}
		d.say("shatter: what was measured refutes %s: the bound, one of its premises, or the algorithm is wrong%s",
			trial.RefutedBounds(s.RefutedStandings), failed)
	}
	for _, line := range s.RefutedGuarantees {
		d.say("shatter: contradicted privacy: %s", printable(line))
	}
	for _, line := range s.Against {
		d.say("shatter: %s", printable(line))
	}
}

// done shows how the run ended, if that is an event, and returns the error that it ends with.
func (d *display) done(s *coordinator.Summary, err error) error {
	var status statusError
	if err != nil && !errors.As(err, &status) {
		return err
	}
	failed := map[string]int64{}
	for _, f := range s.Failures {
		failed[f.Kind] = f.Count
	}
	d.event("done", doneEvent{
		tenths(time.Since(d.began).Seconds()), howEnded(s), int(status),
		s.Cells, s.Decided, s.Unfinished, s.Trials, s.Counted, failed,
		append([]schemas.Warnings{}, s.Warnings...), append([]string{}, s.Alarms...),
		slices.Concat([]string{}, s.RefutedBounds, s.RefutedGuarantees),
		d.dir, s.Digest, s.Partial, append([]coordinator.Undecided{}, s.Left...),
		s.Rechecked, s.RechecksLeft, append([]string{}, s.RecheckNotes...), s.Seconds, s.PluginSeconds,
	})
	return err
}

// howEnded returns a word for the end of a run: done, partial or interrupted.
func howEnded(s *coordinator.Summary) string {
	switch {
	case s.Interrupted:
		return "interrupted"
	case s.Partial != "":
		return "partial"
	}
	return "done"
}

// resultStatus returns the exit code of a run that was not interrupted, as an error; nil if it is 0.
func resultStatus(s *coordinator.Summary) error {
	switch {
	case len(s.Alarms) > 0:
		return statusError(exitIntegrity)
	case s.Refutes():
		return statusError(exitRefuted)
	case s.Unfinished > 0, s.FailedTrials > 0, s.RechecksLeft > 0:
		return statusError(exitUnfinished)
	}
	return nil
}

// A line is a line of progress, part by part.
type line []part

type part struct{ text, color string }

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// cut joins the parts, two blanks apart, to at most width runes, without characters that a terminal does not print.
func (l line) cut(width int, color bool) string {
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
		if color && p.color != "" && text != "" {
			text = p.color + text + plain
		}
		b.WriteString(text)
	}
	return b.String()
}

// String returns the line as text without colors.
func (l line) String() string { return l.cut(1<<20, false) }

// line describes the progress of a run.
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
	case p.StallReason() != "":
		out = append(out, part{p.StallReason(), yellow})
	case p.TimeLeft != nil:
		out = append(out, part{"about " + roughSeconds(p.TimeLeft.Seconds) + " left", ""})
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

// With --progress json, stderr has one object a line with the key "event", which is the name of one
// of the types below: opened first, progress about once a second, failure for the first failure of
// each kind, done last. Times are seconds. Further keys may be added, none will change. A line that
// does not begin with { is a warning or an error for people.

type openedEvent struct {
	Dir     string   `json:"dir"`
	Name    string   `json:"name"`
	Cells   int      `json:"cells"`
	Workers int      `json:"workers"`
	Resumed bool     `json:"resumed"`
	Ledger  []string `json:"ledger"` // damage that was found in it
}

type progressEvent struct {
	Elapsed     float64          `json:"elapsed"`
	Cells       int              `json:"cells"`
	Decided     int              `json:"decided"`
	Trials      int64            `json:"trials"`
	Known       int64            `json:"known"`
	Served      int64            `json:"served"` // from the cache
	PerSecond   float64          `json:"per_second"`
	LeftSeconds *float64         `json:"left_seconds"` // within a factor of about two; null: unknown, as is left_trials
	LeftTrials  *int64           `json:"left_trials"`  // trials that will enter the table
	Failed      map[string]int64 `json:"failed"`       // by kind
	Working     string           `json:"working"`
	Late        string           `json:"late"` // the job that has run far longer than expected; empty: none
	NoWorkers   bool             `json:"no_workers"`
	Stuck       string           `json:"stuck"`     // reason why no worker can run the next job; empty: none
	Refused     int64            `json:"refused"`   // results of workers that were dropped because they were unfit
	Rechecks    int64            `json:"rechecks"`  // trials to be rechecked; 0 until that begins
	Rechecked   int64            `json:"rechecked"` // trials that were rechecked
}

type failureEvent struct {
	Kind    string `json:"kind"`
	Trial   string `json:"trial"`
	What    string `json:"what"`
	Reason  string `json:"reason"`
	Command string `json:"command"` // runs the trial again
}

type doneEvent struct {
	Elapsed      float64                 `json:"elapsed"`
	Status       string                  `json:"status"` // done, partial or interrupted
	Exit         int                     `json:"exit"`
	Cells        int                     `json:"cells"`
	Decided      int                     `json:"decided"`
	Unfinished   int                     `json:"unfinished"`
	Trials       int64                   `json:"trials"`
	Counted      int64                   `json:"counted"` // trials that the tables count, of this run and earlier ones
	Failed       map[string]int64        `json:"failed"`  // by kind
	Warnings     []schemas.Warnings      `json:"warnings"`
	Alarms       []string                `json:"alarms"`
	Refuted      []string                `json:"refuted"` // bounds and guarantees that the table refutes
	Dir          string                  `json:"dir"`
	Digest       string                  `json:"digest"`
	Partial      string                  `json:"partial"`
	Left         []coordinator.Undecided `json:"left"`
	Rechecked    int64                   `json:"rechecked"`     // trials that were rechecked
	RechecksLeft int64                   `json:"rechecks_left"` // trials that should have been rechecked and were not
	RecheckNotes []string                `json:"recheck_notes"`
	Seconds      float64                 `json:"trial_seconds"`  // time that slots worked on trials, summed over slots
	Plugin       float64                 `json:"plugin_seconds"` // part of trial_seconds that was spent inside plugins
}

// event writes one event, in mode json.
func (d *display) event(name string, fields any) {
	if d.mode != "json" {
		return
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err) // the fields are ours
	}
	fmt.Fprintf(d.w, "{\"event\":%q,%s\n", name, raw[1:])
}

func newProgressEvent(p coordinator.Progress) progressEvent {
	e := progressEvent{
		Elapsed: tenths(p.Elapsed.Seconds()), Cells: p.Cells, Decided: p.Decided, Trials: p.Trials, Known: p.Known,
		Served: p.Served, PerSecond: tenths(p.PerSecond), Failed: p.Failed, Working: p.Working, Late: p.Late,
		NoWorkers: p.NoWorkers, Stuck: p.Stuck,
		Refused: p.Refused, Rechecks: p.Rechecks, Rechecked: p.Rechecked,
	}
	if l := p.TimeLeft; l != nil {
		seconds := tenths(l.Seconds)
		e.LeftSeconds, e.LeftTrials = &seconds, &l.Counted
	}
	return e
}

func tenths(x float64) float64 { return float64(int64(x*10)) / 10 }
