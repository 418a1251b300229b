package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// clusterSweep takes some hundred trials.
const clusterSweep = `
name: cluster
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [expmech/em]
privacy: {epsilon: [1, 2]}
goal: {alpha: 0.09, beta: 0.05}
n: {from: 16, to: 1e4, within: 1.2}
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

// What an operator gets wrong, or finds: a beginning of several ids, a sweep that failed, and a worker
// whose words cannot be understood. Each ends in one line with the remedy.
func TestBadIDsAndFailures(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := c.registry()
	byFirst, twice, failed := map[string]string{}, "", ""
	for i := 0; twice == ""; i++ { // two of at most 17 ids begin alike
		s := &lead.Submission{Name: fmt.Sprint("s", i), Resolved: fmt.Sprint("r", i)}
		if _, _, err := lead.Submit(t.Context(), r, s, lead.DesiredState{Do: lead.Run}); err != nil {
			t.Fatal(err)
		}
		if failed = s.ID(); byFirst[failed[:1]] != "" {
			twice = failed[:1]
		}
		byFirst[failed[:1]] = failed
	}
	l, err := r.AcquireLease(t.Context(), failed, "leader", time.Minute, nil)
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

// signal sends a signal to a process.
func (c *cluster) signal(cmd *exec.Cmd, s syscall.Signal) {
	c.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		c.Fatal(err)
	}
}

// registry opens the registry of the cluster's server.
func (c *cluster) registry() *queue.Registry {
	c.Helper()
	conn, err := queue.Dial(c.Context(), c.url, queue.Options{})
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

// A list of more sweeps than a person reads ends with their number.
func TestManySweeps(t *testing.T) {
	var out, errs strings.Builder
	c := sweepsCommand()
	c.SetOut(&out)
	c.SetErr(&errs)
	if err := writeSweeps(slices.Repeat([]*sweepStatus{{Name: "s"}}, 26521), c); err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(out.String(), "\n")
	if lines != 501 || !strings.HasPrefix(errs.String(), "and 26,021 older ones") {
		t.Errorf("%d lines, %s", lines, &errs)
	}
}
