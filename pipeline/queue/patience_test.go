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

// With patience, a call ends if the server has disappeared, and its error contains a remedy; when
// the server is back, so is the connection. Without patience it would wait until its context ends.
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

// A server with a full disk refuses content with a transient error. A call with patience finally
// returns it.
func TestPatienceServerFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(path, []byte("max_payload: 1MB\njetstream {store_dir: data, max_file_store: 1MB}"), 0o600))
	c, err := Dial(t.Context(), externalWith(t, path).url(), Options{Patience: 4 * time.Second})
	conn := connection(t, c, err)
	data := make([]byte, 4*chunkSize)
	_, err = rand.Read(data)
	must(t, err)
	_, err = conn.Files.PutBytes(t.Context(), data)
	refused(t, err, "no room for 4s", "insufficient resources", "raise max_file_store", "delete sweeps")
}

// Servers that have lost their majority report it through two interfaces of the client. The error
// is transient: a coordinator that watches the registry must not treat it as permanent.
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
