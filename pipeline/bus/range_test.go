package bus

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A range of a file that grows is content like any other: it is put again when it is missing on the
// server.
func TestPutRange(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		c, other := dial(Options{}), dial(Options{})
		whole := bytes.Repeat([]byte("0123456789"), 100_000)
		path := filepath.Join(t.TempDir(), "file")
		for _, owner := range []string{"", "ann"} {
			must(t, os.WriteFile(path, whole[:700_000], 0o600))
			digest, err := c.PutRange(soon(t), owner, path, 1234, 600_000)
			must(t, err)
			must(t, os.WriteFile(path, whole, 0o600))
			if c.local == nil {
				must(t, c.purge(soon(t), privateOf(owner, digest)))
			}
			got, err := other.FetchPrivate(soon(t), owner, digest)
			if err != nil || !bytes.Equal(got, whole[1234:601_234]) {
				t.Errorf("fetched %d bytes: %v", len(got), err)
			}
		}
		if _, err := c.PutRange(soon(t), "", path, 999_999, 2); err == nil {
			t.Error("put a range beyond the end")
		}
	})
}
