package pool

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/meter"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// poolOf returns a pool of workers without a server.
func poolOf(t *testing.T, workers ...*fleet.Worker) *Pool {
	t.Helper()
	p := newPool(Config{Conn: new(queue.Conn), Term: queue.Term{Sweep: "s"}})
	for i, w := range workers {
		w.Name = fmt.Sprint("w", i)
		p.Roster.workers[w.Name] = &member{Worker: w}
	}
	return p
}

// request returns a request for some trials.
func request(repetitions ...int64) *Request {
	c := &trial.Cell{As: "erm", Problem: &schemas.Problem{Class: "thresholds"}}
	return NewRequest(c, 4, repetitions...)
}

// attempt adds a job of a request.
func (p *Pool) attempt(id string, r *Request, a attempt) {
	a.id, a.request = id, r
	p.attempts[id] = &a
	r.state.attempts = append(r.state.attempts, &a)
}

// A job that the server does not have any more, and of which no result arrived, is published again.
// A job whose result may be unread is not, and a job that is not needed any more is removed.
func TestReconcile(t *testing.T) {
	w, now := poolOf(t), time.Now()
	w.Meter = &meter.Meter{}
	w.attempt("stored", request(1), attempt{published: now})
	w.attempt("lost", request(2), attempt{published: now})
	w.attempt("young", request(3), attempt{published: now.Add(time.Hour)})
	stored := map[string]bool{"stored": true}
	for i, idle := range []bool{true, false, true} {
		now = now.Add(w.Healing + 1)
		w.reconcile(now, stored, idle)
		if want := []int{0, 0, 1}[i]; len(w.waiting) != want || len(w.attempts) != 3-want {
			t.Errorf("look %d: %d jobs wait, %d are on the server", i, len(w.waiting), len(w.attempts))
		}
	}
	if back := w.Meter.Counts().Back; back["lost"] != 1 || w.attempts["stored"] == nil || w.attempts["young"] == nil {
		t.Errorf("jobs came back: %v", back)
	}
}

// A job that was reserved for a worker that has disappeared is published again for the present
// workers.
func TestOthersGone(t *testing.T) {
	w := poolOf(t, &fleet.Worker{Slots: 1})
	w.attempt("left", request(1), attempt{avoid: []string{"w0"}})
	w.attempt("runs", request(2), attempt{avoid: []string{"w0"}, worker: "w0", running: 1})
	w.attempt("free", request(3), attempt{avoid: []string{"gone"}})
	stored := map[string]bool{"left": true, "runs": true, "free": true}
	if dropped := w.reconcile(time.Now(), stored, true); len(dropped) != 1 || dropped[0] != "left" || len(w.waiting) != 1 {
		t.Errorf("%v removed, %d wait", dropped, len(w.waiting))
	}
}

// If the server keeps a job without delivering it, the pool publishes it again when no worker has
// held it for a while.
func TestStranded(t *testing.T) {
	w, now := poolOf(t), time.Now()
	before := now.Add(-time.Minute)
	w.attempt("held", request(1), attempt{published: before, held: now})
	w.attempt("young", request(2), attempt{published: now})
	w.attempt("stranded", request(3), attempt{published: before})
	stored := map[string]bool{"held": true, "young": true, "stranded": true}
	for w.stranded = range maxAbsent + 2 {
		dropped := w.reconcile(now, stored, true)
		lost := w.stranded > maxAbsent
		if lost != slices.Equal(dropped, []string{"stranded"}) || lost != (len(w.waiting) == 1) {
			t.Errorf("check %d: %v removed, %d wait", w.stranded, dropped, len(w.waiting))
		}
	}
}

// Workers that hang with all jobs on the server do not keep jobs from other workers.
func TestAllStuck(t *testing.T) {
	w := poolOf(t, &fleet.Worker{Slots: 1})
	stored := map[string]bool{}
	for i := 0; w.room(); i++ {
		id := fmt.Sprint(i)
		w.attempt(id, request(int64(i)), attempt{worker: "w0", running: 1e6})
		stored[id] = true
	}
	jobs := len(w.attempts)
	w.reconcile(time.Now(), stored, true)
	if !w.room() || len(w.waiting) != jobs {
		t.Errorf("%d of %d jobs wait to be published once more, with room: %v", len(w.waiting), jobs, w.room())
	}
}

// The reason why no job runs is the workers' own reason.
func TestState(t *testing.T) {
	w, now := poolOf(t), time.Now()
	if none, why := w.Roster.state(now); !none || why != "" {
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
		w.handleHeartbeat(queue.Heartbeat{Worker: name, Data: data}, now)
	}
	w.Roster.first = time.Time{} // the gathering time has passed
	const want = "no worker can run it: worker a (and 1 more) could not run plugin acme: it is for linux/amd64"
	if none, why := w.Roster.state(now); none || why != want {
		t.Errorf("%v, %q, want %q", none, why, want)
	}
	if w.Roster.Slots(time.Now()) != 0 || w.room() {
		t.Error("jobs are published, and no worker takes them")
	}
	w.Roster.workers["a"].Refusals = nil
	if _, why := w.Roster.state(now); why != "" || w.Roster.Slots(time.Now()) != 1 || !w.room() {
		t.Errorf("one worker can run it: %q", why)
	}
}

// A pool that heals once per second uses the times of package fleet unscaled.
func TestScaled(t *testing.T) {
	w := poolOf(t)
	for _, d := range []time.Duration{fleet.Silence, time.Second} {
		if got := w.scaled(d); got != d {
			t.Errorf("%v is scaled to %v", d, got)
		}
	}
}

// The status shows the late job with the longest run time.
func TestDescribeLate(t *testing.T) {
	w := poolOf(t)
	add := func(n int64, running, expected float64) {
		r := request(1, 2, 3, 4, 5)
		r.N = n
		w.attempt(fmt.Sprint(n), r, attempt{running: running, seconds: expected})
	}
	add(1, 100, 50) // about as predicted
	add(2, lateUnknown-1, 0)
	if got := describeLate(w.attempts); got != "" {
		t.Errorf("late: %q", got)
	}
	add(3, 30, 0)
	add(4, 40, 1)
	add(5, 20, 1)
	if got, want := describeLate(w.attempts), "5 trials have run for 40 s: erm on thresholds, n = 4"; got != want {
		t.Errorf("late: %q, want %q", got, want)
	}
}

// The server holds more jobs if jobs are short, until one takes longer.
func TestQuickJobs(t *testing.T) {
	quick := func(jobs int) []float64 { return slices.Repeat([]float64{1e-4}, jobs) }
	for _, c := range []struct {
		name  string
		slots int
		took  []float64 // seconds of the last jobs
		want  int       // number of jobs on the server in the end
	}{
		{"nothing is known", 2, nil, 6},
		{"a quick one", 2, quick(1), 6},
		{"quick ones", 2, quick(60), 80},
		{"longer ones", 2, slices.Repeat([]float64{0.5}, 30), 6},
		{"a slow one at last", 2, append(quick(30), 1), 6},
		{"many slots", 1000, quick(60), 40_000},
		{"it takes no time, as it says", 2, slices.Repeat([]float64{-1}, 300), 80},
	} {
		w := poolOf(t, &fleet.Worker{Slots: c.slots})
		for _, seconds := range c.took {
			w.Usual.Record(seconds)
		}
		n := 0
		for ; w.room(); n++ {
			w.attempts[fmt.Sprint(n)] = &attempt{}
		}
		if n != c.want {
			t.Errorf("%s: %d jobs, want %d", c.name, n, c.want)
		}
	}
}

// The sweep's float profile is that of most workers; among equally frequent ones, that with most
// slots.
func TestProfile(t *testing.T) {
	worker := func(profile string, slots int) *fleet.Worker {
		return &fleet.Worker{Profile: profile, Slots: slots}
	}
	a, b, c := worker("p", 9), worker("q", 2), worker("q", 2)
	for _, x := range []struct {
		members []*fleet.Worker
		want    string
	}{{nil, ""}, {[]*fleet.Worker{a}, "p"}, {[]*fleet.Worker{b, a}, "p"}, {[]*fleet.Worker{a, b, c}, "q"}} {
		if got := poolOf(t, x.members...).Roster.usualProfile(); got != x.want {
			t.Errorf("%d workers: profile %q, want %q", len(x.members), got, x.want)
		}
	}
}
