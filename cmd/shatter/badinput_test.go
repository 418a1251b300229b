package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// badSweep is a right file that the tests below spoil.
const badSweep = `name: bad
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [expmech/em]
privacy: {epsilon: [1, 2]}
goal: {alpha: 0.05, beta: 0.05}
n: [100, 200]
trials: 10
`

// expect runs a command that has to fail, and holds its message against the wanted parts.
func expect(t *testing.T, code int, want []string, args ...string) {
	t.Helper()
	stdout, stderr, got := shatter(t, args...)
	if got != code {
		t.Errorf("exit %d, want %d: %s", got, code, stderr)
	}
	for _, part := range want {
		if !strings.Contains(stderr, part) {
			t.Errorf("the message lacks %q: %s", part, stderr)
		}
	}
	if stdout != "" {
		t.Errorf("stdout: %s", stdout)
	}
	for _, leak := range []string{"goroutine ", "strconv.", "%!"} {
		if strings.Contains(stderr, leak) {
			t.Errorf("the message holds %q: %s", leak, stderr)
		}
	}
}

// A wrong or hostile sweep file is refused as a whole, with place and remedy, and nothing is written.
func TestBadSweeps(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	cases := []struct{ name, old, new, want string }{
		{"no plugin", "trials: 10", "trials: 10\nplugins: [./nope]", "paths are relative to the sweep file"},
		{"garbage", badSweep, "\x00\x01\xff\xfe\x80", "plain text in UTF-8"},
		{"large", badSweep, strings.Repeat("# a comment\n", 1<<17), "has 1572864 bytes, more than 1048576"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			text := strings.Replace(badSweep, c.old, c.new, 1)
			if text == badSweep {
				t.Fatalf("%q is not in the file", c.old)
			}
			out := filepath.Join(dir, "out")
			expect(t, exitUsage, []string{"bad.yaml", c.want}, "run", write(t, filepath.Join(dir, "bad.yaml"), text), "--out",
				out)
			if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("output folder: %v", err)
			}
		})
	}
}

// The command line is refused with what would be right, before anything is written.
func TestBadCommandLine(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "bad.yaml"), badSweep)
	out := filepath.Join(dir, "out")
	for _, d := range []string{"stranger", "begun/ledger", "damaged"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "damaged", "table.parquet"), "no Parquet")
	for _, c := range []struct {
		args string // with FILE, OUT and DIR
		code int
		want string
	}{
		{"forget ab12", exitUsage, `unknown command "forget" for "shatter"; it is called delete now`},
		{"run FILE --looks 1%", exitUsage, "unknown flag: --looks; it is called --recheck now"},
		{"rnu", exitUsage, `unknown command "rnu" for "shatter", did you mean "run"?`},
		{"plugin lsit", exitUsage, `did you mean "list"?`},
		{"frobnicate", exitUsage, "`shatter --help` lists them"},
		{"run FILE --wokers 2", exitUsage, `unknown flag: --wokers, did you mean "--workers"`},
		{"run", exitUsage, "usage: shatter run FILE"},
		{"run FILE FILE", exitUsage, "has the form KEY=VALUE, as in seed=2"},
		{"run FILEx", exitUsage, "no such file"},
		{"run DIR", exitUsage, "it is a folder; a regular file is needed"},
		{"run FILE --workers abc --out OUT", exitUsage, `"abc" for "--workers"`},
		{"run FILE --workers -5 --out OUT", exitUsage, "a number from 0 on is needed"},
		{"run FILE --workers 0 --out OUT", exitUsage, "no worker would run trials"},
		{"run FILE --workers 100000000 --out OUT", exitUsage, "at most 1024"},
		{"run FILE --recheck 101% --out OUT", exitUsage, "a share like 1%, all, or 0 for none is needed"},
		{"run FILE --recheck 1 --out OUT", exitUsage, "a share like 1%, all, or 0 for none is needed"},
		{"run FILE --budget -5 --out OUT", exitUsage, "whole number of trials from 1 on"},
		{"run FILE --budget 2_hours --out OUT", exitUsage, "(2h, 1h30m, 90s)"},
		{"run FILE --budget NaN --out OUT", exitUsage, `"NaN" for "--budget"`},
		{"run FILE --budget -2h --out OUT", exitUsage, "a time above 0"},
		{"run FILE --progress xml --out OUT", exitUsage, "one of auto, plain, json, none is needed"},
		{"plan FILE --workers 0", exitUsage, "a number from 1 on is needed"},
		{"run FILE --fresh --extend --out OUT", exitUsage, "--fresh starts over"},
		{"run FILE --creds x --out OUT", exitUsage, "--creds is for --server"},
		{"run FILE --server nats://127.0.0.1:1 --out OUT", exitConnection, "no NATS server at nats://127.0.0.1:1"},
		{"run FILE --server nats://%% --out OUT", exitConnection, "check the URL"},
		{"run FILE --server nats://me:hidden@127.0.0.1:1 --out OUT", exitUsage,
			"--server nats://me:xxxxx@127.0.0.1:1: everybody on this machine"},
		{"sweeps --server tls://h --tls-cert x", exitUsage, "go together"},
		{"worker", exitUsage, "--server is needed"},
		{"run FILE --out FILE", exitUsage, "choose another with --out"},
		{"run FILE --out FILE/out", exitUsage, "choose another with --out"},
		{"table OUT", exitUsage, "name the output folder of a sweep"},
		{"table FILE", exitUsage, "is not a folder"},
		{"table DIR/stranger", exitUsage, "is not the output folder of a sweep"},
		{"table DIR/begun", exitUsage, "has no results yet"},
		{"table DIR/damaged", exitUsage, "writes it from the ledger"},
		{"table DIR/stranger -o xml", exitUsage, "one of table, json, csv, md, tex, arrow, parquet is needed"},
		{"verify DIR/stranger", exitUsage, "is not the output folder of a sweep"},
		{"verify FILE", exitUsage, "name the output folder of a sweep"},
		{"verify DIR/damaged --workers 0", exitUsage, "a number from 1 on is needed"},
		{"verify DIR/damaged --sample 101%", exitUsage, "a share like 1%"},
		{"trial DIR/stranger 0123456789/100/0", exitUsage, "is not the output folder of a sweep"},
		{"trial FILE 0123456789/100/0", exitUsage, "name the output folder of a sweep"},
		{"trial DIR/damaged x -o xml", exitUsage, "one of table, json is needed"},
		{"plugin describe expmech/me", exitUsage, `did you mean "expmech/em"?`},
		{"plugin list DIR/nope", exitUsage, "there is no such file"},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(strings.NewReplacer("FILE", file, "OUT", out, "DIR", dir).Replace(c.args))
			expect(t, c.code, []string{c.want}, args...)
			if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("output folder: %v", err)
			}
		})
	}
}

// A folder that another run holds is left alone. An interrupt ends that run with a message how to
// go on, and leaves no process. Whatever ends it, what is known can be looked at, then and before.
func TestInterrupt(t *testing.T) {
	shatterBinary, dir := binary(t), t.TempDir()
	out := filepath.Join(dir, "out")
	endless := strings.NewReplacer("[100, 200]", "[100000, 200000]", "trials: 10\n", "trials: 100000000\n")
	file := write(t, filepath.Join(dir, "bad.yaml"), endless.Replace(badSweep))
	for _, interrupts := range []int{1, 2} {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(shatterBinary, "run", file, "--out", out, "--workers", "2")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		before := ledgerSize(out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "outcomes", func() bool { return ledgerSize(out) > before })
		if interrupts == 1 {
			expect(t, exitUnfinished, []string{fmt.Sprint("process ", cmd.Process.Pid), "wait for that or stop it"}, "run",
				file, "--out", out)
			_ = cmd.Process.Signal(syscall.SIGSTOP) // it leaves the processor to this test
			showKnown(t, out, "the sweep is still running", 5)
			_ = cmd.Process.Signal(syscall.SIGCONT)
		}
		for range interrupts { // a second one may find the process gone
			_ = cmd.Process.Signal(os.Interrupt)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("%d interrupts: exit %d: %s", interrupts, code, &stderr)
		}
		if stdout.Len() > 0 || strings.Contains(stderr.String(), "goroutine ") {
			t.Errorf("%d interrupts: %s%s", interrupts, &stdout, &stderr)
		}
		if interrupts == 1 && !strings.Contains(stderr.String(),
			"run the same command again to go on; what is known: shatter table "+out+"\n") {
			t.Errorf("the message does not say how to go on: %s", &stderr)
		}
		waitFor(t, "the processes to end", func() bool { return len(processes(t, shatterBinary)) == 0 })
		showKnown(t, out, "the sweep was interrupted: the same command goes on", 1)
	}
}

// showKnown looks at a sweep that has not ended, in the first of five ways.
func showKnown(t *testing.T, dir, state string, ways int) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	said := "shatter: partial: 0 of 2 cells done, "
	for _, c := range []struct {
		args []string
		want []string // on stdout
	}{
		{[]string{"table", dir, "--details"},
			[]string{"undecided", "the sweep has not got there yet; deciding", "\npartial: 0 of 2", state}},
		{[]string{"table", dir, "-o", "tex"}, []string{"% sweep bad, partial: 0 of 2 cells done", state}},
		{[]string{"query", dir, "select status from cells group by all", "-o", "csv"}, []string{"status\nundecided\n"}},
		{[]string{"report", dir}, []string{filepath.Join(dir, "report.html\n")}},
		{[]string{"plot", dir, "--what", "curve", "--format", "svg"}, []string{filepath.Join(dir, "figures", "curve-")}},
	}[:ways] {
		stdout, stderr, code := shatter(t, c.args...)
		if code != 0 || !strings.HasPrefix(stderr, said) || !strings.HasSuffix(stderr, state+"\n") {
			t.Errorf("%v: exit %d: %s", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%v: no %q in %s", c.args, want, stdout)
			}
		}
	}
	if ways > 1 {
		page := testkit.ReadFile(t, filepath.Join(dir, "report.html"))
		if !strings.Contains(page, "<strong>Partial.</strong> 0 of 2 cells done") || !strings.Contains(page, state) {
			t.Error("the page is not marked")
		}
	}
	if left := files(t, temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A reader that leaves, and a device that is full, are no reason to panic.
func TestStdoutEnds(t *testing.T) {
	t.Parallel()
	shatterBinary, temp := binary(t), t.TempDir()
	_, out := copied(t, finished(t, verifySweep))
	show := func(stdout *os.File) (string, *os.ProcessState) {
		var stderr bytes.Buffer
		cmd := exec.Command(shatterBinary, "table", out, "--what", "curve")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		cmd.Stdout, cmd.Stderr = stdout, &stderr
		_ = cmd.Run()
		stdout.Close()
		return stderr.String(), cmd.ProcessState
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	again, err := syscall.Dup(int(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if text, state := show(w); state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGPIPE || text != "" {
		t.Errorf("broken pipe: %v: %s", state, text)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no full device: %v", err)
	}
	if text, state := show(full); state.ExitCode() != exitUnfinished || !strings.Contains(text, "make room") {
		t.Errorf("full device: %v: %s", state, text)
	}
	if err := os.Remove(filepath.Join(out, "manifest.json")); err != nil { // the table is made from the ledger
		t.Fatal(err)
	}
	if text, state := show(os.NewFile(uintptr(again), "pipe")); state.ExitCode() != exitPipe || text != "" {
		t.Errorf("broken pipe, with a temporary folder: %v: %s", state, text)
	}
	if left := files(t, temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// If no temporary files can be made, as on a read-only root, commands name the variable to set.
func TestNoTemporaryFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sweep := write(t, filepath.Join(dir, "bad.yaml"), badSweep)
	for _, args := range [][]string{{"run", sweep, "--out", filepath.Join(dir, "out")}, {"check", sweep}} {
		cmd := exec.Command(binary(t), args...)
		cmd.Env = append(os.Environ(), "TMPDIR=/proc/none")
		text, err := cmd.CombinedOutput()
		if err == nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), "set TMPDIR") {
			t.Errorf("%v: %v: %s", args, err, text)
		}
	}
}
