//go:debug randseednop=0
package simulation

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	oldrand "math/rand" //nolint:depguard // the client draws the times of its reconnections there
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

var (
	schedules = flag.Int("sim.schedules", usualSchedules(), "number of schedules, one for each seed")
	firstSeed = flag.Uint64("sim.seed", 1, "seed of the first schedule")
	mostCPU   = flag.Duration("sim.cpu", 0, "CPU time after which no more schedules begin; 0: any")
	shrinks   = flag.Bool("sim.shrink", true, "leave out faults of a schedule that fails, as long as it still does")
	keep      = flag.String("sim.keep", "all", "numbers of the faults of the seed that happen, from 0 on, or all or none")
	logPath   = flag.String("sim.log", "", "file for the log of the last schedule")
)

// usualSchedules is smaller under the race detector, which slows schedules down by a factor of ten.
func usualSchedules() int {
	if testkit.Race {
		return 8
	}
	return 40
}

func TestMain(m *testing.M) {
	flag.Parse()
	ats.Register() // its goroutine must not belong to a bubble, because it outlives the server there
	go guard()
	os.Exit(m.Run())
}

// running and runningSeed are the number of started schedules and the seed of the last one.
var running, runningSeed atomic.Uint64

// guard ends the process if a schedule stops the virtual clock for long: a goroutine waits for a
// lock whose holder waits for time to pass.
func guard() {
	for last := uint64(0); ; last = running.Load() {
		time.Sleep(time.Minute)
		if n := running.Load(); n > 0 && n == last {
			panic(fmt.Sprintf("seed %d hangs: the virtual clock stands still", runningSeed.Load()))
		}
	}
}

// An outcome is the result of a schedule.
type outcome struct {
	digest   string
	wrong    []string
	took     time.Duration // virtual time
	runs     int
	restarts int
}

// simulate runs the sweep under a schedule to its end. want is the expected digest of its result;
// "": any.
func simulate(t *testing.T, seed uint64, faults []fault, want string, log io.Writer) (o outcome) {
	t.Helper()
	w, end := newWorld(t, seed, log)
	defer end()
	w.run(faults, want, &o)
	w.mu.Lock()
	defer w.mu.Unlock()
	o.took, o.wrong, o.runs, o.restarts = time.Since(w.began), w.wrong, w.runs, w.restarts
	return o
}

// newWorld makes an empty world. end removes its files.
func newWorld(t *testing.T, seed uint64, log io.Writer) (w *world, end func()) {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "shatter-simulation-")
	if err != nil {
		t.Fatal(err)
	}
	running.Add(1)
	runningSeed.Store(seed)
	oldrand.Seed(int64(seed)) //nolint:staticcheck // see its import
	w = &world{
		seed: seed, dir: dir, log: log, began: time.Now(), conns: map[*conn]bool{}, drawn: map[string]uint64{},

		wiped: make(chan struct{}, 100), desired: make(chan string, 100),
	}
	disk.SetWatch(w.watch)
	return w, func() {
		disk.SetWatch(nil)
		_ = os.RemoveAll(dir)
	}
}

// memory returns a folder in memory; "" if there is none.
func memory() string {
	if _, err := os.Stat("/dev/shm"); err == nil {
		return "/dev/shm"
	}
	return ""
}

// run runs all processes until the sweep has ended, and stops them.
func (w *world) run(faults []fault, want string, o *outcome) {
	w.startServer(true)
	for i := range 2 {
		w.addNode(fmt.Sprintf("c%d", i), serve)
	}
	for i := range 2 {
		w.addNode(fmt.Sprintf("w%d", i), labor)
	}
	w.user = w.addNode("user", nil)
	last := time.Duration(0)
	for _, n := range w.nodes[:4] {
		n.start()
	}
	for _, f := range faults {
		time.AfterFunc(f.At, func() { w.apply(f) })
		last = max(last, f.At+f.For)
	}
	p := &process{node: w.user}
	p.ctx, p.stop = context.WithTimeout(context.Background(), last+patience)
	if err := w.attend(p, want, o); err != nil {
		w.violated("the sweep has not ended: %v", err)
	}
	p.stop()
	w.stop()
}

// attend submits the sweep and waits for its end.
func (w *world) attend(p *process, want string, o *outcome) error {
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.Registry(p.ctx)
	if err != nil {
		return err
	}
	submit := func() (err error) {
		s := submission()
		if s.Plan, err = c.Files.PutBytes(p.ctx, []byte("the plan")); err != nil {
			return err
		}
		s.Content = []string{s.Plan}
		_, _, err = lead.Submit(p.ctx, r, s, lead.DesiredState{Do: lead.Run})
		return err
	}
	if err := submit(); err != nil {
		return err
	}
	found := make(chan *lead.Record, 1)
	watching, stop := context.WithCancel(p.ctx)
	defer stop()
	w.ending.Go(func() {
		for watching.Err() == nil { // after an error the bucket has disappeared, and will be made again
			_ = r.Watch(watching, func(e *queue.Entry) error { return w.seen(e, found) })
			time.Sleep(time.Second)
		}
	})
	for {
		select {
		case <-w.wiped:
			if w.seed%2 == 0 { // long enough for coordinators to notice that the registry has disappeared
				time.Sleep(20 * time.Second)
			}
			if r, err = c.Registry(p.ctx); err != nil {
				return err
			}
			if err := submit(); err != nil {
				return err
			}
		case do := <-w.desired:
			change := func(x *lead.DesiredState) error { x.Do = do; return nil }
			if err := lead.ChangeDesiredState(p.ctx, r, sweepID, change); err != nil {
				w.note("the desired state is lost: %v", err) // with the store: the sweep then runs again
			}
		case record := <-found:
			w.mu.Lock()
			w.over = true
			w.mu.Unlock()
			e, err := r.Find(p.ctx, record.ID) // after a loss of the store a watch may have seen parts of two
			if err == nil {
				record, err = lead.ReadRecord(e)
			}
			if err != nil || record.End == nil {
				return fmt.Errorf("the record of the end is gone: %w", err)
			}
			if record.End.Summary != nil {
				o.digest = record.End.Summary.Digest
			}
			w.finished(p.ctx, c, record, want)
			return nil
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	}
}

// seen processes an entry of the registry.
func (w *world) seen(e *queue.Entry, ended chan<- *lead.Record) error {
	record, err := lead.ReadRecord(e)
	if err != nil {
		return err
	}
	w.watchEpoch(record.Shipment.Epoch)
	if record.End != nil {
		select {
		case ended <- record:
		default:
		}
	}
	return nil
}

// stop stops all processes, and waits until they have ended.
func (w *world) stop() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.stopped.Store(true)
	for _, n := range w.nodes {
		n.mu.Lock()
		n.down, n.windows = true, nil
		p := n.process
		n.mu.Unlock()
		if p != nil {
			p.stop()
		}
	}
	ended := make(chan struct{})
	time.AfterFunc(2*time.Minute, func() {
		select {
		case <-ended:
		default:
			w.violated("something does not stop")
			w.note("%s", stacks())
		}
	})
	for _, n := range w.nodes {
		if n.process != nil {
			<-n.process.ended
		}
	}
	w.stopServer()
	w.ending.Wait()
	close(ended)
}

func stacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}

// For any faults of processes, disks, messages and the server, the result is that of an undisturbed
// run, and every acknowledged result is on a disk.
//
// All schedules share a bubble, because the NATS client keeps timers for all of its connections.
func TestSimulation(t *testing.T) { synctest.Test(t, testSimulation) }

func testSimulation(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // makes seeds reproducible
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	calm := simulate(t, 0, nil, "", io.Discard)
	if len(calm.wrong) > 0 || calm.digest == "" {
		t.Fatalf("seed 0: %s", cmp.Or(strings.Join(calm.wrong, "\n"), "the sweep ended without a result"))
	}
	t.Logf("without faults: %v, %d trials", calm.took, calm.runs)
	began := cpuTime()
	var virtual time.Duration
	run := 0
	for seed := *firstSeed; seed < *firstSeed+uint64(*schedules); seed++ {
		if *mostCPU > 0 && cpuTime()-began > *mostCPU {
			break
		}
		run++
		faults := kept(t, schedule(seed))
		log, before := logTo(t), cpuTime()
		o := simulate(t, seed, faults, calm.digest, log)
		closeLog(t, log)
		virtual += o.took
		if len(o.wrong) > 0 {
			t.Errorf("seed %d: %s\n%s", seed, strings.Join(o.wrong, "\n"), listed(faults))
			t.Logf("found after %.1f s of CPU time", (cpuTime() - began).Seconds())
			if *schedules == 1 || !*shrinks {
				return
			}
			shrink(t, seed, faults, calm.digest)
			return
		}
		if testing.Verbose() {
			t.Logf("seed %d: %d faults, %v in %v, %d trials, %d restarts",
				seed, len(faults), o.took, cpuTime()-before, o.runs, o.restarts)
		}
	}
	took := cpuTime() - began
	t.Logf("%d schedules in %v of CPU time: %.0f a minute; %v on the virtual clock", run,
		took.Round(time.Millisecond), float64(run)/took.Minutes(), virtual.Round(time.Second))
}

// cpuTime returns the CPU time of this process, because the clock of a bubble is virtual.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func logTo(t *testing.T) io.Writer {
	if *logPath == "" {
		return io.Discard
	}
	f, err := os.Create(*logPath)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func closeLog(t *testing.T, w io.Writer) {
	if f, ok := w.(*os.File); ok {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// kept returns the faults that the flag selects.
func kept(t *testing.T, all []fault) (list []fault) {
	switch *keep {
	case "all":
		return all
	case "none":
		return nil
	}
	for _, s := range strings.Split(*keep, ",") {
		i, err := strconv.Atoi(s)
		if err != nil || i < 0 || i >= len(all) {
			t.Fatalf("-sim.keep %s: the seed has the faults 0 to %d", *keep, len(all)-1)
		}
		list = append(list, all[i])
	}
	return list
}

func listed(faults []fault) string {
	var b bytes.Buffer
	for i, f := range faults {
		fmt.Fprintf(&b, "  %d: %v\n", i, f)
	}
	return b.String()
}

// shrink omits one fault after the other as long as the schedule still fails, and prints how to run
// the remaining ones. Goroutines that are ready at the same time run in a random order, so runs of
// one schedule may differ: a failure that needs a rare order needs several runs.
func shrink(t *testing.T, seed uint64, all []fault, want string) {
	t.Helper()
	numbers := make([]int, len(all))
	for i := range numbers {
		numbers[i] = i
	}
	for i := 0; i < len(numbers); {
		fewer := slices.Delete(slices.Clone(numbers), i, i+1)
		var faults []fault
		for _, k := range fewer {
			faults = append(faults, all[k])
		}
		if o := simulate(t, seed, faults, want, io.Discard); len(o.wrong) > 0 {
			numbers = fewer
		} else {
			i++
		}
	}
	list := cmp.Or(strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]"), "none")
	t.Logf("it takes %d of %d faults, %s:\n  go test ./%s -run TestSimulation -count 50 -failfast "+
		"-sim.schedules 1 -sim.seed %d -sim.keep %s -sim.log /dev/stderr",
		len(numbers), len(all), list, filepath.Join("cmd", "shatter", "simulation"), seed, list)
}
