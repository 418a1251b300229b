package simulation

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/queue/queuetest"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/worker"
)

// Times of a simulated sweep.
const (
	lease    = 4 * time.Second
	patience = 10 * time.Minute // maximum time until a sweep ends after its last fault
)

// A world is one run of a sweep under a schedule of faults. Concurrent use is safe.
type world struct {
	seed  uint64
	dir   string // folder in memory
	log   io.Writer
	began time.Time
	nodes []*node
	user  *node

	ending  sync.WaitGroup // all running goroutines
	stopped atomic.Bool    // nothing may start any more

	mu       sync.Mutex
	server   atomic.Pointer[server.Server] // nil: it is down
	stores   int                           // number of folders that the server has had
	conns    map[*conn]bool
	drawn    map[string]uint64 // random numbers by label
	wrong    []string          // violated promises
	over     bool              // no more faults
	ended    int               // messages by which leaders store the end of the sweep, in the present store of the server
	wiped    chan struct{}     // the server has lost its store
	desired  chan string       // next desired state that the user sets
	shipped  uint64            // greatest epoch whose leader has shipped something
	ghosts   [][]byte          // undelivered messages of earlier leaders
	runs     int               // number of trials that were run
	restarts int
}

// random returns the world's random generator for a purpose.
func (w *world) random(label string) *rand.Rand {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drawn[label]++
	h := fnv.New64a()
	fmt.Fprint(h, label, w.drawn[label])
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// violated records that a promise is violated.
func (w *world) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATED: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrong) < 20 {
		w.wrong = append(w.wrong, text)
	}
}

func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.log, "%9.3f %s\n", time.Since(w.began).Seconds(), fmt.Sprintf(format, args...))
}

// startServer starts the server on its previous store, or on a new one.
func (w *world) startServer(wiped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped.Load() || w.server.Load() != nil {
		return
	}
	if wiped {
		w.stores++
		w.ended = 0
	}
	ns, err := queuetest.Start(&server.Options{
		ServerName: "simulated", DontListen: true, NoSigs: true, NoLog: true, MaxPayload: queue.MaxResult,
		PingInterval: 20 * time.Second, DisableShortFirstPing: true,
		JetStream: true, DisableJetStreamBanner: true, SyncAlways: true,
		StoreDir:           filepath.Join(w.dir, fmt.Sprintf("store%d", w.stores)),
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 30,
	})
	if err != nil {
		panic(err)
	}
	if !ns.JetStreamEnabled() {
		panic("the NATS server has no JetStream")
	}
	w.server.Store(ns)
}

// stopServer stops the server and cuts all connections.
func (w *world) stopServer() {
	w.mu.Lock()
	ns := w.server.Swap(nil)
	w.mu.Unlock()
	if ns == nil {
		return
	}
	w.cut(func(*conn) bool { return true })
	queuetest.Stop(ns)
}

// cut cuts connections.
func (w *world) cut(which func(*conn) bool) {
	w.mu.Lock()
	var list []*conn
	for c := range w.conns {
		if which(c) {
			list = append(list, c)
		}
	}
	w.mu.Unlock()
	for _, c := range list {
		c.cut()
	}
}

// A node is a machine with a disk, a clock, a connection and one process at a time.
type node struct {
	world *world
	name  string
	work  func(n *node, p *process) error

	mu      sync.Mutex
	dir     string // folder of its process; another one after a crash
	crashes int
	files   *files
	process *process
	down    bool // stopped; the fault that stopped it will start it again
	windows []window
	steps   int        // number of disk steps until the planned crash
	crash   func()     // nil: no crash is planned
	lied    bool       // its disk has reported a sync without storing the data
	sync    *rand.Rand // durations of syncs
}

// A window is an interval in which a fault is active.
type window struct {
	fault
	until time.Time
}

// A process runs on a node.
type process struct {
	node  *node
	ctx   context.Context // ends with SIGTERM
	stop  context.CancelFunc
	hard  context.Context // ends with SIGKILL
	kill  context.CancelFunc
	dead  atomic.Bool
	ended chan struct{}
}

func (w *world) addNode(name string, work func(*node, *process) error) *node {
	n := &node{
		world: w, name: name, work: work, sync: w.random("sync" + name),
	}
	n.dir = filepath.Join(w.dir, name+".0")
	if err := os.Mkdir(n.dir, 0o755); err != nil {
		panic(err)
	}
	n.files = newFiles(n.dir)
	w.nodes = append(w.nodes, n)
	return n
}

// start starts a process, unless there is one.
func (n *node) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.world.stopped.Load() {
		return
	}
	n.down = false
	if n.process != nil && !n.process.dead.Load() {
		return
	}
	p := &process{node: n, ended: make(chan struct{})}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.hard, p.kill = context.WithCancel(context.Background())
	n.process = p
	n.world.ending.Go(func() {
		defer close(p.ended)
		err := n.work(n, p)
		failed := err != nil && !p.dead.Load() && p.ctx.Err() == nil
		p.dead.Store(true)
		if failed {
			n.world.note("%s failed: %v", n.name, err)
			n.restart(time.Second)
		}
	})
}

// restart starts a process after a delay.
func (n *node) restart(after time.Duration) {
	time.AfterFunc(after, func() {
		n.world.mu.Lock()
		n.world.restarts++
		n.world.mu.Unlock()
		n.start()
	})
}

// die ends the process like SIGKILL or, with power, like a power cut, which affects its disk.
func (n *node) die(power bool, down time.Duration) {
	n.mu.Lock()
	p := n.process
	if n.down || p == nil || p.dead.Swap(true) {
		n.mu.Unlock()
		return
	}
	n.down, n.crash = true, nil
	n.crashes++
	old := n.files
	n.dir = filepath.Join(n.world.dir, fmt.Sprintf("%s.%d", n.name, n.crashes))
	if err := errors.Join(os.MkdirAll(n.dir, 0o755), old.leave(n.dir, power, n.world.random("torn"))); err != nil {
		panic(err)
	}
	n.files = newFiles(n.dir)
	n.mu.Unlock()
	n.world.cut(func(c *conn) bool { return c.process == p })
	p.stop()
	p.kill()
	n.restart(down)
}

// rot kills the process and flips a bit of a log on its disk.
func (n *node) rot(down time.Duration) {
	n.die(false, down)
	rng := n.world.random("rot")
	n.mu.Lock()
	defer n.mu.Unlock()
	empty := func(name string) bool { return !isLog(name) || len(n.files.read(name)) == 0 }
	logs := slices.DeleteFunc(n.files.names(), empty)
	if !n.down || !n.process.dead.Load() || len(logs) == 0 {
		return
	}
	name := logs[rng.IntN(len(logs))]
	content := n.files.read(name)
	content[rng.IntN(len(content))] ^= 1 << rng.IntN(8)
	if err := os.WriteFile(filepath.Join(n.dir, name), content, 0o644); err != nil {
		panic(err)
	}
	n.files = newFiles(n.dir)
	n.lied = true
}

// ghost kills the process of a leader that is shipping something, if that is planned. Its message
// is delivered after another leader has shipped something.
func (p *process) ghost(f frame) {
	n := p.node
	if !strings.HasPrefix(f.subject, "$KV.shatter-sweeps."+sweepID+".ledger") {
		return
	}
	x := n.active(time.Now(), "ghost")
	if x == nil {
		return
	}
	n.mu.Lock()
	n.windows = slices.DeleteFunc(n.windows, func(w window) bool { return w.Kind == "ghost" })
	n.mu.Unlock()
	w := n.world
	w.note("the last word of %s is late", n.name)
	w.mu.Lock()
	w.ghosts = append(w.ghosts, f.raw)
	w.mu.Unlock()
	time.AfterFunc(0, func() { n.die(false, lease) })
}

// deliver delivers a frame whose sender has disappeared.
func (w *world) deliver(raw []byte) {
	ns := w.server.Load()
	if ns == nil {
		return
	}
	there, err := ns.InProcessConn()
	if err != nil {
		return // the server is stopping
	}
	w.ending.Go(func() {
		defer there.Close()
		answer := bufio.NewScanner(there)
		answer.Scan() // its greeting, which must be read first
		_, _ = fmt.Fprintf(there, "CONNECT {\"verbose\":false,\"headers\":true}\r\n%sPING\r\n", raw)
		for answer.Scan() && answer.Text() != "PONG" {
		}
		w.note("a late word has arrived: %v", answer.Err())
	})
}

// leave ends the process like SIGTERM.
func (n *node) leave(down time.Duration) {
	n.mu.Lock()
	p := n.process
	if n.down || p == nil || p.dead.Load() {
		n.mu.Unlock()
		return
	}
	n.down = true
	n.mu.Unlock()
	p.stop()
	n.world.ending.Go(func() {
		<-p.ended
		n.restart(down)
	})
}

// active returns the open window of one of the kinds; nil: there is none.
func (n *node) active(now time.Time, kinds ...string) *window {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.windows {
		if x := &n.windows[i]; now.Before(x.until) && slices.Contains(kinds, x.Kind) {
			return x
		}
	}
	return nil
}

// heldUntil returns the time until which no message reaches or leaves the node.
func (n *node) heldUntil(now time.Time) time.Time {
	if x := n.active(now, "hold", "stop"); x != nil {
		return x.until
	}
	return now
}

// awake returns immediately or, if the process is stopped, soon after it continues: events that
// were due meanwhile then happen in any order.
func (n *node) awake() {
	if x := n.active(time.Now(), "stop"); x != nil {
		late := time.Duration(n.world.random("awake"+n.name).IntN(50)) * time.Millisecond
		time.Sleep(time.Until(x.until) + late)
	}
}

// trouble returns the delays of the copies of a message; none: it is lost.
func (n *node) trouble(now time.Time, rng *rand.Rand) []time.Duration {
	const rate = 0.2
	late := func() time.Duration { return time.Duration(1 + rng.ExpFloat64()*float64(2*time.Second)) }
	x := n.active(now, "lose", "double", "delay")
	switch {
	case x == nil || rng.Float64() > rate:
		return []time.Duration{0}
	case x.Kind == "lose":
		return nil
	case x.Kind == "double":
		return []time.Duration{0, late()}
	}
	return []time.Duration{late()}
}

// watchEpoch checks that no leader ships after a leader of a greater epoch has shipped.
func (w *world) watchEpoch(epoch uint64) {
	w.mu.Lock()
	before := w.shipped
	w.shipped = max(w.shipped, epoch)
	var ghosts [][]byte
	if epoch > before {
		ghosts, w.ghosts = w.ghosts, nil
	}
	w.mu.Unlock()
	for _, raw := range ghosts {
		w.deliver(raw)
	}
	if w.calm() && epoch < before && epoch > 0 {
		w.violated("the leader of epoch %d has shipped after that of epoch %d", epoch, before)
	}
}

// calm reports whether the server has never lost its store, which restarts epochs.
func (w *world) calm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stores == 1
}

// watch observes the steps of all disks.
func (w *world) watch(step disk.Step, path string) error {
	for _, n := range w.nodes {
		n.mu.Lock()
		mine := n.files != nil && strings.HasPrefix(path, n.files.dir+"/")
		n.mu.Unlock()
		if mine {
			return n.watch(step, path)
		}
	}
	return nil // step of a killed process, whose result is not used
}

func (n *node) watch(step disk.Step, path string) error {
	now := time.Now()
	n.mu.Lock()
	var crash func()
	if n.crash != nil {
		if n.steps--; n.steps < 0 {
			crash, n.crash = n.crash, nil
		}
	}
	files := n.files
	latency := time.Duration(0)
	if step == disk.Syncing {
		latency = time.Duration(1+n.sync.IntN(20)) * time.Millisecond
	}
	n.mu.Unlock()
	if crash != nil {
		crash()
		return syscall.EIO
	}
	if step == disk.Writing && n.active(now, "full") != nil {
		return syscall.ENOSPC
	}
	if step == disk.Syncing && n.active(now, "broken") != nil {
		return syscall.EIO
	}
	time.Sleep(latency)
	if step == disk.Syncing {
		n.awake()
	}
	if step == disk.Synced && n.active(now, "lie") != nil {
		n.mu.Lock()
		n.lied = true
		n.mu.Unlock()
		return nil
	}
	files.record(step, path)
	return nil
}

// dial connects a process, and retries until it succeeds.
func (p *process) dial() (*queue.Conn, error) {
	for {
		within, cancel := context.WithTimeout(p.ctx, 10*time.Second)
		c, err := queue.Dial(within, "nats://127.0.0.1", queue.Options{Name: p.node.name, Dialer: p, Awake: p.node.awake})
		cancel()
		if err == nil || p.ctx.Err() != nil {
			return c, err
		}
		select {
		case <-time.After(time.Second):
		case <-p.ctx.Done():
			return nil, p.ctx.Err()
		}
	}
}

// serve is the process of a coordinator.
func serve(n *node, p *process) error {
	return n.lead(p, func(context.Context, *lead.Submission) (*lead.Sweep, error) {
		return &lead.Sweep{Plan: newPlan(), Config: coordinator.Config{
			Config: pool.Config{Digests: codes}, Recheck: n.world.recheck(),
		}}, nil
	})
}

// lead serves as a coordinator that loads sweeps with load.
func (n *node) lead(p *process, load lead.Load) error {
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	n.mu.Lock()
	dir := n.dir
	n.mu.Unlock()
	fetch := func(ctx context.Context, s *lead.Submission) (*lead.Sweep, error) {
		if _, err := c.Files.FetchBytes(ctx, s.Plan); err != nil {
			return nil, err
		}
		return load(ctx, s)
	}
	err = lead.Serve(p.ctx, lead.Config{
		Conn: c, Dir: dir, Name: n.name, Lease: lease, Log: n.logger(), Load: fetch,
	})
	if p.ctx.Err() == nil {
		n.world.violated("%s ended by itself: %v", n.name, err)
	}
	return err
}

// recheck returns the share of trials that are rechecked: positive in every fourth world.
func (w *world) recheck() float64 {
	if w.seed%4 == 1 {
		return 0.05
	}
	return 0
}

// labor is the process of a worker.
func labor(n *node, p *process) error { return n.run(p, n.simulate) }

// run works as a worker that runs jobs with simulate.
func (n *node) run(p *process, simulate func(context.Context, *trial.Job) (*ledger.Batch, error)) error {
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	plugins := map[string]host.Command{}
	for _, code := range codes {
		plugins[code] = host.Command{}
	}
	return worker.Run(p.ctx, p.hard, worker.Config{
		Conn: c, Name: n.name, Slots: 2, Plugins: plugins, Drain: 5 * time.Second, Log: n.logger(), Simulate: simulate,
	})
}

// logger writes to the world's log.
func (n *node) logger() *slog.Logger {
	level := slog.LevelInfo
	if n.world.log == io.Discard {
		level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(logWriter{n}, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

type logWriter struct{ *node }

func (l logWriter) Write(b []byte) (int, error) {
	l.world.note("%s: %s", l.name, strings.TrimSpace(string(b)))
	l.mu.Lock()
	lied := l.lied
	l.mu.Unlock()
	if lied {
		return len(b), nil
	}
	if bytes.Contains(b, []byte("--fresh")) || bytes.Contains(b, []byte("another release")) {
		l.world.violated("%s does not know its own folder again: %s", l.name, b)
	}
	return len(b), nil
}

// finished checks the state after the sweep has ended: the shipped files must be the result.
func (w *world) finished(ctx context.Context, c *queue.Conn, r *lead.Record, want string) {
	switch s := r.End.Summary; {
	case s == nil:
		w.violated("the sweep failed: %s", r.End.Failure)
		return
	case want != "" && s.Digest != want:
		w.violated("the result's digest is %.12s, that of an undisturbed run %.12s", s.Digest, want)
	case len(s.Alarms) > 0:
		w.violated("alarms: %v", s.Alarms)
	}
	dir := filepath.Join(w.dir, "fetched")
	if err := lead.Fetch(ctx, c, dir, r); err != nil {
		w.violated("what was shipped cannot be fetched: %v", err)
		return
	}
	if m := folder.ReadManifest(dir); m.Digest != r.End.Summary.Digest {
		w.violated("the digest that was shipped is %.12s, that of the result %.12s", m.Digest, r.End.Summary.Digest)
	}
	l, _, err := ledger.Read(filepath.Join(dir, "ledger"), r.ID)
	if err != nil {
		w.violated("the ledger that was shipped cannot be read: %v", err)
		return
	}
	_ = l.Close() // the ledger is only read
	w.checkKept(r.End, dir)
	if conflicts, clashes := result.Alarms(newPlan().Cells, l); len(conflicts)+len(clashes) > 0 {
		w.violated("the ledger has trials with two outcomes: %v %v", conflicts, clashes)
	}
}

// checkKept checks that each message of the ledger in dir has new information compared with the
// earlier ones, and that no failure was counted twice.
func (w *world) checkKept(end *lead.End, dir string) {
	logs, err := logsIn(filepath.Join(dir, "ledger"))
	if err != nil {
		w.violated("read what was fetched: %v", err)
	}
	shipped := recordOf(logs)
	for _, twice := range shipped.twice {
		w.violated("the ledger that was shipped has a message of no use: %s", twice)
	}
	counted := int64(0)
	for _, f := range end.Summary.Failures {
		counted += f.Count
	}
	if counted > shipped.failed {
		w.violated("%d failed trials were counted, the ledger has %d", counted, shipped.failed)
	}
}
