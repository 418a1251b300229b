package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// trouble is a second worker that never does what it should.
type trouble struct {
	conn  *bus.Conn
	codes []string
	jobs  int // that it was sent
	// take deals with a job and returns whether it is held, as one that has been running for very long.
	take func(x *trouble, j bus.Job) (held bool)
	silent,
	leaving bool
	joined chan struct{} // closed when the other worker has a job
	took   chan struct{} // closed when this one has had its first; nil: nobody waits for that
}

// run works until ctx ends.
func (x *trouble) run(ctx context.Context, t *testing.T) {
	inbox, err := x.conn.Listen("trouble")
	if err != nil {
		t.Error(err)
		return
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	held := map[string]fleet.Held{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-inbox.Drops:
			continue
		case j := <-inbox.Jobs:
			x.jobs++
			if x.take(x, j) {
				held[j.ID] = fleet.Held{Sweep: j.Sweep, Epoch: j.Epoch, ID: j.ID, Running: 1e6}
			}
			if x.jobs == 1 && x.took != nil {
				close(x.took)
			}
			continue
		case <-inbox.Calls:
		case <-tick.C:
		}
		if x.silent {
			continue
		}
		w := fleet.Worker{
			Name: "trouble", Slots: 2, Profile: trial.FloatProfile(), Plugins: x.codes, Leaving: x.leaving,
			Held: slices.Collect(maps.Values(held)),
		}
		data, err := w.Encode()
		if err != nil {
			t.Error(err)
			return
		}
		_ = x.conn.Announce("trouble", data) // the run may have ended
	}
}

// handBack hands a job back.
func (x *trouble) handBack(j bus.Job, why []byte) bool {
	_ = x.conn.HandBack(j.Lead, "trouble", j.ID, why)
	return false
}

// publish publishes a result of a job.
func (x *trouble) publish(j bus.Job, data []byte) bool {
	_ = x.conn.Publish(context.Background(), j.Lead, bus.Part{Worker: "trouble", Job: j.ID, Of: 1}, data)
	return false
}

// A worker that hangs, goes, leaves, fails or lies costs no trial its outcome: the other one does its
// work, and the table is that of an undisturbed run.
func TestTroublesomeWorker(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for name, take := range map[string]func(x *trouble, j bus.Job) bool{
		"hangs":      func(*trouble, bus.Job) bool { return true },
		"loses jobs": func(*trouble, bus.Job) bool { return false },
		"goes":       func(x *trouble, _ bus.Job) bool { x.silent = true; return false },
		"leaves": func(x *trouble, j bus.Job) bool {
			x.leaving = true
			return x.handBack(j, fleet.Why{Kind: fleet.Drain}.Encode())
		},
		"cannot":        func(x *trouble, j bus.Job) bool { return x.handBack(j, fleet.Why{Kind: fleet.Cannot}.Encode()) },
		"has no data":   func(x *trouble, j bus.Job) bool { return x.handBack(j, fleet.Why{Kind: fleet.Fault}.Encode()) },
		"gives no why":  func(x *trouble, j bus.Job) bool { return x.handBack(j, []byte("{")) },
		"sends garbage": func(x *trouble, j bus.Job) bool { return x.publish(j, []byte("garbage")) },
		"is too slow": func(x *trouble, j bus.Job) bool {
			<-x.joined // a machine that is alone is believed
			job, err := trial.DecodeJob(j.Data)
			if err != nil {
				return true
			}
			b := refused(job)
			if b == nil {
				b = outcomes(job)
				for _, rep := range b.Repetition {
					lose(b, rep)
				}
			}
			b.Worker = "trouble"
			data, err := b.Encode()
			return err != nil || x.publish(j, data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			x, ended, join := &trouble{take: take, joined: make(chan struct{})}, sync.WaitGroup{}, sync.Once{}
			if name != "is too slow" { // which waits itself
				x.took = make(chan struct{})
			}
			script := func(f *fake, job *trial.Job, b *ledger.Batch) {
				join.Do(func() { close(x.joined) })
				if x.took != nil {
					<-x.took // so that it has trials that count, and not second looks alone
				}
				honest(f, job, b)
			}
			s, _, err := setup{dir: t.TempDir(), script: script, change: func(c *Config) {
				c.Workers = nil                    // others may come
				c.Healing = 200 * time.Millisecond // so that a busy machine is not taken to be gone
				if name == "is too slow" {         // the other one must not be taken to be gone
					c.Healing = time.Second
				}
				x.conn, x.codes = c.Conn, slices.Collect(maps.Values(c.Digests))
				ended.Go(func() { x.run(ctx, t) })
			}}.run(t, t.Context())
			cancel()
			ended.Wait()
			if err != nil || s.Digest != want || len(s.Alarms) > 0 || s.Unfinished != 1 || x.jobs == 0 {
				t.Errorf("%+v, %v; the worker had %d jobs", s, err, x.jobs)
			}
		})
	}
}

// parcel is a cargo of which nothing comes back.
type parcel struct{ on way }

func (p *parcel) left() *trial.Job { return &trial.Job{} }
func (p *parcel) open() int        { return 1 }
func (p *parcel) words() string    { return "a parcel" }
func (p *parcel) way() *way        { return &p.on }

// A worker whose process begins anew again and again, and has none of the jobs that were sent to the one
// before, is not to blame. One that goes on, and does not have them, is.
func TestBegunAnew(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begun time.Duration // between the beginnings of two processes
		back  map[string]int64
		aside int // kinds of jobs that it does not get for a while
	}{
		{"preempted", time.Second, map[string]int64{"gone": 100}, 0},
		{"loses jobs", 0, map[string]int64{string(fleet.Fault): 100}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Now()
			w := &crew{
				lead: bus.Lead{Sweep: "s", Epoch: 1}, healing: time.Second, errands: map[string]*errand{}, meter: &Meter{},
				journal: &journal{log: slog.New(slog.DiscardHandler)}, strange: map[string]stranger{},
			}
			said := &fleet.Worker{Name: "w", Began: now, Slots: 2, Profile: "p", Plugins: []string{"one"}}
			announce := func() {
				data, err := said.Encode()
				if err != nil {
					t.Fatal(err)
				}
				w.hear(bus.Announcement{Worker: "w", Data: data}, now)
			}
			announce()
			for i := range 50 {
				m := w.members[0]
				for k := range 2 {
					e := &errand{id: fmt.Sprint(i, "-", k), cargo: &parcel{}, what: "plugin", member: m, sent: now, began: m.Began}
					w.errands[e.id], m.out[e.id] = e, e
				}
				said.Began = said.Began.Add(tt.begun)
				for range 2 {
					now = now.Add(w.healing + 1)
					announce()
				}
				w.reckon(now, 0, true)
			}
			m := w.members[0]
			if back := w.meter.Counts().Back; !maps.Equal(back, tt.back) || len(m.aside) != tt.aside || len(m.out) > 0 {
				t.Errorf("jobs came back for %v, %d kinds are kept from it, and it has %d jobs", back, len(m.aside), len(m.out))
			}
		})
	}
}

// A plugin that is for the platform of no worker is told as the reason why nothing moves: by those who were
// asked for it, in their words.
func TestNoPlatform(t *testing.T) {
	now := time.Now()
	w := &crew{
		lead: bus.Lead{Sweep: "s", Epoch: 1}, healing: time.Second, errands: map[string]*errand{},
		journal: &journal{log: slog.New(slog.DiscardHandler)}, strange: map[string]stranger{},
	}
	need := fleet.Need{Plugin: "one", Name: "acme", What: "plugin acme"}
	for _, name := range []string{"a", "b"} {
		said := &fleet.Worker{Name: name, Began: now, Slots: 1, Platform: "linux/arm64", Allows: []string{"any"}}
		data, err := said.Encode()
		if err != nil {
			t.Fatal(err)
		}
		w.hear(bus.Announcement{Worker: name, Data: data}, now)
	}
	for i := range 2 {
		c := &parcel{}
		m := w.choose(need, &c.on, now)
		if m == nil {
			t.Fatalf("the job goes to nobody: %s", w.stuck)
		}
		e := &errand{id: fmt.Sprint(i), cargo: c, what: need.What, member: m, sent: now, began: m.Began}
		w.errands[e.id], m.out[e.id] = e, e
		why := fleet.Why{Kind: fleet.Cannot, Reason: "acme is not for this machine: it is for linux/amd64"}
		w.handedBack(bus.HandedBack{Worker: m.Name, Job: e.id, Reason: why.Encode()}, now)
	}
	const want = "no worker can run what comes next: worker a (and 1 more) could not run plugin acme: " +
		"acme is not for this machine: it is for linux/amd64"
	if m := w.choose(need, &way{}, now); m != nil || w.stuck != want {
		t.Errorf("%+v, %q, want %q", m, w.stuck, want)
	}
}

// The times of a crew that heals once a second are those of package fleet.
func TestScaled(t *testing.T) {
	w := &crew{healing: time.Second}
	for _, d := range []time.Duration{fleet.Silence, fleet.Backoff(1), fleet.Backoff(100)} {
		if got := w.scaled(d); got != d {
			t.Errorf("%v is scaled to %v", d, got)
		}
	}
}

// What a person sees of jobs that take far longer than expected is the one that has run for longest.
func TestLateWords(t *testing.T) {
	c := &cell{Cell: testPlan(t).Cells[0]}
	w := &crew{errands: map[string]*errand{}}
	add := func(n int64, running, expected float64) {
		j := &job{cell: c, block: estimate.Block{N: n, Count: 16}, missing: 5}
		id := fmt.Sprint(n)
		w.errands[id] = &errand{id: id, cargo: j, running: running, seconds: expected}
	}
	add(1, 100, 50) // as expected, about
	add(2, lateUnknown-1, 0)
	if got := w.late(); got != "" {
		t.Errorf("late: %q", got)
	}
	add(3, 30, 0)
	add(4, 40, 1)
	add(5, 20, 1)
	if got, want := w.late(), "5 trials have run for 40 s: "+c.at(4); got != want {
		t.Errorf("late: %q, want %q", got, want)
	}
}

// A worker holds more jobs where they are short, until one takes longer.
func TestQuickJobs(t *testing.T) {
	quick := func(jobs int) []float64 { return slices.Repeat([]float64{1e-4}, jobs) }
	for _, c := range []struct {
		name  string
		slots int
		took  []float64 // seconds, by the last jobs
		each  float64   // seconds that each of those that it gets will take, as far as is known
		want  int       // jobs that it holds in the end
	}{
		{"nothing is known", 2, nil, 0, 4},
		{"a quick one", 2, quick(1), 0, 4},
		{"some quick ones", 2, quick(10), 0, 7},
		{"quick ones", 2, quick(40), 0, 64},
		{"longer ones", 2, slices.Repeat([]float64{0.5}, 30), 0, 4},
		{"a slow one at last", 2, append(quick(30), 1), 0, 4},
		{"a slow one in between", 2, append(append(quick(40), 0.020), quick(20)...), 0, 64},
		{"quick ones before slow ones", 2, quick(30), 0.010, 4},
		{"many slots", 1000, quick(40), 0, 2000},
		{"some slots", 100, quick(40), 0, mostQuick},
		{"it takes no time, as it says", 2, slices.Repeat([]float64{-1}, 300), 0, 64},
	} {
		w := &crew{errands: map[string]*errand{}}
		m := &member{Worker: &fleet.Worker{Name: "w", Slots: c.slots}, out: map[string]*errand{}}
		for _, seconds := range c.took {
			(&errand{member: m}).took(seconds)
		}
		var out []*errand
		for m.room() {
			e := &errand{id: fmt.Sprint(len(out)), cargo: &parcel{}, member: m, seconds: c.each}
			w.hand(e)
			out = append(out, e)
		}
		if len(out) != c.want {
			t.Errorf("%s: it holds %d jobs, want %d", c.name, len(out), c.want)
		}
		for _, e := range out {
			w.end(e)
		}
		if len(w.errands) > 0 || m.load != 0 {
			t.Errorf("%s: in the end %d jobs of %v s are out", c.name, len(w.errands), m.load)
		}
	}
}
