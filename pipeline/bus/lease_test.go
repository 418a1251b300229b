package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const shortWait = 300 * time.Millisecond

func TestDeadWorkersJobComesAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		coordinator, worker := dial(Options{AckWait: shortWait}), dial(Options{})
		q := coordinate(t, coordinator, "sweep", 1)
		submit(t, q, "1")
		if l := lease(t, worker); l.AckWait != shortWait || l.Deliveries != 1 {
			t.Errorf("AckWait is %v and deliveries %d, want %v and 1", l.AckWait, l.Deliveries, shortWait)
		}
		worker.nc.Close() // as if killed
		second := lease(t, coordinator)
		if second.ID != "1" || second.Deliveries != 2 {
			t.Errorf("job %q is handed out for the %d. time, want 1 for the 2nd", second.ID, second.Deliveries)
		}
		finish(t, coordinator, second)
		becomes(t, q, "it is done", func(s State) bool { return s.Jobs == 0 && s.Unacked == 0 })
	})
}

// TestExtendedJobStays checks that a slow job with heartbeats stays with its worker for many times
// AckWait.
func TestExtendedJobStays(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		worker := dial(Options{AckWait: shortWait})
		q := coordinate(t, worker, "sweep", 1)
		submit(t, q, "1")
		slow := lease(t, worker)
		elsewhere := make(chan error)
		ctx, cancel := context.WithTimeout(t.Context(), 4*shortWait)
		defer cancel()
		go func() {
			l, err := worker.Lease(ctx)
			if err == nil {
				err = fmt.Errorf("job %s was handed out again", l.ID)
			}
			elsewhere <- err
		}()
		beat := time.NewTicker(shortWait / 6)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				must(t, slow.Extend())
				continue
			case err := <-elsewhere:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			}
			break
		}
		finish(t, worker, slow)
		becomes(t, q, "it is done", func(s State) bool { return s.Jobs == 0 })
	})
}

// TestLateAcknowledgement checks a worker that comes back from a long stall and acknowledges a
// lease that is somebody else's by now: there are two results, no error, and no job left.
func TestLateAcknowledgement(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{AckWait: shortWait})
		q := coordinate(t, conn, "sweep", 1)
		submit(t, q, "1")
		stalled, second := lease(t, conn), lease(t, conn)
		finish(t, conn, stalled)
		must(t, second.Extend())
		finish(t, conn, second)
		must(t, second.Done(t.Context())) // once more
		for range 2 {
			m := next(t, q)
			if m.ID != "1" {
				t.Errorf("result %q, want 1", m.ID)
			}
			must(t, m.Ack())
		}
		becomes(t, q, "nothing is left", func(s State) bool { return s.Jobs+s.Unacked+s.Results == 0 })
	})
}

func TestReleaseAndRefuse(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		q := coordinate(t, conn, "sweep", 1)
		submit(t, q, "1")
		must(t, lease(t, conn).Release())
		second := lease(t, conn)
		const delay = 200 * time.Millisecond
		refused := time.Now()
		must(t, second.Refuse(delay))
		third := lease(t, conn)
		if waited := time.Since(refused); waited < delay {
			t.Errorf("refused job comes again after %v, want %v", waited, delay)
		}
		if second.Deliveries != 2 || third.Deliveries != 3 {
			t.Errorf("deliveries %d and %d, want 2 and 3", second.Deliveries, third.Deliveries)
		}
	})
}

// TestLostRequestsAreMadeAgain checks the two ways in which a slot's request may get lost: the
// server says so, or it says nothing for long.
func TestLostRequestsAreMadeAgain(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *Conn){
		"told": func(t *testing.T, c *Conn) { must(t, c.js.DeleteConsumer(t.Context(), jobStream, workers)) },
		"not told": func(t *testing.T, c *Conn) {
			c.pulls.mu.Lock()
			must(t, c.pulls.sub.Unsubscribe())
			c.pulls.heard = time.Time{}
			c.pulls.mu.Unlock()
			c.pulls.hungry(t.Context(), time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn := embedded(t, Options{})
			q := coordinate(t, conn, "sweep", 1)
			work(t, conn, 1, 10)
			becomes(t, q, "the slot waits", func(s State) bool { return s.Waiting == 1 })
			lose(t, conn)
			submit(t, q, "1")
			if m := next(t, q); m.ID != "1" {
				t.Errorf("result %q, want 1", m.ID)
			}
		})
	}
}

// TestServerKilled kills the server again and again while jobs run. Every job gets its result, some
// twice, and in the end nothing is left.
func TestServerKilled(t *testing.T) {
	s := external(t)
	const jobs, kills = 300, 3
	q := coordinate(t, s.dial(t, Options{AckWait: 2 * time.Second}), "sweep", 4)
	work(t, s.dial(t, Options{}), 4, 2000)
	open := map[string]bool{}
	for _, id := range numbers("", jobs) {
		open[id] = true
	}
	submit(t, q, numbers("", jobs)...)
	for attempt, killed := 0, 0; ; {
		m, err := q.Next(briefly(t))
		if err == nil {
			id, _, _ := strings.Cut(m.ID, ".")
			delete(open, id)
			must(t, m.Ack())
			if killed < kills && len(open) <= jobs*(kills-killed)/(kills+1) {
				killed++
				s.kill(t)
				s.start(t)
			}
			continue
		}
		state, err := q.State(soon(t))
		must(t, err)
		if state.Jobs+state.Results > 0 {
			continue
		}
		if len(open) == 0 {
			return
		}
		attempt++
		for id := range open { // what the kills cost is queued again, as a coordinator does
			submit(t, q, fmt.Sprintf("%s.%d", id, attempt))
		}
	}
}

func briefly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestServerLosesEverything checks that not even the server's disk is needed: what it lost is made
// again, and missing jobs show. The worker may be first to notice: then the streams are there again
// when the coordinator looks, but nothing delivers its results.
func TestServerLosesEverything(t *testing.T) {
	s := external(t)
	conn := s.dial(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	worker := s.dial(t, Options{})
	work(t, worker, 2, 100)
	becomes(t, q, "the slots wait", func(s State) bool { return s.Waiting == 2 })
	s.kill(t)
	must(t, os.RemoveAll(filepath.Join(s.dir, "nats-data")))
	s.start(t)
	must(t, worker.Publish(soon(t), "sweep", "0", nil)) // makes the streams
	becomes(t, q, "the slots wait again", func(s State) bool { return s.Waiting == 2 })
	submit(t, q, "1")
	for _, want := range []string{"0", "1"} {
		if m := next(t, q); m.ID != want {
			t.Errorf("result %q, want %s", m.ID, want)
		}
	}
}

// TestServerAway checks that calls wait for a server that is away as long as their context allows.
func TestServerAway(t *testing.T) {
	s := external(t)
	conn := s.dial(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	submit(t, q, "1")
	l := lease(t, conn)
	s.kill(t)
	over, end := context.WithCancel(t.Context())
	end()
	until(t, soon(t), "the loss is seen", func() bool { return conn.connected(over) != nil })
	if err := l.Extend(); err == nil {
		t.Error("Extend says that it was sent")
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for what, err := range map[string]error{
		"submit":  q.Submit(short, "2", nil),
		"publish": conn.Publish(short, "sweep", "1", nil),
		"done":    l.Done(short),
	} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s without a server gives %v", what, err)
		}
	}
	published := make(chan error)
	go func() { published <- conn.Publish(soon(t), "sweep", "1", []byte("x")) }()
	s.start(t)
	must(t, <-published)
	must(t, l.Done(soon(t)))
	if m := next(t, q); string(m.Data) != "x" {
		t.Errorf("result is %q, want x", m.Data)
	}
	// A server that had not written down the lease takes no acknowledgement for it: the job comes
	// again.
	work(t, conn, 1, 1)
	becomes(t, q, "the job is done", func(s State) bool { return s.Jobs == 0 })
}

// TestPermissions checks that the permissions which the shipped configuration proposes are enough,
// and needed to get in.
func TestPermissions(t *testing.T) {
	shipped, err := os.ReadFile("../../deploy/nats.conf")
	must(t, err)
	text := string(shipped)
	from := strings.Index(text, "# authorization {")
	to := from + strings.Index(text[from:], "\n# }")
	text = text[:from] + strings.ReplaceAll(text[from:to], "\n# ", "\n")[2:] + "\n}" + text[to+len("\n# }"):]
	conf := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(conf, []byte(text), 0o600))
	t.Setenv("SHATTER_PASSWORD", "secret")
	s := externalWith(t, conf)
	_, err = Dial(t.Context(), s.url(), Options{})
	refused(t, err, "access refused", s.url())
	_, err = Dial(t.Context(), "nats://shatter:wrong@127.0.0.1:"+s.port, Options{})
	refused(t, err, "access refused", "shatter:xxxxx@")

	conn, err := Dial(t.Context(), "nats://shatter:secret@127.0.0.1:"+s.port, Options{})
	connection(t, conn, err)
	q := coordinate(t, conn, "sweep", 1)
	leased := make(chan *Lease)
	go func() {
		l, err := conn.Lease(soon(t))
		if err != nil {
			t.Error(err)
		}
		leased <- l
	}()
	<-q.Hungry()
	submit(t, q, "1")
	finish(t, conn, <-leased)
	must(t, next(t, q).Ack())
	file, digest := someFile(t, 3*partSize)
	must(t, conn.PutFile(t.Context(), digest, file))
	_, err = conn.FetchFile(t.Context(), digest, t.TempDir())
	must(t, err)
	must(t, q.Close(soon(t)))
	if err := conn.nc.LastError(); err != nil {
		t.Errorf("a permission is missing: %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	start := func(conf string) string {
		path := filepath.Join(t.TempDir(), "nats.conf")
		must(t, os.WriteFile(path, []byte(conf), 0o600))
		return externalWith(t, path).url()
	}
	for _, test := range []struct {
		name, url string
		options   Options
		want      []string
	}{
		{"nobody there", "nats://127.0.0.1:1", Options{},
			[]string{"no NATS server at nats://127.0.0.1:1: connection refused", "nats-server -c", "--server"}},
		{"password", "nats://me:hidden@127.0.0.1:1", Options{}, []string{"me:xxxxx@127.0.0.1:1"}},
		{"token", "nats://hidden@127.0.0.1:1", Options{}, []string{"xxxxx@127.0.0.1:1"}},
		{"no host", "nats://no-such-host.invalid:4222", Options{}, []string{"no NATS server", "no-such-host.invalid"}},
		{"no URL", "nats://[::1", Options{}, []string{"nats://[::1", "check the URL"}},
		{"no credentials", "nats://127.0.0.1:1", Options{Credentials: "/no/such/file"}, []string{"/no/such/file"}},
		{"no JetStream", start("max_payload: 1MB"), Options{}, []string{"no JetStream", "-js"}},
		{"small messages", start("jetstream {}\nmax_payload: 512KB"), Options{},
			[]string{"max_payload is 524288 bytes, 1048576 are needed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Dial(t.Context(), test.url, test.options)
			refused(t, err, test.want...)
		})
	}
}

func refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	var connect *ConnectError
	if !errors.As(err, &connect) {
		t.Fatalf("error is %T (%v), want a ConnectError", err, err)
	}
	wants(t, err, parts...)
}
