package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJobAndResult(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		coordinator, worker := dial(Options{}), dial(Options{})
		q := coordinate(t, coordinator, "sweep", 2)
		submit(t, q, "a-64-0.1", "b/64/0")
		s := becomes(t, q, "both jobs are queued", func(s State) bool { return s.Jobs == 2 })
		if want := (State{Jobs: 2, Pending: 2, Limit: leastAckLimit}); s != want {
			t.Errorf("state is %+v, want %+v", s, want)
		}
		first, second := lease(t, worker), lease(t, worker)
		got := []any{first.Sweep, first.ID, string(first.Data), first.Deliveries, first.AckWait, second.ID}
		if diff := cmp.Diff([]any{"sweep", "a-64-0.1", "job a-64-0.1", 1, 30 * time.Second, "b/64/0"}, got); diff != "" {
			t.Error(diff)
		}
		finish(t, worker, first)
		publish(t, worker, second)
		s = becomes(t, q, "one job is done", func(s State) bool { return s.Jobs == 1 })
		if want := (State{Jobs: 1, Unacked: 1, Results: 2, Limit: leastAckLimit}); s != want {
			t.Errorf("state is %+v, want %+v", s, want)
		}
		must(t, second.Done(t.Context()))
		for _, want := range []string{"a-64-0.1", "b/64/0"} {
			m := next(t, q)
			if m.ID != want || string(m.Data) != "result of job "+want {
				t.Errorf("result %q is %q, want that of %q", m.ID, m.Data, want)
			}
			must(t, m.Ack())
		}
		becomes(t, q, "nothing is left", func(s State) bool { return s == State{Limit: leastAckLimit} })
		must(t, q.Close(soon(t)))
		if _, err := q.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after Close Next gives %v, want io.EOF", err)
		}
	})
}

func TestLeaseWaitsAndTells(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		coordinator, worker := dial(Options{}), dial(Options{})
		leased := make(chan *Lease)
		wait := func() {
			l, err := worker.Lease(soon(t))
			if err != nil {
				t.Error(err)
			}
			leased <- l
		}
		go wait() // the worker is first: it makes the streams
		go wait()
		q := coordinate(t, coordinator, "sweep", 2)
		becomes(t, q, "two slots wait", func(s State) bool { return s.Waiting == 2 })
		submit(t, q, "1")
		if l := <-leased; l.ID != "1" {
			t.Errorf("leased %q, want 1", l.ID)
		}
		becomes(t, q, "one slot waits", func(s State) bool { return s.Waiting == 1 && s.Unacked == 1 })
		submit(t, q, "2")
		<-leased
		go wait()
		<-q.Hungry() // told without asking
		submit(t, q, "3")
		<-leased
	})
}

func TestCancelledLeaseLosesNoJob(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		coordinator, worker := dial(Options{}), dial(Options{})
		q := coordinate(t, coordinator, "sweep", 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { _, err := worker.Lease(ctx); ended <- err }()
		becomes(t, q, "the slot waits", func(s State) bool { return s.Waiting == 1 })
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled Lease gives %v", err)
		}
		submit(t, q, "1") // answers the request that is still on the server
		l := lease(t, dial(Options{}))
		if l.ID != "1" {
			t.Errorf("leased %q, want 1", l.ID)
		}
		finish(t, worker, l)
	})
}

func TestClosedWorkerLosesNoJob(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		coordinator, worker := dial(Options{}), dial(Options{})
		q := coordinate(t, coordinator, "sweep", 1)
		ended := make(chan error)
		go func() { _, err := worker.Lease(t.Context()); ended <- err }()
		becomes(t, q, "the slot waits", func(s State) bool { return s.Waiting == 1 })
		worker.Close()
		var gone *ConnectError
		if err := <-ended; !errors.As(err, &gone) {
			t.Errorf("Lease on a closed connection gives %v, want a ConnectError", err)
		}
		submit(t, q, "1")
		if l := lease(t, coordinator); l.Deliveries != 1 {
			t.Errorf("job was handed out %d times", l.Deliveries)
		}
	})
}

func TestNothingIsPrefetched(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		coordinator, worker := dial(Options{}), dial(Options{})
		q := coordinate(t, coordinator, "sweep", 1)
		submit(t, q, numbers("", 5)...)
		lease(t, worker)
		becomes(t, q, "four jobs are free", func(s State) bool { return s.Unacked == 1 && s.Pending == 4 })
	})
}

func TestManySlots(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		const jobs, slots = 500, 20
		coordinator := dial(Options{})
		q := coordinate(t, coordinator, "sweep", 2*slots)
		for range 2 {
			work(t, dial(Options{}), slots, 100)
		}
		submit(t, q, numbers("", jobs)...)
		seen := map[string]int{}
		for range jobs {
			m := next(t, q)
			seen[m.ID]++
			must(t, m.Ack())
		}
		for _, id := range numbers("", jobs) {
			if seen[id] != 1 {
				t.Errorf("job %s has %d results, want 1", id, seen[id])
			}
		}
		becomes(t, q, "nothing is left", func(s State) bool { return s.Jobs+s.Results == 0 && s.Waiting == 2*slots })
	})
}

func TestTwoSweeps(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		const jobs = 60
		one, more := coordinate(t, dial(Options{}), "one", 3), coordinate(t, dial(Options{}), "one-more", 3)
		for i := range jobs { // interleaved
			submit(t, one, fmt.Sprint("one", i))
			submit(t, more, fmt.Sprint("more", i))
		}
		work(t, dial(Options{}), 3, 10)
		for prefix, q := range map[string]*Queue{"one": one, "more": more} {
			var got []string
			for range jobs {
				m := next(t, q)
				got = append(got, m.ID)
				must(t, m.Ack())
			}
			want := numbers(prefix, jobs)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("results of sweep %q: %s", prefix, diff)
			}
		}
	})
}

func TestLimitGrowsWithSlots(t *testing.T) {
	conn := embedded(t, Options{})
	for _, step := range []struct{ slots, limit int }{{1, leastAckLimit}, {2000, 8000}, {3, 8000}} {
		q := coordinate(t, conn, "sweep", step.slots)
		s, err := q.State(t.Context())
		if err != nil || s.Limit != step.limit {
			t.Errorf("with %d slots the limit is %d (%v), want %d", step.slots, s.Limit, err, step.limit)
		}
	}
}

func TestLeftoversOfAnEarlierRun(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		worker := dial(Options{})
		before := dial(Options{})
		q := coordinate(t, before, "sweep", 1)
		submit(t, q, "taken", "unread", "running", "queued")
		other := coordinate(t, dial(Options{}), "other", 1)
		submit(t, other, "another")
		finish(t, worker, lease(t, worker))
		next(t, q) // delivered, and not acknowledged
		before.nc.Close()
		finish(t, worker, lease(t, worker))
		running := lease(t, worker)

		after := coordinate(t, dial(Options{}), "sweep", 1)
		for _, want := range []string{"taken", "unread"} {
			m := next(t, after)
			if m.ID != want {
				t.Errorf("result %q comes, want %q", m.ID, want)
			}
			must(t, m.Ack())
		}
		becomes(t, after, "the old jobs are gone", func(s State) bool {
			return s.Jobs == 0 && s.Pending == 1 && s.Results == 0
		})
		finish(t, worker, running) // its worker does not know
		if m := next(t, after); m.ID != "running" {
			t.Errorf("result %q comes, want that of the job in work", m.ID)
		}
		if l := lease(t, worker); l.ID != "another" {
			t.Errorf("leased %q, want the other sweep's job", l.ID)
		}
		must(t, after.Close(soon(t)))
		again := coordinate(t, dial(Options{}), "sweep", 1)
		if s := becomes(t, again, "the state is read", func(State) bool { return true }); s.Jobs+s.Results != 0 {
			t.Errorf("after Close there is still %+v", s)
		}
	})
}

func TestUnacknowledgedResultComesAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{AckWait: 200 * time.Millisecond})
		q := coordinate(t, conn, "sweep", 1)
		must(t, conn.Publish(t.Context(), "sweep", "1", []byte("x")))
		first, second := next(t, q), next(t, q)
		if first.ID != second.ID {
			t.Errorf("results %q and %q, want the same twice", first.ID, second.ID)
		}
		must(t, second.Ack())
		becomes(t, q, "it is gone", func(s State) bool { return s.Results == 0 })
	})
}

// TestManyUnreadResults checks that more results than a connection may hold unread, as after a long
// absence, come through and do not cut the connection.
func TestManyUnreadResults(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		const results = 100
		coordinator, worker := dial(Options{}), dial(Options{})
		for _, id := range numbers("", results) {
			must(t, worker.Publish(soon(t), "sweep", id, make([]byte, MaxResult)))
		}
		q := coordinate(t, coordinator, "sweep", 1)
		seen := map[string]bool{}
		for range results {
			m := next(t, q)
			seen[m.ID] = true
			must(t, m.Ack())
		}
		if len(seen) != results {
			t.Errorf("%d different results came, want %d", len(seen), results)
		}
		if n := coordinator.nc.Statistics.Reconnects; n != 0 {
			t.Errorf("the connection was lost %d times", n)
		}
	})
}

func TestSizes(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		q := coordinate(t, conn, "sweep", 1)
		must(t, q.Submit(t.Context(), "1", make([]byte, MaxJob)))
		must(t, conn.Publish(t.Context(), "sweep", "1", make([]byte, MaxResult)))
		becomes(t, q, "both are stored", func(s State) bool { return s.Jobs == 1 && s.Results == 1 })
		for _, err := range []error{
			q.Submit(t.Context(), "2", make([]byte, MaxJob+1)),
			conn.Publish(t.Context(), "sweep", "2", make([]byte, MaxResult+1)),
		} {
			var size *SizeError
			if !errors.As(err, &size) || size.Size != size.Limit+1 {
				t.Errorf("one byte too many gives %v", err)
			}
			wants(t, err, `"2"`, "smaller")
		}
	})
}

func TestNames(t *testing.T) {
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "good", 1)
	for _, bad := range []string{"", "a b", "a\n", "*", "a.>", ">", ".a", "a.", "a..b", strings.Repeat("x", 129)} {
		if _, err := conn.Coordinate(t.Context(), bad, 1); err == nil {
			t.Errorf("sweep %q is taken", bad)
		}
		if err := q.Submit(t.Context(), bad, nil); err == nil {
			t.Errorf("job %q is taken", bad)
		}
		if err := conn.Publish(t.Context(), "good", bad, nil); err == nil {
			t.Errorf("result %q is taken", bad)
		}
	}
	if _, err := conn.Coordinate(t.Context(), "a.b", 1); err == nil {
		t.Error("sweep a.b is taken: its results would be of sweep a")
	}
}

// TestLostJobShows checks that a job which the queue lost is seen in the state. The coordinator
// queues it under another id.
func TestLostJobShows(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		q := coordinate(t, conn, "sweep", 1)
		submit(t, q, "1")
		becomes(t, q, "the job is queued", func(s State) bool { return s.Jobs == 1 })
		jobs, _, _ := conn.setup.handles()
		must(t, q.purge(t.Context(), jobs, jobSubject))
		becomes(t, q, "the job is missing", func(s State) bool { return s.Jobs+s.Results+s.Unacked == 0 })
		submit(t, q, "1.2")
		finish(t, conn, lease(t, conn))
		if m := next(t, q); m.ID != "1.2" {
			t.Errorf("result %q, want 1.2", m.ID)
		}
	})
}

// TestFullStreams checks that a stream which takes no more says so to the coordinator, and holds a
// worker until there is room.
func TestFullStreams(t *testing.T) {
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	for _, name := range []string{jobStream, resultStream} {
		s, err := conn.js.Stream(t.Context(), name)
		must(t, err)
		cfg := s.CachedInfo().Config
		cfg.MaxMsgs = 1
		_, err = conn.js.UpdateStream(t.Context(), cfg)
		must(t, err)
	}
	submit(t, q, "1", "2")
	until(t, soon(t), "the refusal is told", func() bool {
		err := q.Submit(t.Context(), "3", nil)
		return err != nil && strings.Contains(err.Error(), "maximum messages exceeded")
	})
	must(t, conn.Publish(t.Context(), "sweep", "1", nil))
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wants(t, conn.Publish(short, "sweep", "2", nil), "publish result 2", "deadline exceeded", "maximum messages exceeded")
	published := make(chan error)
	go func() { published <- conn.Publish(soon(t), "sweep", "3", nil) }()
	must(t, next(t, q).Ack())
	must(t, <-published)
}

// TestEmbeddedNeedsNoDisk checks that the embedded server leaves nothing behind, not even if the
// process is killed while it runs.
func TestEmbeddedNeedsNoDisk(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	work(t, conn, 1, MaxResult)
	submit(t, q, numbers("", 20)...)
	for range 20 {
		must(t, next(t, q).Ack())
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 0 {
		t.Errorf("there are files: %v", entries)
	}
	must(t, q.Close(soon(t)))
}

func TestResultsOfManyIDs(t *testing.T) {
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	for i := range 3 {
		must(t, conn.Publish(t.Context(), "sweep", fmt.Sprintf("job.%d", i), nil))
	}
	for i := range 3 {
		if m := next(t, q); m.ID != fmt.Sprintf("job.%d", i) {
			t.Errorf("result %d is %q", i, m.ID)
		}
	}
}
