package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/wording"
)

const searchSweep = `
name: search
task: learn
problem: {class: thresholds, domain: [2^8, 2^16], distribution: needle, mass: 0.1}
algorithms: [expmech/em, baseline/erm]
privacy: {epsilon: [0.5, 1]}
goal: {alpha: 0.09, beta: 0.05}
n: {find: true, from: 16, to: 1e5, within: 2}
`

var plannedTrials = regexp.MustCompile(`(?m)^trials +([\d,]+) \(([\d,]+) to ([\d,]+)\) count in the table$`)

// What plan says of a sweep is near what the run takes, it keeps nothing, and --dry runs nothing. A
// budget that is spent leaves cells over and says so; going on gives the bytes of a run without
// one.
func TestPlanAndBudget(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	file, dir := write(t, filepath.Join(tmp, "search.yaml"), searchSweep), filepath.Join(tmp, "out")
	out, errs, code := shatter(t, "plan", file, "--workers", "2")
	m := plannedTrials.FindStringSubmatch(out)
	if code != 0 || m == nil || !strings.Contains(out, "on 2 workers") || !strings.Contains(out, "dearest") ||
		!strings.Contains(out, "nothing of them is kept") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	planned, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("shatter-out"); err == nil {
		t.Error("plan left a folder behind")
	}
	out, _, code = shatter(t, "plan", file, "--dry")
	if code != 0 || out != "6 cells, 48 to 300000 trials (a search stops where its cell is decided)\n" {
		t.Errorf("--dry: exit %d: %s", code, out)
	}

	want := digest(t, mustRun(t, file, filepath.Join(tmp, "whole")))
	real := 0
	for _, r := range table(t, filepath.Join(tmp, "whole")) {
		real += int(r["trials"].(float64))
	}
	if ratio := float64(planned) / float64(real); ratio < 0.5 || ratio > 2 {
		t.Errorf("plan said %d trials, the run took %d", planned, real)
	}

	_, errs, code = shatter(t, "run", file, "--out", dir, "--workers", "2", "--budget", "1500")
	if code != exitUnfinished || digest(t, errs) == want {
		t.Fatalf("budget: exit %d: %s", code, errs)
	}
	for _, part := range []string{
		"partial: ", "budget of 1500 trials was spent with ", "deciding all of them takes about ", "--budget",
	} {
		if !strings.Contains(errs, part) {
			t.Errorf("the message lacks %q: %s", part, errs)
		}
	}
	if last := readManifest(t, dir).Runs[0]; last.Trials != 1500 {
		t.Errorf("%d trials were run, want 1500", last.Trials)
	}
	undecided := 0
	for _, r := range table(t, dir) {
		if r["status"] == "undecided" && strings.HasPrefix(r["reason"].(string), "budget of 1500 trials was spent") {
			undecided++
		}
	}
	if undecided == 0 {
		t.Error("no cell is left over")
	}
	if out, errs, code := shatter(t, "verify", dir, "--sample", "0"); code != 0 ||
		!strings.Contains(out, "partial: budget of 1500 trials was spent, with ") {
		t.Errorf("verify: exit %d: %s%s", code, out, errs)
	}
	if got := digest(t, mustRun(t, file, dir, "--budget", "1h")); got != want {
		t.Errorf("digest %s after going on, want %s", got, want)
	}
}

// Progress as JSON lines: events with stable fields, in order, the first failure of a kind in full
// with the command that runs it again.
func TestProgressEvents(t *testing.T) {
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
		Left: &coordinator.Left{Seconds: forecast.Range{Likely: 130, Low: 90, High: 300}},
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

// On a terminal a run that takes long asks first; an answer that is no yes ends it as an interrupt
// does. Elsewhere it warns and goes on.
func TestAsksBeforeLongRun(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	shatterBinary, dir := binary(t), t.TempDir()
	file := write(t, filepath.Join(dir, "long.yaml"), strings.Replace(badSweep, "trials: 10\n", "trials: 1000000000\n", 1))
	master, slave := terminal(t)
	cmd := exec.Command(shatterBinary, "run", file, "--out", filepath.Join(dir, "out"), "--workers", "1")
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	var said bytes.Buffer
	read := bufio.NewReader(io.TeeReader(master, &said))
	for !strings.Contains(said.String(), "[y/N]") {
		if _, err := read.ReadByte(); err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
	}
	if _, err := master.WriteString("n\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, read) // ends with the process
	_ = cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	if code != exitInterrupted || !strings.Contains(said.String(), "the rest of this sweep takes about ") ||
		strings.Contains(said.String(), "\x1b[3") ||
		!strings.Contains(said.String(), "\r\x1b[K0/2 cells") {
		t.Errorf("exit %d: %q", code, said.String())
	}
}

// terminal opens a pseudo terminal of 100 columns.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
	}
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	return master, slave
}
