package simulation

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A share is a sweep of one submitter of several: four lists of trials.
type share struct {
	name   string
	weight float64
	each   time.Duration // that a trial takes
	trials int           // of each list
}

func (s share) plan() *plan.Plan {
	p := newPlan()
	p.Name = s.name
	one := *p.Cells[0]
	p.Cells = nil
	for _, as := range []string{"a", "b"} {
		c := one
		c.As, c.N, c.Trials = as, []int64{10, 30}, s.trials
		var err error
		if c.Key, err = trial.KeyOf(s.name + as); err != nil {
			panic(err)
		}
		c.NoiseKey, c.DataKey = c.Key, c.Key
		p.Cells = append(p.Cells, &c)
	}
	return p
}

func (s share) id() string { return submissionOf(s.plan()).ID() }

// A stretch is a time in which a slot ran a job.
type stretch struct {
	sweep        string // its id
	began, ended time.Time
}

// sharing is a world in which several sweeps share the workers.
type sharing struct {
	*testing.T
	*world
	shares []share

	mu      sync.Mutex
	ran     []stretch
	working int // slots that run a job
}

// newSharing starts coordinators and workers with two slots each.
func newSharing(t *testing.T, coordinators, workers int, shares ...share) (s *sharing, p *process, end func()) {
	w, remove := newWorld(t, 0, io.Discard)
	s = &sharing{T: t, world: w, shares: shares}
	w.startServer(true)
	for i := range coordinators {
		w.addNode(fmt.Sprint("c", i), func(n *node, p *process) error { return n.lead(p, s.load) })
	}
	for i := range workers {
		w.addNode(fmt.Sprint("w", i), func(n *node, p *process) error { return n.run(p, s.work) })
	}
	for _, n := range w.nodes {
		n.start()
	}
	w.user = w.addNode("user", nil)
	p = &process{node: w.user}
	p.ctx, p.stop = context.WithTimeout(context.Background(), time.Hour)
	return s, p, func() {
		p.stop()
		w.stop()
		remove()
		for _, wrong := range w.wrong {
			t.Error(wrong)
		}
	}
}

func (s *sharing) load(_ context.Context, x *lead.Submission) (*lead.Sweep, error) {
	i := slices.IndexFunc(s.shares, func(one share) bool { return one.name == x.Name })
	return &lead.Sweep{Plan: s.shares[i].plan(), Config: coordinator.Config{Digests: codes}}, nil
}

// work runs the trials of a job.
func (s *sharing) work(ctx context.Context, job *trial.Job) (*ledger.Batch, error) {
	i := slices.IndexFunc(s.shares, func(one share) bool { return one.id() == job.Sweep })
	began := time.Now()
	s.mu.Lock()
	s.working++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.working--
		s.ran = append(s.ran, stretch{job.Sweep, began, time.Now()})
	}()
	select {
	case <-time.After(time.Duration(job.Count) * s.shares[i].each):
		return outcomesOf(job), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// used returns the seconds of slots that sweeps have used in a time, by their ids.
func (s *sharing) used(from, to time.Time) map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := map[string]float64{}
	for _, x := range s.ran {
		began, ended := x.began, x.ended
		if began.Before(from) {
			began = from
		}
		if ended.After(to) {
			ended = to
		}
		used[x.sweep] += max(0, ended.Sub(began).Seconds())
	}
	return used
}

// ended waits for the end of a sweep.
func (s *sharing) ended(ctx context.Context, r *bus.Registry, id string) *lead.End {
	for ; ; time.Sleep(100 * time.Millisecond) {
		e, err := r.Find(ctx, id)
		if err != nil {
			s.Fatal(err)
		}
		record, err := lead.ReadRecord(e)
		if err != nil {
			s.Fatal(err)
		}
		if record.End != nil && record.End.Summary == nil {
			s.Fatal(record.End.Failure)
		}
		if record.End != nil {
			return record.End
		}
	}
}

// idle checks that a second after the last sweep has ended no slot runs a job, that no worker holds one,
// and that neither a result nor somebody who waits for one is on the server.
func (s *sharing) idle(ctx context.Context, c *bus.Conn, ended time.Time) {
	if late := time.Since(ended); late > time.Second {
		s.Errorf("the end was seen %v later", late)
	}
	time.Sleep(time.Until(ended.Add(time.Second)))
	s.mu.Lock()
	working := s.working
	s.mu.Unlock()
	if working > 0 {
		s.Errorf("%d slots work a second after the last sweep", working)
	}
	answered := map[string]bool{}
	err := c.Roll(ctx, 500*time.Millisecond, func(said bus.Announcement) {
		w, err := fleet.Decode(said.Worker, said.Data)
		if err != nil {
			s.Error(err)
			return
		}
		if answered[w.Name] = true; len(w.Held) > 0 {
			s.Errorf("a second after the last sweep worker %s holds %v", w.Name, w.Held)
		}
	})
	if err != nil || len(answered) != 4 {
		s.Errorf("%d workers have answered, %v", len(answered), err)
	}
	z, err := s.server.Load().Jsz(&server.JSzOptions{Accounts: true, Streams: true, Consumer: true})
	if err != nil {
		s.Fatal(err)
	}
	streams := 0
	for _, account := range z.AccountDetails {
		for _, x := range account.Streams {
			if x.Name != "shatter-results" {
				continue
			}
			streams++
			if x.State.Msgs > 0 || len(x.Consumer) > 0 {
				s.Errorf("a second after the last sweep the server has %d results and %d consumers", x.State.Msgs, len(x.Consumer))
			}
		}
	}
	if streams != 1 {
		s.Errorf("the server has %d streams of results", streams)
	}
}

// digestAlone returns the digest of a sweep that one worker runs, and nobody disturbs.
func digestAlone(t *testing.T, x share) string {
	s, p, end := newSharing(t, 1, 1, x)
	defer end()
	r, c := s.connect(p)
	defer c.Close()
	s.submit(p.ctx, r, x)
	return s.ended(p.ctx, r, x.id()).Summary.Digest
}

func (s *sharing) connect(p *process) (*bus.Registry, *bus.Conn) {
	c, err := p.dial()
	if err != nil {
		s.Fatal(err)
	}
	r, err := c.Registry(p.ctx)
	if err != nil {
		s.Fatal(err)
	}
	return r, c
}

func (s *sharing) submit(ctx context.Context, r *bus.Registry, x share) {
	wish := lead.Wish{Do: lead.Run, Weight: x.weight}
	if _, _, err := lead.Submit(ctx, r, submissionOf(x.plan()), wish); err != nil {
		s.Fatal(err)
	}
}

// Three sweeps of three people share four workers, which two coordinators give jobs to: by weight, then
// by priority; one is paused and resumed, one is cancelled. What they use is counted by a clock that
// nothing but sleep moves, so that no machine is too slow. The two that end have the results of runs
// that nobody disturbed, and a second later nobody works, whether the last sweep has ended or is cancelled.
//
// It has a process of its own: what libraries keep in channels for the whole process belongs to the
// bubble that used it first, and TestSimulation has another one.
func TestFairness(t *testing.T) {
	if os.Getenv(aloneVariable) != "" {
		synctest.Test(t, testFairness)
		return
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	alone := exec.CommandContext(t.Context(), path, "-test.run=^TestFairness$", "-test.v")
	alone.Env = append(os.Environ(), aloneVariable+"=1")
	out, err := alone.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// aloneVariable names the environment variable of a process that has one test to run.
const aloneVariable = "SHATTER_TEST_ALONE"

func testFairness(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	light := share{"light", 1, 50 * time.Millisecond, 1300}
	middle := share{"middle", 2, 100 * time.Millisecond, 500}
	heavy := share{"heavy", 5, 200 * time.Millisecond, 500}
	late := share{"late", 1, 200 * time.Millisecond, 500} // submitted when the others are over
	wants := map[string]string{}
	for _, x := range []share{light, middle} {
		wants[x.name] = digestAlone(t, x)
	}
	s, p, end := newSharing(t, 2, 4, light, middle, heavy, late)
	defer end()
	r, c := s.connect(p)
	defer c.Close()
	change := func(x share, change func(*lead.Wish)) {
		err := lead.ChangeWish(p.ctx, r, x.id(), func(w *lead.Wish) error { change(w); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, phase := range []struct {
		what  string
		begin func()
		want  map[share]float64 // parts of the slots' time
	}{
		{"by weight", func() {
			for _, x := range s.shares[:3] {
				s.submit(p.ctx, r, x)
			}
		}, map[share]float64{light: 1. / 8, middle: 2. / 8, heavy: 5. / 8}},
		{"one is paused", func() { change(light, func(w *lead.Wish) { w.Do = lead.Pause }) },
			map[share]float64{light: 0, middle: 2. / 7, heavy: 5. / 7}},
		{"it is resumed, with priority", func() { change(light, func(w *lead.Wish) { w.Do, w.Priority = lead.Run, 1 }) },
			map[share]float64{light: 1, middle: 0, heavy: 0}},
		{"one is cancelled, the priority is taken back", func() {
			change(heavy, func(w *lead.Wish) { w.Do = lead.Cancel })
			change(light, func(w *lead.Wish) { w.Priority = 0 })
		}, map[share]float64{light: 1. / 3, middle: 2. / 3, heavy: 0}},
	} {
		running.Add(1) // for guard
		phase.begin()
		time.Sleep(5 * time.Second)
		from := time.Now()
		time.Sleep(15 * time.Second)
		used := s.used(from, time.Now())
		const slots = 4 * 2 * 15
		for _, x := range s.shares[:3] {
			got := used[x.id()] / slots
			t.Logf("%s: %s has %.3f of the slots, %.3f is its part", phase.what, x.name, got, phase.want[x])
			if math.Abs(got-phase.want[x]) > 0.05 {
				t.Errorf("%s: %s has %.3f of the slots, want %.3f", phase.what, x.name, got, phase.want[x])
			}
		}
	}
	last := time.Time{}
	for _, x := range []share{light, middle} {
		e := s.ended(p.ctx, r, x.id())
		if e.Summary.Digest != wants[x.name] {
			t.Errorf("%s: digest %.12s, want %.12s", x.name, e.Summary.Digest, wants[x.name])
		}
		if e.At.After(last) {
			last = e.At
		}
	}
	s.idle(p.ctx, c, last)
	s.submit(p.ctx, r, late)
	time.Sleep(5 * time.Second)
	if s.used(time.Time{}, time.Now())[late.id()] == 0 {
		t.Error("the last sweep has not begun")
	}
	change(late, func(w *lead.Wish) { w.Do = lead.Cancel })
	s.idle(p.ctx, c, time.Now())
}
