package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// someFile writes a file of size bytes.
func someFile(t testing.TB, size int) (path, digest string) {
	t.Helper()
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(data)
	path = filepath.Join(t.TempDir(), "data.csv")
	must(t, os.WriteFile(path, data, 0o600))
	sum := sha256.Sum256(data)
	return path, hex.EncodeToString(sum[:])
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s := external(t)
	coordinator, worker := s.dial(t, Options{}), s.dial(t, Options{})
	for _, size := range []int{0, 1, partSize, 2*partSize + 1, 20 * partSize} {
		path, digest := someFile(t, size)
		must(t, coordinator.PutFile(t.Context(), digest, path))
		dir := filepath.Join(t.TempDir(), "cache")
		got, err := worker.FetchFile(t.Context(), digest, dir)
		must(t, err)
		if got != filepath.Join(dir, digest) {
			t.Errorf("file is at %q", got)
		}
		must(t, verify(got, digest))
		onlyFile(t, dir, digest)
		must(t, os.Remove(got))
		_, err = worker.FetchFile(t.Context(), digest, dir)
		must(t, err)
	}
}

func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("folder has %v, want %s only", entries, name)
	}
}

func TestFilesEmbedded(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	path, digest := someFile(t, 100)
	_, err := conn.FetchFile(t.Context(), digest, t.TempDir())
	wants(t, err, digest, "not on the server")
	must(t, conn.PutFile(t.Context(), digest, path))
	if got, err := conn.FetchFile(t.Context(), digest, t.TempDir()); err != nil || got != path {
		t.Errorf("file is at %q (%v), want the original %q", got, err, path)
	}
	other, _ := someFile(t, 99)
	wants(t, conn.PutFile(t.Context(), digest, other), other, digest, "changed")
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	s := external(t)
	conn := s.dial(t, Options{})
	path, digest := someFile(t, 3*partSize)
	dir := t.TempDir()

	_, err := conn.FetchFile(t.Context(), digest, dir)
	wants(t, err, digest, "not on the server")
	for _, bad := range []string{"", "abc", "../../etc/passwd", digest[:63] + "G", digest[:62] + "AB"} {
		wants(t, conn.PutFile(t.Context(), bad, path), "64 lower case hex digits")
		_, err := conn.FetchFile(t.Context(), bad, dir)
		wants(t, err, "64 lower case hex digits")
	}
	wants(t, conn.PutFile(t.Context(), digest, filepath.Join(dir, "none")), "none", "no such file")

	other := hex.EncodeToString(make([]byte, 32))
	wants(t, conn.PutFile(t.Context(), other, path), path, "has SHA-256 "+digest, other)
	_, err = conn.FetchFile(t.Context(), other, dir)
	wants(t, err, "not on the server")

}

func TestFetchCancelled(t *testing.T) {
	t.Parallel()
	s := external(t)
	conn := s.dial(t, Options{})
	path, digest := someFile(t, 10*partSize)
	must(t, conn.PutFile(t.Context(), digest, path))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := conn.FetchFile(ctx, digest, t.TempDir())
	wants(t, err, "canceled")
	wants(t, conn.PutFile(ctx, hex.EncodeToString(make([]byte, 32)), path), "canceled")
}
