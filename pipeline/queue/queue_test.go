package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Workers lease jobs of a sweep, each once while its lease lasts; a returned job is delivered
// again, and a finished one is removed.
func TestLease(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		if err := puller(t, conn).Lease(soon(t), "sweep", 1, 0, func(j *Job) { t.Errorf("%+v", j) }); err != nil {
			t.Errorf("a sweep without a leader: %v", err)
		}
		q, other := coordinate(t, dial(Options{}), "sweep", 7), coordinate(t, dial(Options{}), "other", 1)
		publish(t, q, "a-64-1", "b")
		publish(t, other, "c")
		jobs := lease(t, conn, "sweep", 2)
		for i, want := range []string{"a-64-1", "b"} {
			j := jobs[i]
			if j.Term != q.term || j.ID != want || string(j.Data) != "job "+want || j.Tries != 1 {
				t.Errorf("%+v", j)
			}
		}
		if j := lease(t, conn, "other", 1)[0]; j.Term != other.term || j.ID != "c" {
			t.Errorf("%+v", j)
		}
		must(t, puller(t, conn).Lease(soon(t), "sweep", 1, 0, func(j *Job) { t.Errorf("%s is leased twice", j.ID) }))
		stores(t, q, "a-64-1", "b")
		must(t, jobs[0].Extend())
		must(t, jobs[0].Done())
		must(t, jobs[1].Return(10*time.Millisecond))
		if j := lease(t, conn, "sweep", 1)[0]; j.ID != "b" || j.Tries != 2 {
			t.Errorf("%+v", j)
		}
		stores(t, q, "b")
		publish(t, q, "d", "e")
		stores(t, q, "b", "d", "e")
		must(t, q.Drop(soon(t), "b", "d"))
		stores(t, q, "e")
		must(t, q.Close(soon(t)))
		stores(t, q)
	})
}

// The server may forget the lease of a job if the job of a younger lease is dropped and the next
// one is done; Jobs counts such jobs. Whether this happens depends on the order of two of its
// goroutines, so the test tries one sweep after another. If the server keeps all leases, this test
// fails, and the code for stranded jobs can be removed.
func TestStranded(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		for i, stranded := 0, 0; stranded == 0; i++ {
			sweep := fmt.Sprint("sweep-", i)
			q := coordinate(t, conn, sweep, 1)
			publish(t, q, "a", "b", "c", "d")
			jobs := lease(t, conn, sweep, 4)
			_, before, err := q.Jobs(soon(t))
			if must(t, err); before != 0 || i == 50 {
				t.Fatalf("sweep %d: %d jobs are stranded", i, before)
			}
			must(t, q.Drop(soon(t), "b"))
			must(t, jobs[2].Done())
			must(t, jobs[3].Return(10*time.Millisecond))
			lease(t, conn, sweep, 1) // makes the server check all leases
			_, stranded, err = q.Jobs(soon(t))
			must(t, err)
		}
	})
}

// Heartbeats and offers reach their subscribers, and the last heartbeat of each worker can be
// listed.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		q := coordinate(t, dial(Options{}), "sweep", 1)
		offers, end, err := puller(t, conn).Offers()
		must(t, err)
		defer end()
		must(t, q.Offer([]byte("work")))
		if o := receive(t, offers); o.Sweep != "sweep" || string(o.Data) != "work" {
			t.Errorf("%+v", o)
		}
		for _, name := range []string{"v", "w", "w"} {
			p, err := conn.Puller(name)
			must(t, err)
			must(t, p.Beat([]byte(name+" is here")))
			if h := receive(t, q.Heartbeats); h.Worker != name || string(h.Data) != name+" is here" {
				t.Errorf("%+v", h)
			}
		}
		v, err := conn.Puller("v")
		must(t, err)
		must(t, v.Leave())
		if h := receive(t, q.Heartbeats); h.Worker != "v" || h.Data != nil {
			t.Errorf("%+v", h)
		}
		want := []Heartbeat{{Worker: "w", Data: []byte("w is here")}}
		until(t, soon(t), "the bucket holds the last heartbeats", func() bool { // it stores them later
			var all []Heartbeat
			must(t, conn.Workers(soon(t), func(h Heartbeat) {
				if h.At.IsZero() {
					t.Error("a heartbeat without a time")
				}
				h.At = time.Time{}
				all = append(all, h)
			}))
			return cmp.Equal(want, all)
		})
	})
}

// A leader reads all stored results of its sweep, including those before its time and those of jobs
// of an earlier leader. The results of sweeps are separate.
func TestResults(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		worker, before := dial(Options{}), dial(Options{})
		q, other := coordinate(t, before, "sweep", 4), coordinate(t, dial(Options{}), "sweep-1", 1)
		parts := []Part{{q.term, "w", "a-64-1", 0, 2}, {q.term, "w", "a-64-1", 1, 2}, {q.term, "w", "b", 0, 1}}
		for _, p := range parts {
			must(t, puller(t, worker).Publish(soon(t), p, []byte(p.Job)))
		}
		must(t, puller(t, worker).Publish(soon(t), Part{other.term, "w", "other", 0, 1}, nil))
		reads := func(q *Queue, want ...Part) (last uint64) {
			t.Helper()
			for _, p := range want {
				m := next(t, q)
				if m.Part != p || string(m.Data) != p.Job || m.Sequence <= last {
					t.Errorf("%+v after %d, want %+v", m, last, p)
				}
				last = m.Sequence
			}
			return last
		}
		if last, err := q.Last(soon(t)); err != nil || last != reads(q, parts...) {
			t.Errorf("the last result has the number %d, %v", last, err)
		}
		before.nc.Close()
		after := coordinate(t, dial(Options{}), "sweep", 9)
		last := reads(after, parts...)
		late := Part{q.term, "w", "late", 0, 1} // its worker has not received the new leader's offer
		must(t, puller(t, worker).Publish(soon(t), late, []byte("late")))
		reads(after, late)
		must(t, after.DeleteResults(soon(t), last))
		reads(coordinate(t, dial(Options{}), "sweep", 10), late)
		registry, err := worker.Registry(soon(t))
		must(t, err)
		must(t, registry.DeleteResults(soon(t), "sweep"))
		if last, err := after.Last(soon(t)); err != nil || last != 0 {
			t.Errorf("a result is left: %d, %v", last, err)
		}
		if m := next(t, other); m.Job != "other" {
			t.Errorf("%+v", m)
		}
	})
}

// A new leader removes the jobs of the previous one, and does not affect other sweeps.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	old := coordinate(t, conn, "sweep", 4)
	publish(t, old, "1")
	stores(t, old, "1")
	live := coordinate(t, conn, "sweep", 5)
	stores(t, old)
	publish(t, live, "1", "2")
	stores(t, live, "1", "2")
	must(t, old.Close(soon(t)))
	stores(t, live, "1", "2")
	for _, j := range lease(t, conn, "sweep", 2) {
		if j.Epoch != 5 {
			t.Errorf("%+v", j)
		}
	}
}

// A leader recreates the streams that a server has lost, and reads later results.
func TestStoreLost(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	publish(t, q, "1", "2")
	for _, j := range lease(t, conn, "sweep", 2) {
		finish(t, conn, j)
		next(t, q)
	}
	for _, name := range []string{jobStream, resultStream} {
		must(t, conn.js.DeleteStream(soon(t), name))
	}
	stores(t, q)
	publish(t, q, "3")
	finish(t, conn, lease(t, conn, "sweep", 1)[0])
	if m := next(t, q); m.Job != "3" || m.Sequence != 1 {
		t.Errorf("%+v", m)
	}
}

// Subjects that no worker of this version writes are not parts of results, and do not interrupt
// reading.
func TestStrangeResults(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	for _, rest := range []string{"w", "w.1.job.1", "w.1.job.one.2", "w.1.job.2.2", "w.x.job.0.1", "w.1.job.0.1.2"} {
		_, err := conn.js.Publish(soon(t), resultSubject+"sweep."+rest, nil)
		must(t, err)
		if m := next(t, q); m.Part != (Part{}) {
			t.Errorf("%s is taken for %+v", rest, m.Part)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		q := coordinate(t, conn, "sweep", 1)
		part := Part{q.term, "w", "1", 0, 1}
		must(t, q.Publish(t.Context(), "1", make([]byte, MaxJob)))
		must(t, puller(t, conn).Publish(t.Context(), part, make([]byte, MaxResult)))
		if j, m := lease(t, conn, "sweep", 1)[0], next(t, q); len(j.Data) != MaxJob || len(m.Data) != MaxResult {
			t.Errorf("a job of %d bytes, a result of %d", len(j.Data), len(m.Data))
		}
		for _, err := range []error{
			q.Publish(t.Context(), "1", make([]byte, MaxJob+1)),
			puller(t, conn).Publish(t.Context(), part, make([]byte, MaxResult+1)),
			puller(t, conn).Beat(make([]byte, MaxHeartbeat+1)),
		} {
			wants(t, err, "are more than the", "smaller")
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "good", 1)
	for _, bad := range []string{"", "a b", "a\n", "*", "a.>", ">", ".a", "a.", "a..b", "a.b", strings.Repeat("x", 129)} {
		_, err := conn.Coordinate(t.Context(), Term{bad, 1})
		_, worker := conn.Puller(bad)
		for what, err := range map[string]error{
			"sweep": err, "job": q.Publish(t.Context(), bad, nil), "worker": worker,
			"leased":  puller(t, conn).Lease(t.Context(), bad, 1, 0, func(*Job) {}),
			"results": puller(t, conn).Publish(t.Context(), Part{q.term, "w", bad, 0, 1}, nil),
		} {
			if err == nil {
				t.Errorf("%s %q is taken", what, bad)
			}
		}
	}
}

// A full stream blocks a worker until there is room.
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
	part := Part{q.term, "w", "1", 0, 1}
	must(t, puller(t, conn).Publish(t.Context(), part, nil))
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wants(t, puller(t, conn).Publish(short, part, nil), "publish result of job 1", "deadline exceeded",
		"maximum messages exceeded")
	published := make(chan error)
	go func() { published <- puller(t, conn).Publish(soon(t), part, nil) }()
	must(t, q.DeleteResults(soon(t), next(t, q).Sequence))
	must(t, <-published)
}

// TestServerKilled kills the server while results are published. Every result arrives.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	s := external(t)
	const jobs, kills = 300, 3
	q := coordinate(t, s.dial(t, Options{}), "sweep", 1)
	worker := s.dial(t, Options{})
	published := make(chan error, 1)
	go func() {
		for _, id := range numbers("", jobs) {
			if err := puller(t, worker).Publish(soon(t), Part{q.term, "w", id, 0, 1}, make([]byte, 2000)); err != nil {
				published <- err
				return
			}
		}
		published <- nil
	}()
	seen := map[string]bool{}
	for killed := 0; len(seen) < jobs; {
		seen[next(t, q).Job] = true
		if killed < kills && len(seen) > jobs*(killed+1)/(kills+1) {
			killed++
			s.kill(t)
			s.start(t)
		}
	}
	must(t, <-published)
}

// TestServerAway checks that calls wait for an unavailable server until their context ends.
func TestServerAway(t *testing.T) {
	t.Parallel()
	s := external(t)
	conn := s.dial(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	part := Part{q.term, "w", "1", 0, 1}
	s.kill(t)
	over, end := context.WithCancel(t.Context())
	end()
	until(t, soon(t), "the loss is seen", func() bool { return conn.connected(over) != nil })
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for what, err := range map[string]error{
		"job":    q.Publish(short, "2", nil),
		"result": puller(t, conn).Publish(short, part, nil),
	} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s without a server gives %v", what, err)
		}
	}
	published := make(chan error)
	go func() { published <- puller(t, conn).Publish(soon(t), part, []byte("x")) }()
	s.start(t)
	must(t, <-published)
	if m := next(t, q); string(m.Data) != "x" {
		t.Errorf("result is %q, want x", m.Data)
	}
}
