package host

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// run opens a session of 30 trials in a fresh process, asks each trial for two answers and closes
// it.
func run(t *testing.T, c Command, parameters map[string]any) ([]Fault, error) {
	t.Helper()
	return runIn(t, start(t, c), request("test/behaving", 30, 2, 1, parameters))
}

func runIn(t *testing.T, p *Process, r OpenRequest) (all []Fault, err error) {
	t.Helper()
	trials := len(r.Seeds) / 2
	s, faults, err := p.Open(t.Context(), r, numbered(trials))
	if err != nil {
		return nil, err
	}
	all = append(all, faults...)
	counts := make([]uint32, trials)
	for j := range counts {
		counts[j] = 2
	}
	_, faults, err = s.Step(t.Context(), counts, func(x []float64) { clear(x) })
	if err != nil {
		return all, err
	}
	all = append(all, faults...)
	_, faults, err = s.Close(t.Context(), nil)
	return append(all, faults...), err
}

// A declared hypothesis that is malformed fails its trial with the reason.
func TestDeclared(t *testing.T) {
	t.Parallel()
	testkit.Serial(t)
	for name, want := range map[string]string{
		"well": "", "no trial at all": "",
		"nothing known": `unknown kind "oracle"`, "too many": "a stump has 3 numbers, not 1000000",
		"half a number": "a stump has 3 numbers, not 0", "not a number": "number 0 is NaN", "no sign": "sign 0: use -1 or +1",
	} {
		p := start(t, self("raw", "RAW=declared "+name))
		s, faults, err := p.Open(t.Context(), request("test/raw", 1, 1, 1, nil), numbered(1))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch {
		case want == "":
			if len(faults) > 0 || (s.Declared(0) != nil) != (name == "well") {
				t.Errorf("%s: %v, declared %v", name, faults, s.Declared(0))
			}
		case len(faults) != 1 || faults[0].Kind != Answer || !strings.Contains(faults[0].Message, want):
			t.Errorf("%s: %v", name, faults)
		}
		if _, _, err := s.Close(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
}

// If the setting asks for labels, any other answer fails its trial, with the remedy.
func TestLabels(t *testing.T) {
	t.Parallel()
	p := start(t, self("plugin"))
	for means, want := range map[bool]int{true: 0, false: 30} {
		r := request("test/behaving", 30, 2, 1, nil)
		r.Setting.Means = means
		faults, err := runIn(t, p, r)
		if err != nil || len(faults) != want {
			t.Fatalf("means %v: %d faults, %v", means, len(faults), err)
		}
		for _, f := range faults {
			if f.Kind != Answer || !strings.Contains(f.Message, "to point 0 is not a label: the goal asks for labels; "+
				"set goal.answers: mean, or answer the sign") {
				t.Fatalf("%+v", f)
			}
		}
	}
}

// What an algorithm does wrong in trial 17 is the fault of that trial alone, and the
// process lives on.
func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		do, phase string
		kind      Kind
		message   string
	}{
		{"error", "learn", Error, "no convergence"},
		{"panic", "learn", Panic, "panic: out of luck"},
		{"panic", "predict", Panic, "plugin_test.go"},
		{"write", "learn", Panic, "read-only"},
		{"nan", "predict", Answer, "the answer in row 1 is not a number"},
		{"outside", "predict", Answer, "the answer in row 0 is 1.5, outside [-1, 1]"},
		{"metric", "learn", Error, `metric "first" is +Inf`},
		{"unknown metric", "learn", Panic, `"second"): not in the algorithm's Metrics`},
	}
	p := start(t, self("plugin"))
	for _, tt := range tests {
		if tt.do == "write" && runtime.GOOS != "linux" {
			continue
		}
		parameters := map[string]any{"do": tt.do, "at": 17, "phase": tt.phase}
		faults, err := runIn(t, p, request("test/behaving", 30, 2, 1, parameters))
		if err != nil || len(faults) != 1 || faults[0].Trial != 17 || faults[0].Kind != tt.kind ||
			!strings.Contains(faults[0].Message, tt.message) {
			t.Errorf("%s in %s: %v, %v", tt.do, tt.phase, faults, err)
		}
	}
	for do, kind := range map[string]Kind{"invalid": Invalid, "infeasible": Infeasible, "check panics": Panic} {
		faults, err := runIn(t, p, request("test/behaving", 30, 2, 1, map[string]any{"do": do}))
		if err != nil || len(faults) != 30 || faults[29].Kind != kind || faults[29].Message != faults[0].Message ||
			faults[0].Message == "" {
			t.Errorf("%s: %v, %v", do, faults, err)
		}
	}
	faults, err := runIn(t, p, request("test/behaving", 30, 2, 1, map[string]any{"do": "stdout", "at": 17}))
	if err != nil || len(faults) != 0 {
		t.Errorf("after prints to standard output: %v, %v", faults, err)
	}
}

// The error contains the cause of the end of a process.
func TestEnds(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf("1%d", os.Getpid())
	limited := self("plugin", "MARK="+mark)
	limited.Memory = 100 << 20
	limited.Trial = 1200 * time.Millisecond
	tests := []struct {
		do     string
		cause  Cause
		detail string
		state  string
		stderr string
	}{
		{"exit", Exit, "", "exit status 3", "giving up"},
		{"crash", Exit, "", "exit status 2", "panic: in the background"},
		{"flood", Exit, "", "exit status 4", "zzzz"},
		{"grandchild", Exit, "", "exit status 5", ""},
		{"memory", Memory, "limit is 100 MiB (limits.memory)", "signal: killed", ""},
		{"hang", Time, "longer than the limit of 1.2s (limits.trial)", "signal: killed", ""},
		{"busy", Time, "longer than the limit of 1.2s (limits.trial)", "signal: killed", ""},
		{"stop", Time, "it stopped itself, and the limit of a trial is 1.2s", "signal: killed", ""},
	}
	for _, tt := range tests {
		if tt.do == "memory" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(tt.do, func(t *testing.T) {
			t.Parallel()
			limited := limited
			if tt.cause != Time {
				limited.Trial = time.Minute
			}
			if tt.do == "stop" { // the first process of a pid namespace cannot stop itself
				limited.Sandbox.Mode = sandbox.Off
			}
			p := start(t, limited)
			_, err := runIn(t, p, request("test/behaving", 30, 2, 1, map[string]any{"do": tt.do, "at": 17}))
			var exit *ExitError
			if !errors.As(err, &exit) || exit.Cause != tt.cause || exit.State != tt.state ||
				!strings.HasPrefix(exit.Where, "learning") || !strings.Contains(exit.Detail, tt.detail) ||
				!strings.Contains(exit.Stderr, tt.stderr) {
				t.Fatalf("%+v", err)
			}
			if len(exit.Stderr) > tailBytes+crashBytes+100 {
				t.Errorf("%d bytes of standard error are kept", len(exit.Stderr))
			}
			if tt.do == "grandchild" {
				if running(mark) {
					t.Error("what it has started lives")
				}
			}
			if _, _, err := p.Open(t.Context(), request("test/behaving", 1, 1, 1, nil), numbered(1)); !errors.As(err, &exit) {
				t.Errorf("a session in a dead process: %v", err)
			}
		})
	}
}

// soon reports whether a condition on processes that are not our children holds within a time limit. The system
// does not announce their starts and ends, so it is asked again and again.
func soon(limit time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return false
}

// running reports whether a process with an argument runs.
func running(argument string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		if bytes.HasSuffix(text, []byte("\x00"+argument+"\x00")) {
			return true
		}
	}
	return false
}

// gone reports whether a process has ended; it may be a zombie.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// The limit is on one trial, not on all of them together.
func TestSlowTrials(t *testing.T) {
	t.Parallel()
	c := self("plugin")
	c.Trial = time.Second
	faults, err := run(t, c, map[string]any{"do": "error", "at": 17})
	if err != nil || len(faults) != 1 {
		t.Error(faults, err)
	}
	c.Trial = 3 * time.Second
	if _, err := run(t, c, map[string]any{"do": "slow", "at": 17}); err != nil {
		t.Error(err)
	}
}

// The error about a plugin that breaks the protocol describes the fault.
func TestProtocol(t *testing.T) {
	t.Parallel()
	tests := []struct{ kind, detail string }{
		{"too few", "8 bytes of answers where 2 points need 16"},
		{"too many", "24 bytes of answers where 2 points need 16"},
		{"half a number", "15 bytes of answers"},
		{"twice", `served twice`},
		{"wrong answer", `it sent "closed" where "opened" was due`},
		{"empty", `it sent "nothing" where "opened" was due`},
		{"ends session", "it ended the session without an answer"},
		{"fault outside", "trial 1 of 1"},
		{"fault without kind", "kind 0"},
		{"flood", "reports of progress where one a second is allowed"},
		{"huge", "message larger than max"},
		{"limit", "33554422 bytes of answers"},
		{"over limit", "message larger than max"},
		{"metric unknown", `metric "other", which it did not declare`},
		{"metric short", `7 bytes of metric "m" where 1 trial need 8`},
		{"goes on", `it sent "closed" where "the end" was due`},
		{"declared outside", "the hypothesis of trial 1 of 1"},
		{"declared twice", "or declared it twice"},
		{"fine", ""},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			p, err := Start(t.Context(), self("raw", "RAW="+tt.kind))
			if err == nil {
				defer p.Stop()
				_, err = runIn(t, p, request("test/raw", 1, 1, 1, nil))
			}
			if tt.detail == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.detail) {
				t.Errorf("%v", err)
			}
			var exit *ExitError
			if errors.As(err, &exit) && exit.Cause != Protocol {
				t.Errorf("cause %q: %v", exit.Cause, err)
			}
		})
	}
}

// A plugin that does not report how far it is has the limit of a trial for each trial
// together.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	c := self("raw", "RAW=hang")
	c.Trial = 100 * time.Millisecond
	_, err := runIn(t, start(t, c), request("test/raw", 3, 1, 1, nil))
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Cause != Time ||
		!strings.Contains(exit.Detail, "3 trials took more than the 100ms allowed") {
		t.Error(err)
	}
}

// The end of the caller's context ends the call and the process, during any activity of the plugin.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"hang", "busy", "stop"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			p := start(t, self("deaf"))
			ctx, cancel := context.WithCancel(t.Context())
			_, _, err := p.Open(ctx, request("test/behaving", 1, 1, 1, map[string]any{"do": do, "at": 0}), func(x, y []float64) {
				time.AfterFunc(100*time.Millisecond, cancel)
				numbered(1)(x, y)
			})
			var exit *ExitError
			if !errors.As(err, &exit) || exit.Cause != Cancelled || !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			select {
			case <-p.Done():
			default:
				t.Error("the process lives")
			}
		})
	}
}

// Stop returns and leaves nothing behind, in every state of the plugin.
func TestStop(t *testing.T) {
	t.Parallel()
	tests := map[string]func(p *Process){
		"idle":    func(*Process) {},
		"stopped": func(p *Process) { _ = syscall.Kill(p.Pid(), syscall.SIGSTOP) },
		"killed":  func(p *Process) { _ = syscall.Kill(p.Pid(), syscall.SIGKILL); <-p.Done() },
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := self("deaf")
			c.SocketDir = t.TempDir()
			p := start(t, c)
			before(p)
			p.Stop()
			p.Stop()
			select {
			case <-p.Done():
			default:
				t.Error("the process lives")
			}
			if left := sockets(c.SocketDir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if _, err := p.Check(t.Context(), &pluginv1.Setting{}); err == nil {
				t.Error("a stopped process answers")
			}
		})
	}
}

// Stop ends a call that is under way.
func TestStopDuring(t *testing.T) {
	t.Parallel()
	p := start(t, self("plugin"))
	hanging := request("test/behaving", 1, 1, 1, map[string]any{"do": "hang", "at": 0})
	_, _, err := p.Open(t.Context(), hanging, func(x, y []float64) {
		numbered(1)(x, y)
		time.AfterFunc(50*time.Millisecond, p.Stop)
	})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Cause != Cancelled {
		t.Error(err)
	}
}

// A plugin sees a sample or points only when they are complete.
func TestDrawnInPrivate(t *testing.T) {
	t.Parallel()
	p := start(t, self("plugin"))
	next := 7.0
	draw := func(x, y []float64) {
		for i := range x {
			x[i] = next
		}
		for i := range y {
			y[i] = 1
		}
		shown := p.memory.Bytes()[p.memory.last.table.Offset:]
		if slices.Contains(p.memory.last.layout.X(shown), next) || slices.Contains(p.memory.last.layout.Y(shown), 1) {
			t.Error("the plugin can read numbers that are being drawn")
		}
		next++
	}
	s, _, err := p.Open(t.Context(), request("test/behaving", 2, 3, 1, nil), draw)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Step(t.Context(), []uint32{4, 4}, func(x []float64) { draw(x, nil) }); err != nil {
		t.Fatal(err)
	}
}

// What a plugin reads of its sample does not count as its memory.
func TestSharedMemoryIsFree(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	c := self("plugin")
	c.Memory = 64 << 20
	p := start(t, c)
	reading := request("test/behaving", 1, 9<<20, 1, nil) // 72 MiB of labels
	s, faults, err := p.Open(t.Context(), reading, numbered(1))
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	if _, _, err := s.Close(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// sockets lists the directories of sockets below base.
func sockets(base string) []string {
	left, _ := filepath.Glob(filepath.Join(base, "shatter-*", "*"))
	return left
}

// No plugin outlives its host. Its socket is removed before the next one is made.
func TestHostKilled(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	base := t.TempDir()
	for _, host := range []string{"", "HOST_DO=busy", "HOST_ROLE=unmoved", "HOST_ROLE=unmoved SANDBOX=off"} {
		env := strings.Fields(host)
		host := exec.Command(testBinary())
		host.Env = append(append(os.Environ(), roleVariable+"=host", "HOST_BASE="+base), env...)
		host.Stderr = os.Stderr
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || gone(pid) || len(sockets(base)) != 1 {
			t.Fatal(line, err, sockets(base))
		}
		_ = host.Process.Kill()
		_ = host.Wait()
		if !soon(10*time.Second, func() bool { return gone(pid) }) {
			t.Errorf("plugin %d outlived its host", pid)
		}
		sweep(filepath.Join(base, fmt.Sprintf("shatter-%d", os.Getuid())))
		if left := sockets(base); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// actAsHost starts a plugin, prints its number when it is at work, and waits to be killed.
func actAsHost() {
	c := self(cmp.Or(os.Getenv("HOST_ROLE"), "plugin"))
	c.SocketDir, c.Sandbox.Mode = os.Getenv("HOST_BASE"), sandbox.Mode(os.Getenv("SANDBOX"))
	p, err := Start(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.Pid())
	if do := os.Getenv("HOST_DO"); do != "" {
		r := request("test/behaving", 1, 1, 1, map[string]any{"do": do, "at": 0})
		_, _, _ = p.Open(context.Background(), r, numbered(1))
	}
	select {}
}

func TestCheckAndBound(t *testing.T) {
	t.Parallel()
	p := start(t, self("plugin"))
	r := request("test/behaving", 1, 1, 1, map[string]any{"at": 4})
	check, err := p.Check(t.Context(), r.Setting)
	if err != nil || check.Refusal != nil || check.Guarantee != nil || check.Parameters["at"].GetInt() != 4 ||
		check.Parameters["phase"].GetString_() != "learn" {
		t.Error(check, err)
	}
	bound, err := p.Bound(t.Context(), r.Setting)
	if err != nil || len(bound.Bounds) != 1 || !math.IsInf(bound.Bounds[0].Value, 1) || bound.Bounds[0].With["v"] != 1 {
		t.Error(bound, err)
	}
	for do, kind := range map[string]pluginv1.Refusal_Kind{
		"invalid": pluginv1.Refusal_KIND_INVALID, "infeasible": pluginv1.Refusal_KIND_INFEASIBLE,
		"check panics": pluginv1.Refusal_KIND_ERROR,
	} {
		check, err := p.Check(t.Context(), request("test/behaving", 1, 1, 1, map[string]any{"do": do}).Setting)
		if err != nil || check.Refusal.GetKind() != kind {
			t.Errorf("%s: %v, %v", do, check, err)
		}
	}
	if check, err := p.Check(t.Context(), request("test/nobody", 1, 1, 1, nil).Setting); err != nil ||
		check.Refusal.GetKind() != pluginv1.Refusal_KIND_INVALID {
		t.Error(check, err)
	}
}
