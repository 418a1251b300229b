package bus

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestResult(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		worker := dial(Options{})
		q := coordinate(t, dial(Options{}), "sweep", 3)
		parts := []Part{{"host-1", "a-64-1", 0, 2}, {"host-1", "a-64-1", 1, 2}, {"host-2", "b", 0, 1}}
		for _, p := range parts {
			must(t, worker.Publish(soon(t), q.lead, p, []byte(p.String())))
		}
		leaves(t, q, len(parts))
		last := uint64(0)
		for _, want := range parts {
			m := next(t, q)
			if diff := cmp.Diff(want, m.Part); diff != "" || string(m.Data) != want.String() || m.Epoch != 3 {
				t.Errorf("%s%q, epoch %d", diff, m.Data, m.Epoch)
			}
			if m.Sequence() <= last {
				t.Errorf("number %d after %d", m.Sequence(), last)
			}
			last = m.Sequence()
			must(t, m.Ack())
		}
		leaves(t, q, 0)
		if _, found, err := q.Unread(soon(t)); err != nil || found != last {
			t.Errorf("the last result has the number %d (%v), want %d", found, err, last)
		}
		must(t, q.Close(soon(t)))
		if _, err := q.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after Close Next gives %v, want io.EOF", err)
		}
	})
}

// Sweeps have results of their own, and the end of one is nothing to the other.
func TestTwoSweeps(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		a, b := coordinate(t, dial(Options{}), "a", 1), coordinate(t, dial(Options{}), "a-1", 1)
		for _, q := range []*Queue{a, b} {
			must(t, conn.Publish(soon(t), q.lead, Part{"w", q.lead.Sweep, 0, 1}, nil))
		}
		must(t, a.Close(soon(t)))
		leaves(t, b, 1)
		if m := next(t, b); m.Job != "a-1" {
			t.Errorf("result of %q", m.Job)
		}
	})
}

// A leader takes over what its predecessors have left: results that were not read, or read and not
// acknowledged, and those that workers publish later.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		worker, before := dial(Options{}), dial(Options{})
		q := coordinate(t, before, "sweep", 4)
		for _, id := range []string{"taken", "unread"} {
			must(t, worker.Publish(soon(t), q.lead, Part{"w", id, 0, 1}, nil))
		}
		next(t, q) // delivered, and not acknowledged
		before.nc.Close()
		after := coordinate(t, dial(Options{}), "sweep", 9)
		for _, want := range []string{"taken", "unread"} {
			m := next(t, after)
			if m.Job != want || m.Epoch != 4 {
				t.Errorf("result of %q, epoch %d, comes; want that of %q", m.Job, m.Epoch, want)
			}
			must(t, m.Ack())
		}
		must(t, worker.Publish(soon(t), q.lead, Part{"w", "late", 0, 1}, nil)) // its worker does not know
		if m := next(t, after); m.Job != "late" {
			t.Errorf("result of %q, want that of the job in work", m.Job)
		}
	})
}

// A leader that was followed by another can take nothing from it, and learns of it.
func TestStaleLeader(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		worker := dial(Options{})
		stale := coordinate(t, dial(Options{}), "sweep", 4)
		live := coordinate(t, dial(Options{}), "sweep", 5)
		var deposed *DeposedError
		if _, _, err := stale.Unread(soon(t)); !errors.As(err, &deposed) || deposed.Other != 5 {
			t.Errorf("the stale leader's look gives %v", err)
		}
		if _, err := dial(Options{}).Coordinate(soon(t), Lead{"sweep", 4}); !errors.As(err, &deposed) {
			t.Errorf("taking the sweep up again gives %v", err)
		}
		must(t, worker.Publish(soon(t), live.lead, Part{"w", "1", 0, 1}, nil))
		must(t, stale.Close(soon(t)))
		leaves(t, live, 1)
		if m := next(t, live); m.Job != "1" {
			t.Errorf("result of %q", m.Job)
		}
		if n := len(stale.Results()); n != 0 {
			t.Errorf("%d results for the stale leader", n)
		}
	})
}

func TestSizes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		q, in := coordinate(t, conn, "sweep", 1), listen(t, conn, "w")
		must(t, q.Send(t.Context(), "w", "1", make([]byte, MaxJob)))
		must(t, conn.Publish(t.Context(), q.lead, Part{"w", "1", 0, 1}, make([]byte, MaxResult)))
		leaves(t, q, 1)
		if j := receive(t, in.Jobs); len(j.Data) != MaxJob {
			t.Errorf("a job of %d bytes", len(j.Data))
		}
		for _, err := range []error{
			q.Send(t.Context(), "w", "2", make([]byte, MaxJob+1)),
			conn.Publish(t.Context(), q.lead, Part{"w", "2", 0, 1}, make([]byte, MaxResult+1)),
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
	t.Parallel()
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "good", 1)
	for _, bad := range []string{"", "a b", "a\n", "*", "a.>", ">", ".a", "a.", "a..b", "a.b", strings.Repeat("x", 129)} {
		if _, err := conn.Coordinate(t.Context(), Lead{bad, 1}); err == nil {
			t.Errorf("sweep %q is taken", bad)
		}
		if _, err := conn.Listen(bad); err == nil {
			t.Errorf("worker %q is taken", bad)
		}
		if q.Send(t.Context(), bad, "1", nil) == nil || q.Send(t.Context(), "w", bad, nil) == nil {
			t.Errorf("job or worker %q is taken", bad)
		}
		if err := conn.Publish(t.Context(), q.lead, Part{"w", bad, 0, 1}, nil); err == nil {
			t.Errorf("result %q is taken", bad)
		}
	}
}

// TestFullStream checks that a stream which takes no more holds a worker until there is room.
func TestFullStream(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	s, err := conn.js.Stream(t.Context(), resultStream)
	must(t, err)
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs = 1
	_, err = conn.js.UpdateStream(t.Context(), cfg)
	must(t, err)
	must(t, conn.Publish(t.Context(), q.lead, Part{"w", "1", 0, 1}, nil))
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wants(t, conn.Publish(short, q.lead, Part{"w", "2", 0, 1}, nil),
		"publish result of job 2", "deadline exceeded", "maximum messages exceeded")
	published := make(chan error)
	go func() { published <- conn.Publish(soon(t), q.lead, Part{"w", "3", 0, 1}, nil) }()
	must(t, next(t, q).Ack())
	must(t, <-published)
}
