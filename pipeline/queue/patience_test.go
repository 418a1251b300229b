package queue

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A call of a party with patience ends where the server is gone, and says what to do; when the server is
// back, so is the connection. Without patience it would wait for as long as its context allows.
func TestPatienceServerGone(t *testing.T) {
	t.Parallel()
	s := external(t)
	c, err := Dial(t.Context(), s.url(), Options{Patience: time.Second})
	conn := connection(t, c, err)
	_, err = conn.Files.PutBytes(t.Context(), []byte("before"))
	must(t, err)
	s.kill(t)
	_, err = conn.Files.PutBytes(t.Context(), []byte("while it is away"))
	refused(t, err, "no answer within 1s", "gave up", "too few servers")
	s.start(t)
	until(t, soon(t), "the server takes content again", func() bool {
		_, err := conn.Files.PutBytes(t.Context(), []byte("after"))
		return err == nil
	})
}

// A server whose disk is full refuses content with an error that may be over soon. Who has patience is
// told so in the end.
func TestPatienceServerFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(path, []byte("max_payload: 1MB\njetstream {store_dir: data, max_file_store: 1MB}"), 0o600))
	c, err := Dial(t.Context(), externalWith(t, path).url(), Options{Patience: time.Second})
	conn := connection(t, c, err)
	data := make([]byte, 4*chunkSize)
	_, err = rand.Read(data)
	must(t, err)
	_, err = conn.Files.PutBytes(t.Context(), data)
	refused(t, err, "no room for 1s", "insufficient resources", "raise max_file_store", "forget sweeps")
}

// Servers that have lost their majority say so by two interfaces of the client. Waiting may cure it: a
// coordinator that watches the registry is not to take it for lost.
func TestTransient(t *testing.T) {
	t.Parallel()
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
