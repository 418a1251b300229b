package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func registry(t *testing.T, c *Conn) *Registry {
	t.Helper()
	r, err := c.Registry(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func find(t *testing.T, r *Registry, id string) *Entry {
	t.Helper()
	e, err := r.Find(soon(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A submission is stored once, and found by a prefix of its id.
func TestSubmission(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		r := registry(t, dial(Options{}))
		for _, tt := range []struct {
			id    string
			added bool
		}{{"ab12", true}, {"ab34", true}, {"ab12", false}, {"ab3456", true}} {
			added, err := r.Submit(soon(t), tt.id, []byte("sweep "+tt.id))
			if err != nil || added != tt.added {
				t.Fatalf("submit %s: %v, %v", tt.id, added, err)
			}
		}
		for _, tt := range []struct{ prefix, want string }{
			{"ab1", "ab12"}, {"ab34", "ab34"}, {"ab345", "ab3456"},
			{"ab", `sweep "ab" could be any of ab12, ab34, ab3456; give more of its id`},
			{"", `no sweep "" on this server`},
			{"c", `no sweep "c" on this server`},
		} {
			e, err := r.Find(soon(t), tt.prefix)
			if err != nil && err.Error() != tt.want || err == nil &&
				(e.ID != tt.want || string(e.Submission) != "sweep "+e.ID) {
				t.Errorf("find %q: %+v, %v", tt.prefix, e, err)
			}
		}
	})
}

// No concurrent change of the desired state is lost.
func TestDesiredState(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		r := registry(t, dial(Options{}))
		const all = 20
		errs := make(chan error, all)
		for range all {
			go func() {
				errs <- r.Change(soon(t), "ab12", func(desired []byte) ([]byte, error) { return append(desired, 'x'), nil })
			}()
		}
		for range all {
			must(t, <-errs)
		}
		if _, err := r.Submit(soon(t), "ab12", []byte("sweep")); err != nil {
			t.Fatal(err)
		}
		if e := find(t, r, "ab12"); len(e.Desired) != all {
			t.Errorf("%d of %d changes were kept", len(e.Desired), all)
		}
		no := errors.New("no")
		if err := r.Change(soon(t), "ab12", func([]byte) ([]byte, error) { return nil, no }); !errors.Is(err, no) {
			t.Errorf("change that refuses: %v", err)
		}
	})
}

// Watch reports all entries, and then each change.
func TestWatch(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		r := registry(t, dial(Options{}))
		submit := func(id string) {
			t.Helper()
			if _, err := r.Submit(soon(t), id, []byte(id)); err != nil {
				t.Fatal(err)
			}
		}
		submit("old")
		ctx, cancel := context.WithCancel(soon(t))
		seen, watched := make(chan string, 100), make(chan error)
		go func() {
			watched <- r.Watch(ctx, func(e *Entry) error {
				lead := ""
				if e.Leader != nil {
					lead = e.Leader.Name
				}
				seen <- fmt.Sprintf("%s %s/%s/%s/%s", e.ID, e.Desired, lead, e.Ledger, e.End)
				return nil
			})
		}()
		expect := func(want string) {
			t.Helper()
			select {
			case got := <-seen:
				if got != want {
					t.Fatalf("saw %q, want %q", got, want)
				}
			case <-soon(t).Done():
				t.Fatalf("did not see %q", want)
			}
		}
		expect("old ///")
		submit("new")
		expect("new ///")
		must(t, r.Change(soon(t), "new", func([]byte) ([]byte, error) { return []byte("run"), nil }))
		expect("new run///")
		l, err := r.AcquireLease(soon(t), "new", "a", time.Hour, nil)
		must(t, err)
		expect("new run/a//")
		must(t, l.Ship(soon(t), []byte("segments")))
		expect("new run/a/segments/")
		must(t, l.Finish(soon(t), []byte("done")))
		expect("new run/a/segments/done")
		must(t, l.Resign(soon(t)))
		expect("new run//segments/done")
		cancel()
		if err := <-watched; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// One of two candidates becomes the leader. The other one becomes the leader when the first has
// resigned, or has not renewed its lease; epochs grow.
func TestElection(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		a, b := registry(t, dial(Options{})), registry(t, dial(Options{}))
		if _, err := a.Submit(soon(t), "ab12", []byte("sweep")); err != nil {
			t.Fatal(err)
		}
		const short = 3 * time.Second
		first, err := a.AcquireLease(soon(t), "ab12", "a", short, nil)
		must(t, err)
		_, err = b.AcquireLease(soon(t), "ab12", "b", short, nil)
		if !errors.Is(err, ErrNotLeader) || !strings.Contains(err.Error(), ": a leads it since") {
			t.Fatalf("a second leader beside the first: %v", err)
		}
		lease := find(t, b, "ab12").Leader
		if lease.Epoch != first.Epoch || lease.Duration != short {
			t.Errorf("lease %+v, want epoch %d", lease, first.Epoch)
		}
		until(t, soon(t), "the lease is renewed",
			func() bool { return find(t, b, "ab12").Leader.Renewal > lease.Renewal })
		must(t, first.Resign(soon(t)))
		if first.Context().Err() == nil {
			t.Error("leads on after it has resigned")
		}
		second, err := b.AcquireLease(soon(t), "ab12", "b", short, nil)
		must(t, err)
		if second.Epoch <= first.Epoch {
			t.Errorf("epoch %d after %d", second.Epoch, first.Epoch)
		}
		must(t, second.Resign(soon(t)))
		must(t, second.Resign(soon(t))) // already resigned
	})
}

// A leader that was frozen for longer than its lease loses it, and cannot change anything of its
// successor: the first values of every key that it tries to write stay.
func TestFrozenLeader(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		a, b := registry(t, dial(Options{})), registry(t, dial(Options{}))
		if _, err := a.Submit(soon(t), "ab12", []byte("sweep")); err != nil {
			t.Fatal(err)
		}
		stale, err := a.AcquireLease(soon(t), "ab12", "a", time.Hour, nil) // like a frozen leader, it does not renew
		must(t, err)
		must(t, stale.Ship(soon(t), []byte("of a")))
		live, err := b.AcquireLease(soon(t), "ab12", "b", time.Hour, find(t, b, "ab12").Leader)
		must(t, err)
		defer func() { must(t, live.Resign(soon(t))) }()
		if live.Epoch <= stale.Epoch {
			t.Errorf("epoch %d after %d", live.Epoch, stale.Epoch)
		}
		must(t, live.Ship(soon(t), []byte("of b")))
		for name, write := range map[string]func() error{
			"ship":   func() error { return stale.Ship(soon(t), []byte("stale")) },
			"finish": func() error { return stale.Finish(soon(t), []byte("stale")) },
		} {
			if err := write(); !errors.Is(err, ErrNotLeader) {
				t.Errorf("%s by a stale leader: %v", name, err)
			}
		}
		if err := context.Cause(stale.Context()); !errors.Is(err, ErrNotLeader) {
			t.Errorf("a stale leader leads on: %v", err)
		}
		must(t, stale.Resign(soon(t)))
		e := find(t, b, "ab12")
		if string(e.Ledger) != "of b" || e.End != nil || e.Leader == nil || e.Leader.Epoch != live.Epoch {
			t.Errorf("the live leader's entry is %s, %s, %+v", e.Ledger, e.End, e.Leader)
		}
		must(t, live.Finish(soon(t), []byte("done")))
	})
}

// A leader ends if its server is frozen for longer than its lease, and continues if its server only
// restarts.
func TestLeaderWithoutServer(t *testing.T) {
	t.Parallel()
	s := external(t)
	r := registry(t, s.dial(t, Options{}))
	long, err := r.AcquireLease(soon(t), "long", "a", time.Minute, nil)
	must(t, err)
	short, err := r.AcquireLease(soon(t), "short", "a", 300*time.Millisecond, nil)
	must(t, err)
	must(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	select {
	case <-short.Context().Done():
	case <-soon(t).Done():
		t.Error("leads on without renewing its lease")
	}
	must(t, s.cmd.Process.Signal(syscall.SIGCONT))
	s.kill(t)
	s.start(t)
	must(t, long.Ship(soon(t), []byte("segments")))
	must(t, long.Resign(soon(t)))
	must(t, short.Resign(soon(t)))
}

// A sweep is deleted while its desired state is deletion, with all of its values in the registry.
// Watchers receive the change, and the sweep can be submitted again.
func TestDelete(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		r := registry(t, dial(Options{}))
		set := func(w string) {
			t.Helper()
			must(t, r.Change(soon(t), "ab12", func([]byte) ([]byte, error) { return []byte(w), nil }))
		}
		remove := func() bool {
			t.Helper()
			done, err := r.Delete(soon(t), "ab12", func(desired []byte) bool { return string(desired) == "delete" })
			must(t, err)
			return done
		}
		for _, id := range []string{"ab12", "ab34"} {
			_, err := r.Submit(soon(t), id, []byte("sweep"))
			must(t, err)
		}
		l, err := r.AcquireLease(soon(t), "ab12", "c", time.Hour, nil)
		must(t, err)
		must(t, l.Ship(soon(t), []byte("ledger")))
		must(t, l.Finish(soon(t), []byte("end")))
		if remove() {
			t.Error("deleted without a desired state")
		}
		if set("keep"); remove() {
			t.Error("deleted against the desired state")
		}
		watching, stop := context.WithCancel(soon(t))
		defer stop()
		began, heard := make(chan bool, 1), make(chan *Entry, 1)
		go func() {
			_ = r.Watch(watching, func(e *Entry) error {
				sendOrDrop(began, true)
				if e.Submission == nil {
					sendOrDrop(heard, e)
				}
				return nil
			})
		}()
		<-began
		if set("delete"); !remove() {
			t.Error("not deleted")
		}
		if e := <-heard; e.ID != "ab12" {
			t.Errorf("%s was deleted", e.ID)
		}
		if e := find(t, r, "ab"); e.ID != "ab34" {
			t.Errorf("found %s", e.ID)
		}
		if list, err := r.List(soon(t)); err != nil || len(list) != 1 {
			t.Errorf("%d sweeps are listed (%v)", len(list), err)
		}
		if err := l.Finish(soon(t), []byte("end")); !errors.Is(err, ErrNotLeader) {
			t.Errorf("a leader of the deleted sweep ends it: %v", err)
		}
		must(t, r.Clear(soon(t)))
		if added, err := r.Submit(soon(t), "ab12", []byte("again")); !added || err != nil {
			t.Errorf("submitted again: %v, %v", added, err)
		}
		if e := find(t, r, "ab12"); e.Desired != nil || e.End != nil || e.Ledger != nil || e.Leader != nil {
			t.Errorf("what was deleted is there again: %+v", e)
		}
	})
}

// A storedValue is an entry of the bucket.
type storedValue struct {
	jetstream.KeyValueEntry
	value []byte
}

func (s storedValue) Key() string        { return "ab12.lead" }
func (s storedValue) Value() []byte      { return s.value }
func (s storedValue) Revision() uint64   { return 1 }
func (s storedValue) Created() time.Time { return time.Time{} }

// The value of a lease may be anything: it is refused, or has a duration.
func FuzzLease(f *testing.F) {
	f.Add([]byte(`{"name":"c","token":"t","duration":15000000000}`))
	f.Add([]byte(`{"name":"c","token":"t","duration":-1}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		if l, err := decodeLeader(storedValue{value: value}); err == nil && (l.Duration <= 0 || l.Epoch == 0) {
			t.Errorf("%+v", l)
		}
	})
}

// A watcher receives submissions after the server was unavailable for longer than Watch waits
// before it reads everything again.
func TestWatchOutage(t *testing.T) {
	t.Parallel()
	s := external(t)
	r := registry(t, s.dial(t, Options{}))
	r.reread = 200 * time.Millisecond
	seen, ended := make(chan string, 1000), make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		ended <- r.Watch(ctx, func(e *Entry) error { seen <- e.ID; return nil })
	}()
	until := func(id string) {
		for receive(t, seen) != id {
		}
	}
	submit := func(id string) {
		_, err := r.Submit(soon(t), id, []byte("submission"))
		must(t, err)
	}
	submit("before")
	until("before")
	s.kill(t)
	time.Sleep(5 * r.reread)
	s.start(t)
	submit("after")
	until("after")
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
}
