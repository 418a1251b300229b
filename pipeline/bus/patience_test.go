package bus

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A call of a party with patience ends where the server is gone, and says what to do; when the server is
// back, so is the connection. Without patience it would wait for as long as its context allows.
func TestPatienceServerGone(t *testing.T) {
	s := external(t)
	c, err := Dial(t.Context(), s.url(), Options{Patience: time.Second})
	conn := connection(t, c, err)
	_, err = conn.PutBytes(t.Context(), []byte("before"))
	must(t, err)
	s.kill(t)
	_, err = conn.PutBytes(t.Context(), []byte("while it is away"))
	refused(t, err, "no answer within 1s", "gave up", "too few servers")
	s.start(t)
	until(t, soon(t), "the server takes content again", func() bool {
		_, err := conn.PutBytes(t.Context(), []byte("after"))
		return err == nil
	})
}

// A server that comes back without its store has no registry: who asks it for something makes it again,
// and who must not waits for a coordinator to do so, and is told of that when his patience ends.
func TestStoreLost(t *testing.T) {
	s := external(t)
	said := make(chan string, 100)
	log := slog.New(slog.NewTextHandler(lines(said), nil))
	conn := s.dial(t, Options{Log: log})
	r, ctx := registry(t, conn), soon(t)
	lose := func() {
		t.Helper()
		s.kill(t)
		must(t, os.RemoveAll(filepath.Join(s.dir, "nats-data")))
		s.start(t)
	}
	for name, do := range map[string]func() error{
		"submit": func() error { _, err := r.Submit(ctx, "x", []byte("submission")); return err },
		"change": func() error {
			return r.Change(ctx, "x", func([]byte) ([]byte, error) { return []byte("wish"), nil })
		},
		"list": func() error { _, err := r.List(ctx); return err },
		"read": func() error { _, err := r.entry(ctx, "x"); return err },
	} {
		lose()
		if err := do(); err != nil {
			t.Errorf("%s after a loss: %v", name, err)
		}
	}
	lose()
	conn.who.Role = Submitter
	done := make(chan error)
	go func() {
		_, err := r.Submit(ctx, "x", []byte("submission"))
		done <- err
	}()
	for !strings.Contains(receive(t, said), "nothing is prepared") {
	}
	registry(t, s.dial(t, Options{}))
	must(t, receive(t, done))
	refused(t, conn.Silent(time.Second, fmt.Errorf("submit: gave up (last: %w)", conn.unprepared())),
		"nothing is prepared on the NATS server", "start `shatter coordinator")
}

// lines passes on what is written.
type lines chan<- string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// A server whose disk is full refuses content with an error that may be over soon. Who has patience is
// told so in the end.
func TestPatienceServerFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(path, []byte("max_payload: 1MB\njetstream {store_dir: data, max_file_store: 1MB}"), 0o600))
	c, err := Dial(t.Context(), externalWith(t, path).url(), Options{Patience: time.Second})
	conn := connection(t, c, err)
	data := make([]byte, 4*partSize)
	_, err = rand.Read(data)
	must(t, err)
	_, err = conn.PutBytes(t.Context(), data)
	refused(t, err, "no room for 1s", "insufficient resources", "raise max_file_store", "shatter forget")
}

// Servers that have lost their majority say so by two interfaces of the client. Waiting may cure it: a
// coordinator that watches the registry is not to take it for lost.
func TestTransient(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("watch: %w", &nats.APIError{Code: 503, ErrorCode: 10008}), true},
		{fmt.Errorf("read: %w", &jetstream.APIError{Code: 503, ErrorCode: 10008}), true},
		{nats.ErrStreamNotFound, false},
		{jetstream.ErrStreamNotFound, false},
	} {
		if got := transient(tt.err); got != tt.want {
			t.Errorf("%v (%T): %v", tt.err, tt.err, got)
		}
	}
}
