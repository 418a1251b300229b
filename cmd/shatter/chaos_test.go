package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	chaosMinutes = flag.Float64("chaos.minutes", 0, "time in which TestChaos injects faults; 0: it is skipped")
	chaosSeed    = flag.Uint64("chaos.seed", 0, "seed of the faults of TestChaos; 0: drawn")
)

// chaosSweep takes some thousand trials.
const chaosSweep = `
name: chaos
seed: %d
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [expmech/em]
privacy: {epsilon: [0.5, 1, 2, 4]}
goal: {alpha: 0.09, beta: [0.05, 0.1]}
n: {from: 16, to: 1e4, within: 1.2}
`

// maxFaults is the number of processes that are faulty at the same time. With more, nothing would go on.
const maxFaults = 3

// chaos is a cluster of three servers, two coordinators and three workers, each a process.
type chaos struct {
	*testing.T
	dir, urls string
	rng       *rand.Rand
	processes []*chaosProcess
	faults    map[string]int // number of faults by kind
}

// A chaosProcess is started again whenever it ends, as a service manager does.
type chaosProcess struct {
	name    string
	command func() *exec.Cmd
	cmd     *exec.Cmd
	ended   chan struct{} // closed at the end of cmd
	undo    func()        // ends the fault of the process; nil: it has none
	due     time.Time     // when undo is to be called
}

// Whatever is killed, stopped or damaged, each sweep ends with the digest of an undisturbed local run, and nothing is
// left on the servers.
func TestChaos(t *testing.T) {
	if *chaosMinutes == 0 {
		t.Skip("it runs for the time given by -chaos.minutes")
	}
	runtime.LockOSThread() // the processes die with the thread that has started them
	defer runtime.UnlockOSThread()
	if *chaosSeed == 0 {
		*chaosSeed = rand.Uint64()
	}
	t.Logf("seed %d; again: go test ./cmd/shatter -run TestChaos$ -v -timeout 0 "+
		"-chaos.minutes %v -chaos.seed %d", *chaosSeed, *chaosMinutes, *chaosSeed)
	c := &chaos{T: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(*chaosSeed, 3)), faults: map[string]int{}}
	c.build()
	defer c.close()
	number := 0
	for left := time.Duration(*chaosMinutes * float64(time.Minute)); left > 0 && !t.Failed(); number++ {
		left -= c.sweep(number, left)
	}
	if len(c.faults) == 0 {
		t.Error("no fault was injected")
	}
	t.Logf("%d sweeps; faults: %v", number, c.faults)
}

// build starts the processes.
func (c *chaos) build() {
	var urls, routes, clients []string
	for range 3 {
		client, route := strconv.Itoa(freePort(c.T)), strconv.Itoa(freePort(c.T))
		clients, routes = append(clients, client), append(routes, route)
		urls = append(urls, "nats://127.0.0.1:"+client)
	}
	c.urls = strings.Join(urls, ",")
	for i := range 3 {
		name := fmt.Sprint("server", i)
		c.add(name, func() *exec.Cmd {
			cmd := exec.Command(os.Args[0], "-test.run=^TestChaosServer$", "-test.timeout=0")
			cmd.Env = append(os.Environ(), "SHATTER_CHAOS="+strings.Join(
				append([]string{name, filepath.Join(c.dir, name, "store"), clients[i], routes[i]}, routes...), " "))
			return cmd
		})
	}
	for i := range 2 {
		name := fmt.Sprint("coordinator", i)
		c.add(name, func() *exec.Cmd {
			return exec.Command(binary(c), "coordinator", "--server", c.urls, "--dir", filepath.Join(c.dir, name, "sweeps"),
				"--lease", "2s")
		})
	}
	for i := range 3 {
		c.add(fmt.Sprint("worker", i), func() *exec.Cmd {
			return exec.Command(binary(c), "worker", "--server", c.urls, "--workers", "1", "--drain-timeout", "2s")
		})
	}
}

// TestChaosServer is a server of the cluster of TestChaos, in a process of its own.
func TestChaosServer(t *testing.T) {
	task := strings.Fields(os.Getenv("SHATTER_CHAOS"))
	if len(task) == 0 {
		t.Skip("a process of TestChaos")
	}
	s, err := newServer(task[1], func(o *server.Options) {
		o.ServerName = task[0]
		o.Port, _ = strconv.Atoi(task[2])
		o.Cluster = server.ClusterOpts{Name: "shatter", Host: "127.0.0.1", NoAdvertise: true}
		o.Cluster.Port, _ = strconv.Atoi(task[3])
		var routes []string
		for _, port := range task[4:] {
			if port != task[3] {
				routes = append(routes, "nats://127.0.0.1:"+port)
			}
		}
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		o.NoSigs = false
	})
	if err != nil {
		t.Fatal(err)
	}
	s.WaitForShutdown()
}

// add starts a process that has a folder of its own.
func (c *chaos) add(name string, command func() *exec.Cmd) {
	c.Helper()
	if err := os.MkdirAll(filepath.Join(c.dir, name, "tmp"), 0o755); err != nil {
		c.Fatal(err)
	}
	p := &chaosProcess{name: name, command: command}
	c.processes = append(c.processes, p)
	c.launch(p)
}

func (c *chaos) launch(p *chaosProcess) {
	c.Helper()
	dir := filepath.Join(c.dir, p.name)
	log, err := os.OpenFile(dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		c.Fatal(err)
	}
	defer log.Close()
	cmd, ended := p.command(), make(chan struct{})
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Join(dir, "tmp"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // how it ends does not matter
		close(ended)
	}()
	p.cmd, p.ended = cmd, ended
}

// end ends a process by a signal.
func (c *chaos) end(p *chaosProcess, s syscall.Signal) {
	c.Helper()
	_ = p.cmd.Process.Signal(s) // it may have ended by itself
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		c.Errorf("%s has not ended a minute after signal %v", p.name, s)
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// inject makes one process faulty for some seconds.
func (c *chaos) inject() {
	p := c.processes[c.rng.IntN(len(c.processes))]
	kind := []string{"kill", "stop", "term", "damage"}[c.rng.IntN(4)]
	lasts := time.Duration((0.3 + 2*c.rng.ExpFloat64()) * float64(time.Second))
	if p.undo != nil || kind == "damage" && !strings.HasPrefix(p.name, "coordinator") {
		return
	}
	p.due = time.Now().Add(lasts)
	p.undo = func() { c.launch(p) }
	switch kind {
	case "kill":
		c.end(p, syscall.SIGKILL)
	case "term":
		c.end(p, syscall.SIGTERM)
	case "damage":
		c.end(p, syscall.SIGKILL)
		c.damage(p)
	case "stop":
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		p.undo = func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }
	}
	c.faults[kind]++
	c.Logf("%s %s for %v", kind, p.name, lasts.Round(time.Millisecond))
}

// damage flips a bit in one of a coordinator's ledgers, or cuts off its tail.
func (c *chaos) damage(p *chaosProcess) {
	logs, _ := filepath.Glob(filepath.Join(c.dir, p.name, "sweeps/*/ledger/*.log"))
	if len(logs) == 0 {
		return
	}
	path := logs[c.rng.IntN(len(logs))]
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return
	}
	at := c.rng.IntN(len(text))
	if c.rng.IntN(2) == 0 {
		text = text[:at]
	} else {
		text[at] ^= 1 << c.rng.IntN(8)
	}
	write(c, path, string(text))
}

// repair ends the faults whose time is over, or all, and starts processes again that have ended by themselves. It
// returns the number of faults that remain.
func (c *chaos) repair(all bool) (faulty int) {
	for _, p := range c.processes {
		switch {
		case p.undo == nil:
			select {
			case <-p.ended:
				c.Logf("%s has ended by itself", p.name)
				c.launch(p)
			default:
			}
		case all || time.Now().After(p.due):
			p.undo()
			p.undo = nil
		default:
			faulty++
		}
	}
	return faulty
}

// sweep submits a sweep, injects faults until it has ended or for the time left, and compares its result with that of a
// local run. It returns the time in which faults were injected.
func (c *chaos) sweep(number int, left time.Duration) (took time.Duration) {
	text := fmt.Sprintf(chaosSweep, number+1)
	want := (&cluster{T: c.T}).local(text)
	file, id := write(c, filepath.Join(c.dir, "sweep.yaml"), text), ""
	c.retry("submit", func() (done bool) {
		out, _, code := shatter(c, "submit", file, "--server", c.urls)
		id = strings.TrimSpace(out)
		return code == exitDone
	})
	began, ended := time.Now(), make(chan struct{})
	ctx, stop := context.WithTimeout(c.Context(), left)
	defer stop()
	go func() {
		defer close(ended)
		for ctx.Err() == nil && c.status(id).State != "done" {
			time.Sleep(100 * time.Millisecond)
		}
	}()
	for going := true; going; {
		if c.repair(false) < maxFaults {
			c.inject()
		}
		select {
		case <-ended:
			going = false
		case <-time.After(time.Duration((0.3 + c.rng.ExpFloat64()) * float64(time.Second))):
		}
	}
	took = time.Since(began)
	c.repair(true)
	c.retry("end", func() (done bool) {
		c.repair(true)
		s := c.status(id)
		if s.State == "failed" {
			c.Fatalf("sweep %d: %s", number, s.Reason)
		}
		return s.State == "done"
	})
	dir := filepath.Join(c.dir, fmt.Sprint("result", number))
	var got fetched
	c.retry("results", func() (done bool) { // a restarted server may not have received the end yet
		out, _, code := shatter(c, "results", id, "--out", dir, "-o", "json", "--server", c.urls)
		return code == exitDone && json.Unmarshal([]byte(out), &got) == nil && got.Digest != ""
	})
	if got.Digest != want {
		c.Errorf("sweep %d: digest %s, want %s", number, got.Digest, want)
	}
	if _, stderr, code := shatter(c, "verify", dir, "--sample", "5"); code != exitDone {
		c.Errorf("sweep %d: verify: exit %d: %s", number, code, stderr)
	}
	return took
}

// retry calls try until it succeeds, for some minutes.
func (c *chaos) retry(what string, try func() (done bool)) {
	c.Helper()
	for limit := time.Now().Add(5 * time.Minute); !try(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(limit) {
			c.Fatalf("seed %d: waited in vain: %s", *chaosSeed, what)
		}
	}
}

// status returns the state of a sweep, or the zero value if the servers do not answer.
func (c *chaos) status(id string) (s sweepStatus) {
	if out, _, code := shatter(c, "status", id, "-o", "json", "--server", c.urls); code == exitDone {
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			c.Errorf("status %s: %v: %s", id, err, out)
		}
	}
	return s
}

// close waits until no consumer is left on the servers, and ends all processes.
func (c *chaos) close() {
	c.repair(true)
	if !c.Failed() {
		c.retry("no consumer is left", func() bool { return c.consumers() == 0 })
	}
	for i := len(c.processes) - 1; i >= 0; i-- {
		p := c.processes[i]
		c.end(p, syscall.SIGTERM)
		if c.Failed() {
			text, _ := os.ReadFile(filepath.Join(c.dir, p.name+".log"))
			c.Logf("%s: ...%s", p.name, text[max(0, len(text)-3000):])
		}
	}
}

// consumers returns the number of consumers of results, or -1 if the servers do not answer.
func (c *chaos) consumers() int {
	conn, err := nats.Connect(c.urls)
	if err != nil {
		return -1
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(c.Context(), 20*time.Second)
	defer cancel()
	js, err := jetstream.New(conn)
	if err != nil {
		return -1
	}
	s, err := js.Stream(ctx, "shatter-results")
	if err != nil {
		return -1
	}
	return s.CachedInfo().State.Consumers
}

// freePort returns a port of this machine that is not in use.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
