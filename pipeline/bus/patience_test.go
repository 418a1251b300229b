package bus

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"
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
