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

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// crewOf returns a crew of workers on an embedded server.
func crewOf(members ...*member) *crew {
	w := &crew{
		lead: queue.Lead{Sweep: "s", Epoch: 1}, healing: time.Second, members: map[string]*member{},
		errands: map[string]*errand{}, meter: &Meter{}, journal: &journal{log: slog.New(slog.DiscardHandler)},
		strange: map[string]stranger{},
	}
	for i, m := range members {
		m.Name = fmt.Sprint("w", i)
		w.members[m.Name] = m
	}
	return w
}

// trouble is a second worker that never does what it should.
type trouble struct {
	conn  *queue.Conn
	sweep string
	codes []string
	jobs  int // that it has leased
	// take deals with a job and reports whether it is held, as one that has been running for very long.
	take func(x *trouble, j *queue.Job) (held bool)
	silent,
	leaving bool
	refusal *fleet.Refusal
	joined  chan struct{} // closed when the other worker has a job
	took    chan struct{} // closed when this one has had its first; nil: it is not waited for
}

// run works until ctx ends.
func (x *trouble) run(ctx context.Context, t *testing.T) {
	held := map[string]*queue.Job{}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	if !offered(t, ctx, x.conn, func() { x.announce(t, held) }) {
		return
	}
	for ctx.Err() == nil {
		x.announce(t, held)
		if x.silent || x.leaving || x.refusal != nil {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			continue
		}
		_ = puller(t, x.conn, "trouble").Lease(ctx, x.sweep, 1, 10*time.Millisecond, func(j *queue.Job) {
			if avoided(t, "trouble", j) {
				return
			}
			x.jobs++
			if x.take(x, j) {
				held[j.ID] = j
			}
			if x.jobs == 1 && x.took != nil {
				close(x.took)
			}
		})
	}
}

// announce publishes a heartbeat, unless the worker is silent, and extends its leases.
func (x *trouble) announce(t *testing.T, held map[string]*queue.Job) {
	if x.silent {
		return
	}
	w := &fleet.Worker{Name: "trouble", Slots: 2, Profile: trial.FloatProfile(), Plugins: x.codes, Leaving: x.leaving}
	for _, j := range held {
		w.Held = append(w.Held, fleet.Held{Sweep: j.Sweep, Epoch: j.Epoch, ID: j.ID, Running: 1e6})
		_ = j.Extend()
	}
	if x.refusal != nil {
		w.Refusals = []fleet.Refusal{*x.refusal}
	}
	beat(t, x.conn, w)
}

// publish publishes a result of a job.
func (x *trouble) publish(j *queue.Job, data []byte) bool {
	_ = puller(nil, x.conn, "trouble").Publish(context.Background(), queue.Part{Lead: j.Lead, Job: j.ID, Of: 1}, data)
	_ = j.Done()
	return false
}

// A worker that hangs, goes, leaves, fails or lies costs no trial its outcome: the other one does its
// work, and the table is that of an undisturbed run.
func TestTroublesomeWorker(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for name, take := range map[string]func(x *trouble, j *queue.Job) bool{
		"hangs":      func(*trouble, *queue.Job) bool { return true },
		"loses jobs": func(_ *trouble, j *queue.Job) bool { return j.Done() != nil },
		"goes":       func(x *trouble, _ *queue.Job) bool { x.silent = true; return false },
		"leaves":     func(x *trouble, j *queue.Job) bool { x.leaving = true; return j.Return(0) != nil },
		"cannot": func(x *trouble, j *queue.Job) bool {
			x.refusal = &fleet.Refusal{Sweep: j.Sweep, What: "data", Reason: "the disk is full", Never: true}
			return j.Return(0) != nil
		},
		"sends garbage": func(x *trouble, j *queue.Job) bool { return x.publish(j, []byte("garbage")) },
		"is too slow": func(x *trouble, j *queue.Job) bool {
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
				x.conn, x.sweep, x.codes = c.Conn, c.Folder.ID, slices.Collect(maps.Values(c.Digests))
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

// A job that the server does not have any more, and of which no result came, is published again; one whose result may
// be unread is not, and one that is not needed any more is struck off.
func TestReckon(t *testing.T) {
	w, now := crewOf(), time.Now()
	add := func(id string, c cargo, published time.Time) {
		e := &errand{id: id, cargo: c, published: published}
		w.errands[id] = e
		c.way().errands = append(c.way().errands, e)
	}
	add("stored", &parcel{}, now)
	add("lost", &parcel{}, now)
	add("young", &parcel{}, now.Add(time.Hour))
	stored := map[string]bool{"stored": true}
	for i, idle := range []bool{true, false, true} {
		now = now.Add(w.healing + 1)
		if err := w.reckon(t.Context(), now, stored, idle); err != nil {
			t.Fatal(err)
		}
		if want := []int{0, 0, 1}[i]; len(w.waiting) != want || len(w.errands) != 3-want {
			t.Errorf("look %d: %d jobs wait, %d are on the server", i, len(w.waiting), len(w.errands))
		}
	}
	if back := w.meter.Counts().Back; back["lost"] != 1 || w.errands["stored"] == nil || w.errands["young"] == nil {
		t.Errorf("jobs came back: %v", back)
	}
}

// Workers that hang with all jobs that are on the server keep no place from others.
func TestAllStuck(t *testing.T) {
	w := crewOf(&member{Worker: &fleet.Worker{Slots: 1}})
	stored := map[string]bool{}
	for i := 0; w.room(); i++ {
		c, id := &parcel{}, fmt.Sprint(i)
		e := &errand{id: id, cargo: c, worker: "w0", running: 1e6}
		w.errands[id], stored[id] = e, true
		c.on.errands = []*errand{e}
	}
	jobs := len(w.errands)
	if err := w.reckon(t.Context(), time.Now(), stored, true); err != nil {
		t.Fatal(err)
	}
	if !w.room() || len(w.waiting) != jobs {
		t.Errorf("%d of %d jobs wait to be published once more, with room: %v", len(w.waiting), jobs, w.room())
	}
}

// The reason why nothing moves is that of the workers, in their words.
func TestState(t *testing.T) {
	w, now := crewOf(), time.Now()
	if none, why := w.state(now); !none || why != "" {
		t.Errorf("without workers: %v, %q", none, why)
	}
	for _, name := range []string{"a", "b"} {
		said := &fleet.Worker{Name: name, Slots: 1, Refusals: []fleet.Refusal{
			{Sweep: "s", What: "plugin acme", Reason: "it is for linux/amd64", Never: true}, {Sweep: "other", Never: true},
		}}
		data, err := said.Encode()
		if err != nil {
			t.Fatal(err)
		}
		w.hear(queue.Heartbeat{Worker: name, Data: data}, now)
	}
	w.first = time.Time{} // they have gathered
	const want = "no worker can run it: worker a (and 1 more) could not run plugin acme: it is for linux/amd64"
	if none, why := w.state(now); none || why != want {
		t.Errorf("%v, %q, want %q", none, why, want)
	}
	if w.slots() != 0 || w.room() {
		t.Error("jobs are published, and no worker takes them")
	}
	w.members["a"].Refusals = nil
	if _, why := w.state(now); why != "" || w.slots() != 1 || !w.room() {
		t.Errorf("one worker can run it: %q", why)
	}
}

// The times of a crew that heals once a second are those of package fleet.
func TestScaled(t *testing.T) {
	w := &crew{healing: time.Second}
	for _, d := range []time.Duration{fleet.Silence, time.Second} {
		if got := w.scaled(d); got != d {
			t.Errorf("%v is scaled to %v", d, got)
		}
	}
}

// What a person sees of jobs that take far longer than expected is the one that has run for longest.
func TestLateWords(t *testing.T) {
	c := cellOf(t, testPlan(t).Cells[0])
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
	if got, want := w.late(), "5 trials have run for 40 s: "+c.At(4); got != want {
		t.Errorf("late: %q, want %q", got, want)
	}
}

// More jobs are on the server where they are short, until one takes longer.
func TestQuickJobs(t *testing.T) {
	quick := func(jobs int) []float64 { return slices.Repeat([]float64{1e-4}, jobs) }
	for _, c := range []struct {
		name  string
		slots int
		took  []float64 // seconds, by the last jobs
		want  int       // jobs that are on the server in the end
	}{
		{"nothing is known", 2, nil, 6},
		{"a quick one", 2, quick(1), 6},
		{"quick ones", 2, quick(60), 80},
		{"longer ones", 2, slices.Repeat([]float64{0.5}, 30), 6},
		{"a slow one at last", 2, append(quick(30), 1), 6},
		{"many slots", 1000, quick(60), 40_000},
		{"it takes no time, as it says", 2, slices.Repeat([]float64{-1}, 300), 80},
	} {
		w := crewOf(&member{Worker: &fleet.Worker{Slots: c.slots}})
		for _, seconds := range c.took {
			w.took(seconds)
		}
		n := 0
		for ; w.room(); n++ {
			w.errands[fmt.Sprint(n)] = &errand{}
		}
		if n != c.want {
			t.Errorf("%s: %d jobs, want %d", c.name, n, c.want)
		}
	}
}
