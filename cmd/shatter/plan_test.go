package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Progress as JSON lines: events with stable fields, in order, the first failure of a kind in full
// with the command that runs it again.
func TestProgressEvents(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	text := fmt.Sprintf(thirdSweep, thirdparty(t), "{use: third/nan, one_in: 2}", 20, 2)
	dir := filepath.Join(tmp, "out")
	_, errs, code := shatter(
		t,
		"run",
		write(t, filepath.Join(tmp, "third.yaml"), text),
		"--out",
		dir,
		"--workers",
		"1",
		"--progress",
		"json",
	)
	if code != exitUnfinished {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var names []string
	for line := range strings.Lines(errs) {
		var e struct {
			Event, Dir, Digest, Status, Command, Trial, Reason string
			Cells, Exit                                        int
			Failed                                             map[string]int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		names = append(names, e.Event)
		switch e.Event {
		case "opened":
			if e.Dir != dir || e.Cells == 0 {
				t.Error(line)
			}
		case "failure":
			if e.Command != "shatter trial "+dir+" "+e.Trial || e.Trial == "" || e.Reason == "" {
				t.Error(line)
			}
		case "done":
			if e.Status != "done" || e.Exit != exitUnfinished || len(e.Digest) != 64 || len(e.Failed) == 0 {
				t.Error(line)
			}
		}
	}
	if all := strings.Join(names, " "); !strings.HasPrefix(all, "opened ") || !strings.Contains(all, " failure ") ||
		!strings.HasSuffix(all, " done") {
		t.Errorf("events %s", all)
	}
}

// A line is cut by runes, colours do not count, and nothing of a plugin moves the cursor.
func TestProgressLine(t *testing.T) {
	t.Parallel()
	d := &display{}
	p := coordinator.Progress{
		Cells: 40, Decided: 12, Trials: 31204, Known: 1000, PerSecond: 5210.4,
		TimeLeft: &coordinator.Remaining{Seconds: 130},
		First: []coordinator.Failure{
			{Kind: "error"},
		}, Failed: map[string]int64{"error": 3}, Working: "größe\x1b[2J-\xff on thresholds, n = 128",
	}
	const want = "12/40 cells  31,204 trials (+1,000 known)  5,210/s  about 2m10s left  " +
		"failed: 3 error  größe [2J-? on thresholds, n = 128"
	if got := d.line(p).cut(1000, false); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for width := -1; width < 140; width++ {
		got := d.line(p).cut(width, false)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > max(width, 0) || !strings.HasPrefix(want, got) {
			t.Errorf("width %d: %q", width, got)
		}
		if coloured := regexp.MustCompile("\x1b\\[\\d+m").ReplaceAllString(d.line(p).cut(width, true), ""); coloured != got {
			t.Errorf("width %d: %q in colours, %q without", width, coloured, got)
		}
	}
	p.Late = "16 trials have run for 40 s: mine, n = 8" // which matters more than what was begun last
	if got := d.line(p).cut(1000, false); !strings.HasSuffix(got, "failed: 3 error  "+p.Late) {
		t.Errorf("with a late job: %q", got)
	}
	if got := wording.ShellWord("a b'c"); got != `'a b'\''c'` {
		t.Error(got)
	}
}
