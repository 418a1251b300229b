package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// outboxFor returns the outbox of a worker's slot, and a leader's queue.
func outboxFor(t *testing.T) (*outbox, *bus.Queue) {
	t.Helper()
	server, err := bus.Embed(bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	conn, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	q, err := conn.Coordinate(t.Context(), bus.Lead{Sweep: "s", Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{
		Config: Config{Conn: conn, Name: "w", Log: slog.New(slog.DiscardHandler)}, shelf: newShelf(),
		plugins: newPlugins(Config{}), refusals: map[string]*fleet.Refusal{},
	}
	return &outbox{w: w, hard: t.Context()}, q
}

// ran takes the next job off the shelf and returns it as one that has run, with results of so many bytes.
func ran(t *testing.T, o *outbox, sizes ...int) *finished {
	t.Helper()
	ctx, h := o.w.shelf.next(t.Context())
	f := &finished{held: h, ctx: ctx, outcomes: newOutcomes(h.trial)}
	for i, size := range sizes {
		part := bus.Part{Worker: "w", Job: h.ID, Index: i, Of: len(sizes)}
		f.results = append(f.results, bus.Result{Part: part, Data: make([]byte, size)})
	}
	return f
}

// What happens to one of several results is nothing to the others: a job whose result cannot be stored is
// handed back, one that nobody needs any more is dropped.
func TestOutboxNeighbours(t *testing.T) {
	t.Parallel()
	o, q := outboxFor(t)
	shelve(t, o.w.shelf, "s", 1, *testJob(1), "a", "b", "c", "d", "e", "f")
	jobs := []*finished{
		ran(t, o, 1), ran(t, o, 1, 1), ran(t, o, bus.MaxResult+1), ran(t, o, 1), ran(t, o, 1, bus.MaxResult+1), ran(t, o, 1),
	}
	jobs[3].end()
	o.publish(jobs)
	var got []string
	for range 5 {
		m, err := q.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(m.Job, m.Index))
		if err := m.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a0", "b0", "b1", "e0", "f0"}; !slices.Equal(got, want) {
		t.Errorf("results %v, want %v", got, want)
	}
	for _, want := range []string{"c", "e"} {
		b := <-q.HandedBack()
		y, err := fleet.DecodeWhy(b.Reason)
		if b.Job != want || err != nil || y.Kind == fleet.Drain {
			t.Errorf("job %s came back: %+v, %v; want %s", b.Job, y, err, want)
		}
	}
	if held, _ := o.w.shelf.list(o.w.began); len(held) > 0 {
		t.Errorf("held in the end: %+v", held)
	}
}

// A result waits while its job is listed, for others of the same leader that come soon, and for nothing else.
func TestOutboxWaits(t *testing.T) {
	t.Parallel()
	o, q := outboxFor(t)
	var ids []string
	for i := range 2*mostWaiting + 2 {
		ids = append(ids, fmt.Sprintf("j%02d", i))
	}
	for i, id := range ids {
		job := bus.Job{Lead: bus.Lead{Sweep: "s", Epoch: 1}, ID: id, Together: i != 4}
		if !o.w.shelf.add(job, testJob(1)) {
			t.Fatal("not taken")
		}
	}
	o.sending.Lock() // so that no time limit counts
	puts := make(chan struct{})
	waiting := func() int {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.waiting)
	}
	for range 3 {
		o.put(ran(t, o, 1))
	}
	if held, _ := o.w.shelf.list(o.w.began); waiting() != 3 || len(held) != len(ids) {
		t.Errorf("%d results wait, %d jobs are held", waiting(), len(held))
	}
	slow := ran(t, o, 1)
	slow.took = mostLinger
	go func() { defer close(puts); o.put(slow) }()
	o.sending.Unlock()
	<-puts
	if waiting() != 0 {
		t.Error("the result of a long job waits")
	}
	if o.put(ran(t, o, 1)); waiting() != 0 {
		t.Error("a result waits that is to travel alone")
	}
	for range ids[5:] {
		o.put(ran(t, o, 1))
	}
	if waiting() != 0 {
		t.Errorf("%d results wait while there are no jobs", waiting())
	}
	for i, id := range ids {
		m, err := q.Next(t.Context())
		if err != nil || m.Job != id {
			t.Fatalf("result %d: %+v, %v", i, m, err)
		}
	}
}

// Whatever becomes of results on their way, a worker that leaves has handed over those that it has, and has
// handed back the others.
func TestOutboxDrains(t *testing.T) {
	t.Parallel()
	o, q := outboxFor(t)
	conn := o.w.Conn
	const jobs = 200
	ctx, leave := context.WithCancel(t.Context())
	begun, all := 0, make(chan struct{})
	simulate := func(_ context.Context, job *trial.Job) (*ledger.Batch, error) {
		<-all
		if begun++; begun == jobs/2 {
			leave()
		}
		if begun%10 == 0 {
			return nil, errors.New("not this one")
		}
		return &ledger.Batch{Status: make([]uint8, job.Count), Error: make([]float64, job.Count)}, nil
	}
	ended := make(chan error)
	go func() {
		ended <- Run(ctx, t.Context(), Config{Conn: conn, Name: "w", Plugins: map[string]host.Command{"d": {}}, Simulate: simulate})
	}()
	job := testJob(1)
	<-q.Announcements()
	job.Cell.Metrics, job.Cell.Evaluation = nil, &problem.Evaluation{Words: "exact"}
	for i := range jobs {
		job.ID = fmt.Sprint("j", i)
		data, err := job.Encode()
		if err == nil {
			err = q.Send(t.Context(), "w", job.ID, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for held := 0; held < jobs; {
		if err := q.Call("w"); err != nil {
			t.Fatal(err)
		}
		said := <-q.Announcements()
		a, err := fleet.Decode(said.Worker, said.Data)
		if err != nil {
			t.Fatal(err)
		}
		held = len(a.Held)
	}
	close(all)
	seen := map[string]bool{}
	together := 0
	for last := uint64(0); len(seen) < jobs; {
		var id string
		select {
		case m := <-q.Results():
			id = m.Job
			if m.Sequence() == last {
				together++
			}
			last = m.Sequence()
			if _, err := ledger.Decode(m.Data); err != nil {
				t.Error(err)
			}
		case b := <-q.HandedBack():
			id = b.Job
		}
		if seen[id] {
			t.Errorf("job %s twice", id)
		}
		seen[id] = true
	}
	if err := <-ended; err != nil || together == 0 {
		t.Errorf("%v; %d results came with others", err, together)
	}
}
