//go:build long

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	chaosMinutes = flag.Float64("chaos.minutes", 0.4, "time in which TestChaos begins sweeps and breaks things")
	chaosSeed    = flag.Uint64("chaos.seed", 0, "what TestChaos breaks, and when; 0: drawn")
	chaosLogs    = flag.String("chaos.logs", "", "folder for the logs of all machines of TestChaos; empty: they are removed")
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
n: {find: true, from: 16, to: 1e4, within: 1.2}
`

// chaos is three servers, two coordinators and three workers, each a process, and where root allows
// that in a network namespace of its own, with two switches between them.
type chaos struct {
	*testing.T
	dir      string
	rng      *rand.Rand
	hub      string // namespace of the switches; "": all are on the loopback
	nodes    []*machine
	user     *machine
	servers  []*machine
	compared int // digests that were the same
	counts   map[string]int
	began    time.Time
	undoings map[string]func() // of what is broken, by its name
	due      map[string]time.Time
}

// machine is one node: at most one process.
type machine struct {
	*chaos
	name, ip string
	disk     string // folder
	command  func(m *machine) *exec.Cmd
	cmd      *exec.Cmd
	ended    chan struct{} // closed when it has
	input    io.WriteCloser
	log      *os.File
}

func (c *chaos) say(format string, args ...any) {
	c.Logf("%7.2f %s", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

// ip runs ip with some arguments, which has to succeed.
func (c *chaos) ip(args ...string) {
	c.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		c.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// add makes a machine.
func (c *chaos) add(name string, command func(*machine) *exec.Cmd) *machine {
	c.Helper()
	m := &machine{chaos: c, name: name, command: command}
	m.ip = fmt.Sprintf("127.77.0.%d", len(c.nodes)+2)
	m.disk = filepath.Join(c.dir, name)
	for _, dir := range []string{m.disk, m.tmp()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			c.Fatal(err)
		}
	}
	if c.hub != "" {
		m.ip = fmt.Sprintf("10.77.0.%d", len(c.nodes)+2)
		c.ip("netns", "add", m.space())
		c.Cleanup(func() { _ = exec.Command("ip", "netns", "del", m.space()).Run() })
		c.ip("-n", c.hub, "link", "add", m.name, "type", "veth", "peer", "name", "eth0", "netns", m.space())
		c.ip("-n", c.hub, "link", "set", m.name, "master", "one", "up")
		c.ip("-n", m.space(), "addr", "add", m.ip+"/24", "dev", "eth0")
		c.ip("-n", m.space(), "link", "set", "eth0", "up")
		c.ip("-n", m.space(), "link", "set", "lo", "up")
	}
	var err error
	if m.log, err = os.Create(filepath.Join(cmp.Or(*chaosLogs, c.dir), name+".log")); err != nil {
		c.Fatal(err)
	}
	c.nodes = append(c.nodes, m)
	return m
}

func (m *machine) space() string { return m.hub + m.name }
func (m *machine) tmp() string   { return filepath.Join(m.dir, m.name+".tmp") }

// exec returns a command on the machine.
func (m *machine) exec(name string, args ...string) *exec.Cmd {
	if m.hub != "" {
		name, args = "ip", append([]string{"netns", "exec", m.space(), name}, args...)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+m.tmp(), "XDG_CACHE_HOME="+filepath.Join(m.disk, "cache"), "NO_COLOR=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts the machine's process, unless it runs.
func (m *machine) start() {
	m.Helper()
	if m.cmd != nil {
		return
	}
	m.cmd = m.command(m)
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	var err error
	if m.input, err = m.cmd.StdinPipe(); err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		m.Fatal(err)
	}
	cmd, ended := m.cmd, make(chan struct{})
	m.ended = ended
	go func() {
		_ = cmd.Wait() // how it ends does not matter
		close(ended)
	}()
}

// restart starts the processes again that have ended by themselves, as a service manager does.
func (c *chaos) restart() {
	c.Helper()
	for _, m := range c.nodes {
		if m.cmd == nil {
			continue
		}
		select {
		case <-m.ended:
			m.cmd = nil
			m.start()
			c.counts["ended by themselves"]++
		default:
		}
	}
}

// end ends the machine's process by a signal.
func (m *machine) end(s syscall.Signal) {
	m.Helper()
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Signal(syscall.SIGCONT) // or it would not see the next one
	_ = m.cmd.Process.Signal(s)               // or it has ended by itself
	over := time.AfterFunc(time.Minute, func() {
		m.Errorf("%s has not ended a minute after signal %v", m.name, s)
		_ = m.cmd.Process.Kill()
	})
	<-m.ended
	over.Stop()
	m.cmd = nil
}

// helper returns a command that runs TestChaosHelper on the machine.
func (m *machine) helper(task string) *exec.Cmd {
	cmd := m.exec(os.Args[0], "-test.run=^TestChaosHelper$", "-test.timeout=0")
	cmd.Env = append(cmd.Env, "SHATTER_CHAOS="+task)
	return cmd
}

// TestChaosHelper is a NATS server, or a look at a server, as a process of TestChaos.
func TestChaosHelper(t *testing.T) {
	task := strings.Fields(os.Getenv("SHATTER_CHAOS"))
	if len(task) == 0 {
		t.Skip("a process of TestChaos")
	}
	switch task[0] {
	case "server":
		serveChaos(t, task[1], task[2], task[3:])
	case "left":
		conn, err := nats.Connect(task[1])
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s, err := js.Stream(ctx, "shatter-results")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("LEFT %d consumers\n", s.CachedInfo().State.Consumers)
	}
}

// serveChaos is a server of a cluster until it is killed.
func serveChaos(t *testing.T, name, dir string, ips []string) {
	own := ips[0]
	s, err := newServer(dir, func(o *server.Options) {
		o.ServerName, o.Host, o.Port = name, own, 4222
		o.Cluster = server.ClusterOpts{Name: "shatter", Host: own, Port: 6222, NoAdvertise: true}
		var routes []string
		for _, ip := range ips[1:] {
			routes = append(routes, "nats://"+ip+":6222")
		}
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		o.NoSigs, o.NoLog, o.Logtime = false, false, true
	})
	if err != nil {
		t.Fatal(err)
	}
	s.ConfigureLogger()
	s.WaitForShutdown()
}

// build makes the machines and starts them.
func (c *chaos) build() {
	c.Helper()
	if os.Getuid() == 0 {
		hub := fmt.Sprintf("shatter%d-", os.Getpid()%10000)
		if exec.Command("ip", "netns", "add", hub).Run() == nil {
			c.Cleanup(func() { _ = exec.Command("ip", "netns", "del", hub).Run() })
			c.hub = hub
			for _, name := range []string{"one", "two"} {
				c.ip("-n", hub, "link", "add", name, "type", "bridge")
				c.ip("-n", hub, "link", "set", name, "up")
			}
		}
	}
	for i := range 3 {
		c.servers = append(c.servers, c.add(fmt.Sprint("s", i), func(m *machine) *exec.Cmd {
			ips := []string{m.ip}
			for _, s := range c.servers {
				if s != m {
					ips = append(ips, s.ip)
				}
			}
			return m.helper(fmt.Sprintf("server %s %s %s", m.name, filepath.Join(m.disk, "store"), strings.Join(ips, " ")))
		}))
	}
	for i := range 2 {
		c.add(fmt.Sprint("c", i), func(m *machine) *exec.Cmd {
			return m.exec(binary(c), "coordinator", "--server", c.urls(), "--dir", filepath.Join(m.disk, "sweeps"),
				"--lease", "2s", "--ship-every", "300ms")
		})
	}
	for i := range 3 {
		c.add(fmt.Sprint("w", i), func(m *machine) *exec.Cmd {
			return m.exec(binary(c), "worker", "--server", c.urls(), "--workers", "1", "--drain-timeout", "2s")
		})
	}
	c.user = c.add("u", nil)
	for _, m := range c.nodes {
		if m.command != nil {
			m.start()
		}
	}
}

// urls returns those of the servers.
func (c *chaos) urls() string {
	var list []string
	for _, s := range c.servers {
		list = append(list, "nats://"+s.ip+":4222")
	}
	return strings.Join(list, ",")
}

// ask runs a command of the user's, again and again until it succeeds or its time is over.
func (c *chaos) ask(patience time.Duration, args ...string) (stdout, stderr string) {
	c.Helper()
	args = append(args, "--server", c.urls())
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		cmd := c.user.exec(binary(c), args...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		over := time.AfterFunc(time.Until(end)+time.Second, func() { _ = cmd.Process.Kill() })
		err := cmd.Run()
		over.Stop()
		if err == nil {
			return out.String(), errs.String()
		}
		if time.Now().After(end) {
			c.Fatalf("seed %d: shatter %v: %v: %s%s", *chaosSeed, args, err, &out, &errs)
		}
	}
}

// fetch fetches the results of a sweep that has ended. A server that has just come back may answer
// before it knows of the end: what is fetched then says that it is partial.
func (c *chaos) fetch(id, dir string) {
	c.Helper()
	for limit := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		out, stderr := c.ask(3*time.Minute, "results", id, "--out", dir, "-o", "json")
		var got fetched
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			c.Fatalf("seed %d: results of %s: %v: %s%s", *chaosSeed, id, err, out, stderr)
		}
		if got.Digest != "" {
			return
		}
		if time.Now().After(limit) {
			c.Fatalf("seed %d: results of %s, which has ended, stay partial: %+v", *chaosSeed, id, got)
		}
		c.say("results of %s: partial, %s", id, got.State)
	}
}

// watch closes ended when a sweep has come to its end.
func (c *chaos) watch(ctx context.Context, id string, ended chan<- struct{}) {
	for ctx.Err() == nil {
		if s := c.status(id); s.State == "done" || s.State == "failed" {
			close(ended)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// status returns the state of a sweep, or the zero value if the command fails.
func (c *chaos) status(id string) (s sweepStatus) {
	cmd := c.user.exec(binary(c), "status", id, "-o", "json", "--server", c.urls())
	over := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	out, err := cmd.Output()
	over.Stop()
	if err == nil {
		if err := json.Unmarshal(out, &s); err != nil {
			c.Errorf("status %s: %v: %s", id, err, out)
		}
	}
	return s
}

// later has a fault undone after a while, or at the end of the sweep. It reports false where the fault
// is there already.
func (c *chaos) later(name string, after time.Duration, undo func()) bool {
	if c.undoings[name] != nil {
		return false
	}
	c.undoings[name], c.due[name] = undo, time.Now().Add(after)
	return true
}

// mend undoes the faults whose time is over, or all.
func (c *chaos) mend(all bool) {
	for _, name := range slices.Sorted(maps.Keys(c.undoings)) {
		if undo := c.undoings[name]; all || time.Now().After(c.due[name]) {
			delete(c.undoings, name)
			undo()
		}
	}
}

// pick returns one of the machines whose name begins so.
func (c *chaos) pick(prefixes string) *machine {
	var list []*machine
	for _, m := range c.nodes {
		if strings.Contains(prefixes, m.name[:1]) {
			list = append(list, m)
		}
	}
	return list[c.rng.IntN(len(list))]
}

// breakOne breaks something.
func (c *chaos) breakOne() {
	c.Helper()
	after := time.Duration((0.3 + 2*c.rng.ExpFloat64()) * float64(time.Second))
	kinds := []string{"kill", "kill", "stop", "stop", "term", "flip", "tail"}
	if c.hub != "" {
		kinds = append(kinds, "part", "part", "part", "leaders")
	}
	kind := kinds[c.rng.IntN(len(kinds))]
	m := c.pick("scw")
	down := func(name string, harm func()) bool {
		if c.undoings["process "+m.name] != nil {
			return false
		}
		if name == "term" {
			m.end(syscall.SIGTERM)
		} else {
			m.end(syscall.SIGKILL)
		}
		harm()
		return c.later("process "+m.name, after, m.start)
	}
	done := false
	switch kind {
	case "kill", "term":
		done = down(kind, func() {})
	case "stop":
		if m.cmd != nil && c.later("process "+m.name, 2*after, func() { _ = m.cmd.Process.Signal(syscall.SIGCONT) }) {
			done = m.cmd.Process.Signal(syscall.SIGSTOP) == nil
		}
	case "flip", "tail":
		m = c.pick("c")
		done = down("kill", func() { m.damage(kind) })
	case "part":
		done = c.partition(c.rng.Uint64(), after)
	case "leaders":
		if m, done = c.nodes[3], c.partition(1<<0|1<<3|1<<5, 2*after); done { // one server with one of everything
			c.say("the leaders are cut off from each other")
		}
	}
	if done {
		c.counts[kind]++
		c.say("%s %s for %.1f s", kind, m.name, after.Seconds())
	}
}

// partition moves some machines to the other switch for a while.
func (c *chaos) partition(set uint64, after time.Duration) bool {
	c.Helper()
	var moved []string
	if !c.later("network", after, func() {
		for _, name := range moved {
			c.ip("-n", c.hub, "link", "set", name, "master", "one")
		}
	}) {
		return false
	}
	for i, m := range c.nodes {
		if set&(1<<i) != 0 && m != c.user {
			moved = append(moved, m.name)
			c.ip("-n", c.hub, "link", "set", m.name, "master", "two")
		}
	}
	c.say("partition: %v", moved)
	return true
}

// damage flips a bit in one of a coordinator's logs, or cuts off its tail.
func (m *machine) damage(kind string) {
	files, err := filepath.Glob(filepath.Join(m.disk, "sweeps/*/ledger/*.log"))
	if err != nil || len(files) == 0 {
		return
	}
	path := files[m.rng.IntN(len(files))]
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return
	}
	if at := m.rng.IntN(len(b)); kind == "flip" {
		b[at] ^= 1 << m.rng.IntN(8)
	} else {
		b = b[:at]
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		m.Fatal(err)
	}
}

// Whatever is killed, stopped, cut off and damaged, each sweep ends, with the result of
// an undisturbed run here, and nothing is left behind.
func TestChaos(t *testing.T) {
	runtime.LockOSThread() // processes die with the thread that has started them: see machine.exec
	defer runtime.UnlockOSThread()
	if *chaosSeed == 0 {
		*chaosSeed = rand.Uint64()
	}
	c := &chaos{
		T: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(*chaosSeed, 3)), counts: map[string]int{}, began: time.Now(),
		undoings: map[string]func(){}, due: map[string]time.Time{},
	}
	t.Logf("seed %d; again: go test -tags long ./cmd/shatter -run TestChaos$ -v -timeout 0 -chaos.minutes %v -chaos.seed %d",
		*chaosSeed, *chaosMinutes, *chaosSeed)
	c.build()
	defer c.close()
	sweeps := 0
	for end := time.Now().Add(time.Duration(*chaosMinutes * float64(time.Minute))); time.Now().Before(end); sweeps++ {
		c.sweep(sweeps, end)
		if t.Failed() {
			break
		}
	}
	t.Logf("seed %d: %d sweeps ended with the digest of an undisturbed run in %v; faults: %v",
		*chaosSeed, c.compared, time.Since(c.began).Round(time.Second), c.counts)
}

// sweep runs one sweep while things break, until end, and compares its result.
func (c *chaos) sweep(number int, end time.Time) {
	c.Helper()
	text := fmt.Sprintf(chaosSweep, number+1)
	want := (&cluster{T: c.T}).local(text)
	file := write(c.T, filepath.Join(c.dir, fmt.Sprintf("sweep%d.yaml", number)), text)
	out, _ := c.ask(3*time.Minute, "submit", file)
	id := strings.TrimSpace(out)
	c.say("sweep %d: %s", number, id)
	ended, asked := make(chan struct{}), make(chan struct{})
	over, stop := context.WithCancel(c.Context())
	go func() { defer close(asked); c.watch(over, id, ended) }()
	for working := true; working && time.Now().Before(end); {
		const most = 3 // at a time: with more nothing would go on
		if len(c.undoings) < most {
			c.breakOne()
		}
		select {
		case <-ended:
			working = false
		case <-time.After(time.Duration((0.5 + 1.5*c.rng.ExpFloat64()) * float64(time.Second))):
		}
		c.mend(false)
		c.restart()
	}
	stop()
	<-asked
	c.mend(true)
	c.say("sweep %d: mended", number)
	for limit := time.Now().Add(10 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		c.restart()
		s := c.status(id)
		if s.State == "failed" || s.Digest != "" && s.Digest != want {
			c.Errorf("seed %d: sweep %d is %s (%s): digest %s, want %s", *chaosSeed, number, s.State, s.Reason, s.Digest, want)
			return
		}
		if s.State == "done" {
			break
		}
		if time.Now().After(limit) {
			c.Errorf("seed %d: sweep %d does not end: %+v", *chaosSeed, number, s)
			return
		}
	}
	dir := filepath.Join(c.dir, fmt.Sprint("result", number))
	c.fetch(id, dir)
	if _, stderr, code := shatter(c, "verify", dir, "--sample", "5"); code != exitDone {
		c.Errorf("seed %d: verify what was fetched of sweep %d: exit %d: %s", *chaosSeed, number, code, stderr)
	}
	c.compared++
	c.say("sweep %d: the same digest", number)
}

// close stops everything in turn, and checks that nothing is left.
func (c *chaos) close() {
	c.mend(true)
	// Consumers leave a little after the end of a sweep.
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) {
		out, err := c.user.helper("left nats://" + c.servers[0].ip + ":4222").CombinedOutput()
		if err == nil && strings.Contains(string(out), "LEFT 0 consumers") || c.Failed() {
			break
		}
		if time.Now().After(limit) {
			c.Errorf("on the servers: %v: %s", err, out)
			break
		}
	}
	for i := len(c.nodes) - 1; i >= 0; i-- {
		m := c.nodes[i]
		m.end(syscall.SIGTERM)
		if c.hub != "" {
			if out, err := exec.Command("ip", "netns", "pids", m.space()).Output(); err != nil || len(out) > 0 {
				c.Errorf("%s has left the processes %s (%v)", m.name, out, err)
			}
		}
		if c.Failed() {
			if text, err := os.ReadFile(m.log.Name()); err == nil {
				c.Logf("%s: ...%s", m.name, text[max(0, len(text)-3000):])
			}
		}
		m.log.Close()
	}
}
