package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/bus"
)

// clusterSweep takes some hundred trials.
const clusterSweep = `
name: cluster
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [expmech/em]
privacy: {epsilon: [1, 2]}
goal: {alpha: 0.09, beta: 0.05}
n: {find: true, from: 16, to: 1e4, within: 1.2}
`

// A cluster is a server with coordinators and workers, each a process.
type cluster struct {
	*testing.T
	url, dir string
}

func newCluster(t *testing.T) *cluster { return &cluster{t, startServer(t), t.TempDir()} }

// run runs a command that talks to the server.
func (c *cluster) run(args ...string) (stdout, stderr string, code int) {
	c.Helper()
	return shatter(c, append(args, "--server", c.url)...)
}

// must runs a command that has to succeed.
func (c *cluster) must(args ...string) (stdout, stderr string) {
	c.Helper()
	stdout, stderr, code := c.run(args...)
	if code != exitDone {
		c.Fatalf("shatter %v: exit %d: %s", args, code, stderr)
	}
	return stdout, stderr
}

// coordinator starts a coordinator that keeps its sweeps in a folder of that name.
func (c *cluster) coordinator(name string, flags ...string) *exec.Cmd {
	c.Helper()
	cmd := exec.Command(binary(c), append([]string{"coordinator", "--server", c.url, "--dir",
		filepath.Join(c.dir, name), "--lease", "1s", "--ship-every", "50ms"}, flags...)...)
	start(c.T, cmd)
	return cmd
}

func (c *cluster) worker(flags ...string) *exec.Cmd {
	c.Helper()
	cmd := exec.Command(binary(c), append([]string{"worker", "--server", c.url, "--workers", "1"}, flags...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+c.TempDir())
	start(c.T, cmd)
	return cmd
}

// submit submits a sweep, and returns its id.
func (c *cluster) submit(text string) string {
	c.Helper()
	out, _ := c.must("submit", write(c.T, filepath.Join(c.dir, "sweep.yaml"), text))
	return strings.TrimSpace(out)
}

// local returns the digest of an undisturbed run here.
func (c *cluster) local(text string) string {
	c.Helper()
	dir, err := finishedOnce(text)
	if err != nil {
		c.Fatal(err)
	}
	var m struct{ Digest string }
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		c.Fatal(err)
	}
	return m.Digest
}

// until waits until a sweep stands as it should.
func (c *cluster) until(id, what string, is func(*sweepStatus) bool) *sweepStatus {
	c.Helper()
	var s sweepStatus
	var out string
	defer func() {
		if c.Failed() {
			c.Logf("last: %s", out)
		}
	}()
	waitFor(c.T, what, func() bool {
		out, _ = c.must("status", id, "-o", "json")
		s = sweepStatus{}
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			c.Fatal(err)
		}
		return is(&s)
	})
	return &s
}

// ends waits for the end of a sweep, and fails the test unless it has the digest of an undisturbed run and
// its results can be verified.
func (c *cluster) ends(id, want string) {
	c.Helper()
	_, stderr := c.must("watch", id)
	if got := digest(c.T, stderr); got != want {
		c.Errorf("digest %s, want %s", got, want)
	}
	out := filepath.Join(c.dir, "out")
	c.must("results", id, "--out", out)
	if table, stderr, code := shatter(c, "verify", out, "--sample", "10"); code != exitDone {
		c.Errorf("verify: exit %d: %s%s", code, table, stderr)
	}
}

// signal sends a signal to a process.
func (c *cluster) signal(cmd *exec.Cmd, s syscall.Signal) {
	c.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		c.Fatal(err)
	}
}

// The leader is killed in the middle and its disk is lost. Another coordinator goes on from what was
// shipped, and the result is that of an undisturbed run here, byte for byte.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	want := c.local(clusterSweep)
	id := c.submit(clusterSweep)
	first, worker := c.coordinator("first"), c.worker()
	began := c.until(id, "outcomes come", func(s *sweepStatus) bool { return s.Trials != nil && *s.Trials > 0 })
	c.signal(worker, syscall.SIGSTOP)
	partial := filepath.Join(c.dir, "partial")
	_, stderr := c.must("results", id, "--out", partial)
	if !strings.Contains(stderr, "partial: sweep "+id) {
		t.Errorf("results of a sweep that runs: %s", stderr)
	}
	out, stderr, code := shatter(t, "table", partial)
	if code != exitDone || !strings.Contains(stderr, "so far; the sweep was running when this was fetched") {
		t.Errorf("table of a sweep that runs: exit %d: %s%s", code, out, stderr)
	}
	out, stderr, code = shatter(t, "verify", partial)
	if code != exitUsage || !strings.Contains(stderr, "has no results yet; the sweep was running when this was fetched") {
		t.Errorf("verify of a sweep that runs: exit %d: %s%s", code, out, stderr)
	}
	out, stderr, code = c.run("run", filepath.Join(c.dir, "sweep.yaml"), "--out", partial)
	if code != exitUsage || !strings.Contains(stderr, "is a copy of sweep "+id) {
		t.Errorf("run in a copy of a sweep that runs: exit %d: %s%s", code, out, stderr)
	}
	c.signal(first, syscall.SIGKILL)
	_ = first.Wait()
	if err := os.RemoveAll(filepath.Join(c.dir, "first")); err != nil {
		t.Fatal(err)
	}
	c.until(id, "nobody leads it, and what was shipped is told", func(s *sweepStatus) bool {
		return s.Leader == "" && s.Decided != nil && s.Trials != nil && *s.Trials > 0
	})
	c.coordinator("second")
	next := c.until(id, "another one leads", func(s *sweepStatus) bool {
		return s.Epoch > began.Epoch && s.Progress != nil
	})
	if next.Progress.Known == 0 {
		t.Error("the next leader began anew: nothing that was shipped was taken over")
	}
	c.signal(worker, syscall.SIGCONT)
	_, stderr = c.must("watch", id)
	if got := digest(t, stderr); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	c.must("results", id, "--out", partial)
	out, stderr, code = shatter(t, "verify", partial, "--sample", "10")
	if code != exitDone {
		t.Errorf("verify: exit %d: %s%s", code, out, stderr)
	}
	ended := c.until(id, "it is done", func(s *sweepStatus) bool { return s.Counted != nil })
	if recorded := fmt.Sprintf(" with %d outcomes, no damage", *ended.Trials); !strings.Contains(out, recorded) ||
		*ended.Counted == 0 || *ended.Counted > *ended.Trials {
		t.Errorf("%d of %d trials count, where verify says: %s", *ended.Counted, *ended.Trials, out)
	}
}

// The leader is frozen for longer than its lease, and another coordinator takes over; thawed, it
// changes nothing of the new leader's. When that one leaves, the first leads again, with a folder that
// is older than what was shipped.
func TestLeaderFrozen(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	want := c.local(clusterSweep)
	id := c.submit(clusterSweep)
	worker := c.worker()
	leaders := []*exec.Cmd{c.coordinator("first")}
	began := c.until(id, "outcomes come", func(s *sweepStatus) bool { return s.Trials != nil && *s.Trials > 0 })
	c.signal(worker, syscall.SIGSTOP)
	leaders = append(leaders, c.coordinator("second"))
	c.must("results", id, "--out", filepath.Join(c.dir, "shipped")) // once it has shipped what it has
	c.signal(leaders[0], syscall.SIGSTOP)
	second := c.until(id, "the second leads", func(s *sweepStatus) bool {
		return s.Epoch > began.Epoch && s.Progress != nil
	})
	c.signal(leaders[0], syscall.SIGCONT)
	time.Sleep(100 * time.Millisecond) // in which the first finds out that it leads no more
	c.signal(worker, syscall.SIGCONT)
	c.until(id, "outcomes come", func(s *sweepStatus) bool { return s.Trials != nil && *s.Trials > *second.Trials })
	c.signal(worker, syscall.SIGSTOP)
	now := c.until(id, "the first leads no more", func(s *sweepStatus) bool {
		return s.Leader != "" && s.Epoch > began.Epoch
	})
	if now.Epoch != second.Epoch {
		t.Errorf("led in epoch %d after the first leader was back, not in %d still", now.Epoch, second.Epoch)
	}
	c.signal(leaders[1], syscall.SIGTERM)
	third := c.until(id, "the first leads again", func(s *sweepStatus) bool {
		return s.Epoch > second.Epoch && s.Progress != nil
	})
	if third.Progress.Known <= second.Progress.Known {
		t.Errorf("%d outcomes were taken over from the second leader, which took %d from the first",
			third.Progress.Known, second.Progress.Known)
	}
	c.signal(worker, syscall.SIGCONT)
	_, stderr := c.must("watch", id)
	if got := digest(t, stderr); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// Sweeps of several people run side by side; one is cancelled, and the others end.
func TestSeveralSweeps(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.coordinator("only")
	ids, wants := map[string]string{}, map[string]string{}
	for _, name := range []string{"one", "two", "three"} {
		text := strings.Replace(clusterSweep, "cluster", name, 1)
		if ids[name] = c.submit(text); name != "three" {
			wants[name] = c.local(text)
		}
	}
	c.must("cancel", ids["three"])
	c.worker()
	for _, name := range []string{"one", "two"} {
		_, stderr := c.must("watch", ids[name])
		if got := digest(t, stderr); got != wants[name] {
			t.Errorf("%s: digest %s, want %s", name, got, wants[name])
		}
	}
	_, stderr, code := c.run("watch", ids["three"])
	if code != exitInterrupted || !strings.Contains(stderr, "is cancelled") {
		t.Errorf("a sweep that was cancelled: exit %d: %s", code, stderr)
	}
}

// A sweep that a coordinator has paused because workers differ needs no more budget to go on.
func TestResumeDisputed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	id := c.submit(clusterSweep)
	conn, err := bus.Dial(t.Context(), c.url, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	registry, err := conn.Registry(t.Context())
	if err == nil {
		err = lead.ChangeWish(t.Context(), registry, id, func(w *lead.Wish) error {
			w.Do, w.Why = lead.Pause, "integrity: two workers differ"
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	out, _ := c.must("status", id)
	if !strings.Contains(out, "integrity: two workers differ: `shatter resume ID` goes on") {
		t.Errorf("status of a sweep that is paused by a dispute: %s", out)
	}
	if out, _ := c.must("resume", id); !strings.Contains(out, "state      waiting") {
		t.Errorf("resumed: %s", out)
	}
}

// A sweep is forgotten, and the server loses what no other sweep names. The one that stays keeps its
// results, byte for byte, and the forgotten one can be submitted again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.coordinator("only")
	texts := map[string]string{"stays": clusterSweep, "goes": strings.Replace(clusterSweep, "cluster", "goes", 1)}
	ids := map[string]string{}
	for name, text := range texts {
		ids[name] = c.submit(text)
	}
	_, stderr, code := c.run("forget", ids["goes"][:8])
	if code != exitUsage || !strings.Contains(stderr, "has not ended") {
		t.Fatalf("forget a sweep that waits: exit %d: %s", code, stderr)
	}
	c.worker()
	for _, id := range ids {
		c.must("watch", id)
	}
	conn, err := bus.Dial(t.Context(), c.url, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	content := map[string][]string{}
	for name, id := range ids {
		content[name] = contentOf(t, conn, id)
	}
	out, _ := c.must("forget", ids["goes"], "-o", "json")
	if !strings.Contains(out, `"state": "forgotten"`) {
		t.Errorf("forget: %s", out)
	}
	serving, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() {
		served <- lead.Serve(serving, lead.Config{
			Conn: conn, Dir: t.TempDir(), Name: "tidy", TidyEvery: 10 * time.Millisecond, Grace: time.Nanosecond,
		})
	}()
	for _, digest := range content["goes"] {
		if slices.Contains(content["stays"], digest) {
			continue
		}
		waitFor(t, "content leaves the server", func() bool {
			has, err := conn.Has(t.Context(), digest)
			return err == nil && !has
		})
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	waitFor(t, "the sweep is not known any more", func() bool {
		_, stderr, code = c.run("status", ids["goes"])
		return code == exitUsage && strings.Contains(stderr, "no sweep")
	})
	dir := filepath.Join(c.dir, "out")
	_, stderr = c.must("results", ids["stays"], "--out", dir)
	if got, want := digest(t, stderr), c.local(clusterSweep); got != want {
		t.Errorf("digest %s of the sweep that stays, want %s", got, want)
	}
	if out, stderr, code := shatter(t, "verify", dir, "--sample", "10"); code != exitDone {
		t.Errorf("verify: exit %d: %s%s", code, out, stderr)
	}
	if id := c.submit(texts["goes"]); id != ids["goes"] {
		t.Errorf("submitted again as %s, before as %s", id, ids["goes"])
	}
	_, stderr = c.must("watch", ids["goes"])
	if got, want := digest(t, stderr), c.local(texts["goes"]); got != want {
		t.Errorf("digest %s of the sweep that was submitted again, want %s", got, want)
	}
}

// contentOf returns the digests of what the server has of a sweep.
func contentOf(t *testing.T, conn *bus.Conn, id string) (digests []string) {
	t.Helper()
	r, err := conn.Registry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	record, err := lead.ReadRecord(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range record.Shipment.Files {
		for _, p := range f.Parts {
			digests = append(digests, p.Digest)
		}
	}
	return append(digests, record.Submission.Content...)
}

// Two runs of one sweep over one server, each in a folder of its own, do not meet.
func TestTwoRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.worker()
	other := &cluster{t, c.url, t.TempDir()}
	first, second := c.begin(clusterSweep), other.begin(clusterSweep)
	want := c.local(clusterSweep)
	for _, wait := range []func() string{first, second} {
		if got := wait(); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
	}
}

// registry opens the registry of the cluster's server.
func (c *cluster) registry() *bus.Registry {
	c.Helper()
	conn, err := bus.Dial(c.Context(), c.url, bus.Options{})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(conn.Close)
	r, err := conn.Registry(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// What a submitter writes into the registry moves no cursor of those who look.
func TestForeignSubmission(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := c.registry()
	long := strings.Repeat("\x1b[2J\n!", 2000)
	s := &lead.Submission{Name: "name" + long, By: "me\x1b]0;you\a" + long, File: "file" + long, Resolved: "r"}
	if _, _, err := lead.Submit(t.Context(), r, s, lead.Wish{Do: lead.Run, By: "\x1b[2J"}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"sweeps"}, {"status", s.ID()}, {"cancel", s.ID()}, {"sweeps", "-o", "json"}} {
		out, stderr := c.must(args...)
		for line := range strings.Lines(out) {
			if args[len(args)-1] != "json" && len(line) > 1100 {
				t.Errorf("%v: a line of %d bytes", args, len(line))
			}
		}
		if strings.ContainsAny(out+stderr, "\x1b\a") || args[0] == "sweeps" && !strings.Contains(out, "name") {
			t.Errorf("%v: %q, %q", args, out, stderr)
		}
		if len(args) == 1 && strings.Count(out, "\n") != 2 {
			t.Errorf("%v: %q is not one line for the sweep", args, out)
		}
	}
}

// Whoever may submit can write anything into the registry. A sweep that was altered there is not run, all
// others are listed, and submitting the same again mends it; what is none can be forgotten.
func TestAlteredSubmission(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	id := c.submit(clusterSweep)
	nc, err := nats.Connect(c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for key, value := range map[string]string{
		id: `{"format":1,"name":"other"}`, id + ".wish": "no", "none": "no", "\x1b[2J": "{}", "a/b": "{}",
	} {
		if _, err := nc.Request("$KV.shatter-sweeps."+key, []byte(value), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	out, stderr := c.must("sweeps")
	if strings.Count(out, "failed") != 2 || strings.Count(out, "\n") != 3 || stderr != "" {
		t.Errorf("sweeps: %q, %q", out, stderr)
	}
	if out, _ := c.must("status", id); !strings.Contains(out, "in the place of what was submitted") {
		t.Errorf("status: %s", out)
	}
	c.must("cancel", id) // its wish can be written again
	other := &lead.Submission{Name: "other", Resolved: "r", Source: "s", Cells: 1}
	r := c.registry()
	if _, _, err := lead.Submit(t.Context(), r, other, lead.Wish{Do: lead.Cancel}); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(lead.Submission{Format: 1, Resolved: "r", Source: "t", Cells: 1_000_000})
	if err == nil {
		_, err = nc.Request("$KV.shatter-sweeps."+other.ID(), raw, time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	if added, kept, err := lead.Submit(t.Context(), r, other, lead.Wish{Do: lead.Run}); added || kept || err != nil {
		t.Errorf("submitted again: %v, %v, %v", added, kept, err)
	}
	if e, err := r.Find(t.Context(), other.ID()); err != nil || !strings.Contains(string(e.Submission), `"source":"s"`) {
		t.Errorf("%+v, %v", e, err)
	}
	c.coordinator("first")
	c.worker()
	c.must("forget", "none")
	waitFor(t, "what is no sweep is forgotten", func() bool {
		_, stderr, code := c.run("status", "none")
		return code == exitUsage && strings.Contains(stderr, "no sweep")
	})
	if again := c.submit(clusterSweep); again != id {
		t.Errorf("submitted again as %s, before as %s", again, id)
	}
	_, stderr = c.must("watch", id)
	if got, want := digest(t, stderr), c.local(clusterSweep); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// What an operator gets wrong, or finds: a beginning of several ids, a sweep that failed, and a worker
// whose words cannot be understood. Each is said in one line, with what to do.
func TestBadIDsAndFailures(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := c.registry()
	byFirst, twice, failed := map[string]string{}, "", ""
	for i := 0; twice == ""; i++ { // two of at most 17 ids begin alike
		s := &lead.Submission{Name: fmt.Sprint("s", i), Resolved: fmt.Sprint("r", i)}
		if _, _, err := lead.Submit(t.Context(), r, s, lead.Wish{Do: lead.Run}); err != nil {
			t.Fatal(err)
		}
		if failed = s.ID(); byFirst[failed[:1]] != "" {
			twice = failed[:1]
		}
		byFirst[failed[:1]] = failed
	}
	l, err := r.Lead(t.Context(), failed, "leader", time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	why := "two outcomes of trial x: run with --redo"
	end, err := json.Marshal(lead.End{Failure: why, Epoch: l.Epoch, Leader: "leader", At: time.Now()})
	if err == nil {
		err = errors.Join(l.Finish(t.Context(), end), l.Resign(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"status", twice}, exitUsage, []string{"could be any of", failed, "give more of its id"}},
		{[]string{"results", twice, "--out", filepath.Join(c.dir, "x")}, exitUsage, []string{"give more of its id"}},
		{[]string{"cancel", twice}, exitUsage, []string{"give more of its id"}},
		{[]string{"results", "none", "--out", filepath.Join(c.dir, "x")}, exitUsage,
			[]string{`no sweep "none"`, "shatter sweeps"}},
		{[]string{"results", failed, "--out", filepath.Join(c.dir, "x")}, exitUnfinished,
			[]string{"it has failed (" + why + ")"}},
		{[]string{"watch", failed}, exitUnfinished, []string{why}},
	} {
		stdout, stderr, code := c.run(tt.args...)
		if code != tt.code || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d: %s%s", tt.args, code, stdout, stderr)
		}
		for _, want := range tt.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%v: %q is not in %s", tt.args, want, stderr)
			}
		}
	}
}

// A worker that says what this version does not understand gets no jobs, and whoever looks is told that
// it is there.
func TestForeignWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	conn, err := bus.Dial(t.Context(), c.url, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		for conn.Announce("future", []byte(`{"version": 99}`)) == nil {
			time.Sleep(20 * time.Millisecond) // faster than workers do
		}
	}()
	stdout, stderr := c.must("workers")
	if strings.Count(stdout, "\n") != 1 || strings.Count(stderr, "worker future left out") != 1 ||
		!strings.Contains(stderr, "another version of shatter") {
		t.Errorf("workers: %s%s", stdout, stderr)
	}
	id := c.submit(clusterSweep)
	c.coordinator("only")
	s := c.until(id, "it is said", func(s *sweepStatus) bool { return strings.Contains(s.Reason, "future") })
	if !strings.Contains(s.Reason, "another version of shatter") {
		t.Errorf("status: %s", s.Reason)
	}
	if log, _ := c.must("logs", id); strings.Count(log, "gets no jobs") != 1 {
		t.Errorf("log: %s", log)
	}
	c.worker()
	c.must("watch", id)
}

// Whoever watches a sweep is told, when he leaves, that it goes on; also where timeout(1) tells the process
// twice to end. He has no jobs in work.
func TestWatchLeft(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.registry()
	id := c.submit(clusterSweep)
	cmd := exec.Command(binary(t), "watch", id, "--server", c.url)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); err != nil || !strings.Contains(line, "no coordinator leads it") {
		t.Errorf("%q, %v", line, err)
	}
	c.signal(cmd, syscall.SIGTERM)
	line, err := said.ReadString('\n') // an empty one
	if err == nil {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	rest, err := io.ReadAll(said)
	if err != nil || line != "\n" {
		t.Errorf("%q, %v", line, err)
	}
	if code := exitStatus(cmd.Wait()); code != exitInterrupted || strings.Contains(string(rest), "in work") ||
		!strings.Contains(string(rest), "sweep "+id+" goes on without this command") {
		t.Errorf("exit %d: %s", code, rest)
	}
}
