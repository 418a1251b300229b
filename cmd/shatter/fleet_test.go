package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/pipeline/bus/bustest"
	"github.com/shatterlab/shatter/pipeline/fleet"
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
		"--yes", "--cache", "off")
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

// childrenOf returns the processes that a process has started.
func childrenOf(t *testing.T, pid int) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, child)
		}
	}
	return pids
}

// stopAll stops all processes that a process has started, and those that these have, until the test ends.
func stopAll(t *testing.T, pid int) {
	t.Helper()
	for _, child := range childrenOf(t, pid) {
		if err := syscall.Kill(child, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
		stopAll(t, child)
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

// The processes of a plugin are stopped for good in the middle of a trial: another worker gets the job too,
// long before the limit of a trial, which is ten minutes.
func TestStoppedPlugin(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	sweep := fmt.Sprintf(longTrials, thirdparty(t))
	want := c.local(sweep)
	first := c.worker("--plugin", thirdparty(t))
	wait := c.begin(sweep)
	c.runs(first)
	stopAll(t, first.Process.Pid)
	c.worker("--plugin", thirdparty(t))
	if got := wait(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// longTrials is a sweep of two trials of some seconds.
const longTrials = `
name: long
task: learn
problem: {class: thresholds, domain: 4, distribution: uniform}
plugins: [%s]
algorithms: [{use: third/spin, loops: 1000000000}]
goal: {alpha: 0.45, beta: 0.5}
n: [1]
trials: 2
`

// Workers wait for a server that is not up yet. One that is told to leave in the middle of a long trial
// hands it back and goes; whoever stays runs it to its end.
func TestWorkersComeAndGo(t *testing.T) {
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

// threeServers starts three servers that form a cluster.
func threeServers(t *testing.T) (*cluster, []*server.Server) {
	t.Helper()
	var routes []string
	ports := []int{freePort(t), freePort(t), freePort(t)}
	for _, port := range ports {
		routes = append(routes, fmt.Sprint("nats://127.0.0.1:", port))
	}
	var servers []*server.Server
	var urls []string
	for i, port := range ports {
		s := serveWith(t, t.TempDir(), func(o *server.Options) {
			o.ServerName = fmt.Sprint("s", i)
			o.Cluster = server.ClusterOpts{Name: "shatter", Host: "127.0.0.1", Port: port}
			o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		})
		servers, urls = append(servers, s), append(urls, s.ClientURL())
	}
	waitFor(t, "the servers have a leader", func() bool {
		return slices.ContainsFunc(servers, func(s *server.Server) bool { return s.JetStreamIsLeader() })
	})
	return &cluster{t, strings.Join(urls, ","), t.TempDir()}, servers
}

// Two of three servers are gone: every command says so in one line, with exit code 4.
func TestNoQuorum(t *testing.T) {
	t.Parallel()
	c, servers := threeServers(t)
	id := c.submit(clusterSweep)
	for _, s := range servers[:2] {
		bustest.Stop(s)
	}
	waitFor(t, "the server that is left knows that it is alone", func() bool {
		_, _, code := c.run("sweeps")
		return code == exitConnection
	})
	file, out := filepath.Join(c.dir, "sweep.yaml"), filepath.Join(c.dir, "out")
	var asking sync.WaitGroup
	for _, args := range [][]string{
		{"sweeps"}, {"status", id}, {"watch", id}, {"logs", id}, {"cancel", id}, {"submit", file}, {"workers"},
		{"results", id, "--out", out},
	} {
		asking.Go(func() {
			_, stderr, code := c.run(args...)
			if code != exitConnection || strings.Count(stderr, "\n") != 1 ||
				!strings.Contains(stderr, "too few servers of its cluster run") {
				t.Errorf("%v: exit %d: %s", args, code, stderr)
			}
		})
	}
	asking.Wait()
}

// Three servers form a cluster, whose streams have three replicas. One of them dies in the middle of a
// sweep, which goes on with the others.
func TestThreeServers(t *testing.T) {
	t.Parallel()
	c, servers := threeServers(t)
	c.worker()
	c.worker()
	wait := c.begin(clusterSweep)
	waitFor(t, "results pass the servers", func() bool {
		return slices.ContainsFunc(c.fleet(), func(w *fleet.Worker) bool { return w.Seconds > 0 })
	})
	file, out := filepath.Join(c.dir, "sweep.yaml"), filepath.Join(c.dir, "five")
	_, stderr, code := c.run("run", file, "--out", out, "--replicas", "5")
	if code != exitConnection || !strings.Contains(stderr, "no 5 replicas on the NATS server") {
		t.Errorf("five replicas on three servers: exit %d: %s", code, stderr)
	}
	for _, s := range servers { // else the servers that stay may have all of it by chance
		if n := streamsOf(t, s); n != 3 {
			t.Errorf("server %s has %d streams with three replicas, want 3", s.Name(), n)
		}
	}
	servers[0].Shutdown()
	if got, want := wait(), c.local(clusterSweep); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// streamsOf returns how many streams a server has a replica of that have three of them.
func streamsOf(t *testing.T, s *server.Server) (n int) {
	t.Helper()
	info, err := s.Jsz(&server.JSzOptions{Streams: true, Config: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range info.AccountDetails {
		for _, stream := range account.Streams {
			if stream.Config.Replicas == 3 {
				n++
			}
		}
	}
	return n
}
