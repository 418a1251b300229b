package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// fleet returns the workers that answer.
func (c *cluster) fleet() (list []*fleet.Worker) {
	c.Helper()
	out, _ := c.must("workers", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.Fatal(err)
	}
	return list
}

// begin starts a run of a sweep over the server, without workers of its own.
func (c *cluster) begin(text string) (wait func() string) {
	c.Helper()
	file := write(c.T, filepath.Join(c.dir, "sweep.yaml"), text)
	cmd := exec.Command(binary(c), "run", file, "--out", filepath.Join(c.dir, "out"), "--server", c.url, "--workers", "0",
		"--cache", "off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	return func() string {
		c.Helper()
		if err := cmd.Wait(); exitStatus(err) != exitDone {
			c.Fatalf("exit %d: %s", exitStatus(err), &stderr)
		}
		return digest(c.T, stderr.String())
	}
}

// runs waits until a worker runs a trial.
func (c *cluster) runs(cmd *exec.Cmd) {
	c.Helper()
	waitFor(c.T, "a trial runs", func() bool {
		return slices.ContainsFunc(c.fleet(), func(w *fleet.Worker) bool {
			return strings.HasSuffix(w.Name, fmt.Sprint("-", cmd.Process.Pid)) && len(w.Held) > 0 && w.Held[0].Running > 0
		})
	})
}

// longTrials is a sweep of two trials of some seconds.
const longTrials = `
name: long
task: learn
problem: {class: thresholds, domain: 4, distribution: uniform}
plugins: [%s]
algorithms: [{use: third/spin, loops: 400000000}]
goal: {alpha: 0.45, beta: 0.5}
n: [1]
trials: 2
`

// Workers wait for a server that is not up yet. One that is told to leave in the middle of a long trial
// hands it back and goes; whoever stays runs it to its end.
func TestWorkersComeAndGo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	port := freePort(t)
	c := &cluster{t, fmt.Sprint("nats://127.0.0.1:", port), t.TempDir()}
	sweep := fmt.Sprintf(longTrials, thirdparty(t))
	worker := func() *exec.Cmd {
		cmd := exec.Command(binary(t), "worker", "--server", c.url, "--workers", "1", "--plugin", thirdparty(t),
			"--drain-timeout", "50ms", "--cache", filepath.Join(c.dir, "files"))
		start(t, cmd)
		return cmd
	}
	early := worker()
	serveWith(t, t.TempDir(), func(o *server.Options) { o.Port = port })
	wait := c.begin(sweep)
	c.runs(early)
	c.signal(early, syscall.SIGTERM)
	waitFor(t, "the worker has left", func() bool {
		return !slices.ContainsFunc(c.fleet(), func(w *fleet.Worker) bool { return !w.Leaving })
	})
	c.runs(worker())
	if got, want := wait(), c.local(sweep); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// freePort returns a port of this machine that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
