package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/shatterlab/shatter/pipeline/testkit"
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

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

// put stores a file whose content should have the given digest.
func put(ctx context.Context, c *Conn, digest, path string) error {
	found, err := c.Files.Put(ctx, path)
	if err == nil && found != digest {
		err = fmt.Errorf("it is put under %s", found)
	}
	return err
}

// fetched fetches content into a separate folder, and checks it.
func fetched(t *testing.T, c *Conn, digest string) {
	t.Helper()
	fc := FileCache{Dir: filepath.Join(t.TempDir(), "cache")}
	path := cachedFile(t, fc, c, digest)
	entries, err := os.ReadDir(fc.Dir)
	must(t, err)
	if len(entries) != 1 || path != filepath.Join(fc.Dir, digest) {
		t.Errorf("the file is at %q, and the folder has %v", path, entries)
	}
}

func TestFiles(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		puts, gets := dial(Options{}), dial(Options{})
		for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 20 << 20} {
			path, digest := someFile(t, size)
			data := mustRead(t, path)
			must(t, put(t.Context(), puts, digest, path))
			fetched(t, gets, digest)
			found, err := puts.Files.PutBytes(t.Context(), data)
			must(t, err)
			got, err := gets.Files.FetchBytes(t.Context(), digest)
			must(t, err)
			if found != digest || !bytes.Equal(got, data) {
				t.Errorf("%d bytes came back as %d others", len(data), len(got))
			}
			must(t, gets.Files.Remove(t.Context(), digest))
			must(t, gets.Files.Remove(t.Context(), digest))
			if left := subjectsOf(t, gets); len(left) > 0 {
				t.Errorf("after it was removed: %v", left)
			}
		}
		_, digest := someFile(t, 100)
		_, err := gets.Files.FetchBytes(t.Context(), digest)
		wants(t, err, digest, "not on the server", "submit or run")
	})
}

// subjectsOf returns the subjects of all chunks and the numbers of their messages.
func subjectsOf(t *testing.T, c *Conn) map[string]uint64 {
	t.Helper()
	all, err := c.Files.subjects(t.Context(), "*")
	must(t, err)
	return all
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	path, digest := someFile(t, chunkSize+1)
	for _, bad := range []string{"", "abc", "../../etc/passwd", digest[:63] + "G", digest[:62] + "AB"} {
		_, err := (&FileCache{Dir: t.TempDir()}).Path(t.Context(), conn.Files, bad)
		wants(t, err, "64 lower case hex digits")
	}
	_, err := conn.Files.Put(t.Context(), filepath.Join(t.TempDir(), "none"))
	wants(t, err, "none", "no such file")
	other := hex.EncodeToString(make([]byte, 32))
	wants(t, conn.Files.put(t.Context(), other, source{chunkSize + 1, func() (io.ReadCloser, error) {
		return os.Open(path)
	}}), "has SHA-256 "+digest, other) // the file has changed since its digest was computed
	_, err = conn.Files.FetchBytes(t.Context(), other)
	wants(t, err, "damaged on the server")
	must(t, conn.Files.Remove(t.Context(), other))
	_, err = conn.Files.PutBytes(t.Context(), make([]byte, MaxBytes+1))
	wants(t, err, "as a file")

	must(t, put(t.Context(), conn, digest, path))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = conn.Files.FetchBytes(ctx, digest)
	wants(t, err, "canceled")
	wants(t, put(ctx, conn, other, path), "canceled")
}

// A transfer continues after a restart of the server.
func TestServerRestartsDuringTransfer(t *testing.T) {
	t.Parallel()
	s := external(t)
	c := s.dial(t, Options{})
	path, digest := someFile(t, 6*chunkSize)
	data, restarts, read := mustRead(t, path), 0, 0
	restart := func(p []byte) {
		if read += len(p); read > 3*chunkSize && restarts == 0 {
			restarts++
			s.kill(t)
			s.start(t)
		}
	}
	must(t, c.Files.put(soon(t), digest, source{int64(len(data)), func() (io.ReadCloser, error) {
		return io.NopCloser(io.TeeReader(bytes.NewReader(data), writer(restart))), nil
	}}))
	if read != len(data) || restarts != 1 {
		t.Errorf("%d of %d bytes were read, with %d restarts", read, len(data), restarts)
	}
	var got bytes.Buffer
	read, restarts = 0, 0
	must(t, c.Files.Fetch(soon(t), digest, io.MultiWriter(&got, writer(restart))))
	if restarts != 1 || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d bytes came, with %d restarts", got.Len(), restarts)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// faults lists possible faults of content with three chunks on a server.
var faults = []struct {
	name string
	seen bool // putting the content again replaces it
	do   func(t *testing.T, c *Conn, digest string)
}{
	{"chunk replaced", false, func(t *testing.T, c *Conn, digest string) {
		raw(t, c, chunkSubject(digest, 1), strings.Repeat("x", chunkSize))
	}},
	{"chunk truncated", false, func(t *testing.T, c *Conn, digest string) {
		raw(t, c, chunkSubject(digest, 1), "x")
	}},
	{"chunk missing", true, func(t *testing.T, c *Conn, digest string) {
		must(t, c.streams.purge(t.Context(), fileStream, chunkSubject(digest, 1)))
	}},
	{"last chunk missing", true, func(t *testing.T, c *Conn, digest string) {
		must(t, c.streams.purge(t.Context(), fileStream, chunkSubject(digest, 2)))
	}},
}

func raw(t *testing.T, c *Conn, subject, data string) {
	t.Helper()
	_, err := c.js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: []byte(data)})
	must(t, err)
}

// Damaged content is refused, and other content stays readable. Putting it again replaces it if the
// damage is recognizable without reading it.
func TestDamagedOnServer(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	s := external(t)
	owner, worker := s.dial(t, Options{}), s.dial(t, Options{})
	bystander, err := owner.Files.PutBytes(t.Context(), []byte("bystander"))
	must(t, err)
	path, digest := someFile(t, 2*chunkSize+1)
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			must(t, put(soon(t), owner, digest, path))
			fault.do(t, owner, digest)
			_, err := worker.Files.FetchBytes(soon(t), digest)
			wants(t, err, digest, "damaged", "nats stream purge")
			if !fault.seen {
				must(t, owner.Files.Remove(soon(t), digest))
			}
			must(t, put(soon(t), owner, digest, path))
			fetched(t, worker, digest)
			fetched(t, worker, bystander)
		})
	}
}

// After the server has lost its store, the content of a process is put again, except removed
// content and missing files.
func TestRestore(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	s := external(t)
	c := s.dial(t, Options{})
	path, file := someFile(t, chunkSize+1)
	lost, gone := someFile(t, 10)
	must(t, put(t.Context(), c, file, path))
	must(t, put(t.Context(), c, gone, lost))
	data, err := c.Files.PutBytes(t.Context(), []byte("data"))
	must(t, err)
	removed, err := c.Files.PutBytes(t.Context(), []byte("removed"))
	must(t, err)
	must(t, c.Files.Remove(t.Context(), removed))
	must(t, c.js.DeleteStream(t.Context(), fileStream))
	must(t, os.Remove(lost))
	wants(t, c.Files.Restore(soon(t)), gone, "no such file")
	fetched(t, c, file)
	fetched(t, c, data)
	for _, digest := range []string{removed, gone} {
		if _, err := c.Files.FetchBytes(t.Context(), digest); !errors.Is(err, ErrNotStored) {
			t.Errorf("%s: %v", digest, err)
		}
	}
	before := subjectsOf(t, c)
	must(t, put(t.Context(), c, file, path))
	if after := subjectsOf(t, c); len(after) != len(before) {
		t.Errorf("what was there was sent again: %v, then %v", before, after)
	}
}

// Several processes may put and fetch the same content concurrently, even into one folder.
func TestFilesAtOnce(t *testing.T) {
	t.Parallel()
	s := external(t)
	path, digest := someFile(t, 5*chunkSize+1)
	fc := FileCache{Dir: t.TempDir()}
	var all sync.WaitGroup
	for range 3 {
		c := s.dial(t, Options{})
		all.Go(func() {
			if err := put(soon(t), c, digest, path); err != nil {
				t.Error(err)
				return
			}
			path, err := fc.Path(soon(t), c.Files, digest)
			if err != nil || verify(path, digest) != nil {
				t.Error(err, verify(path, digest))
			}
		})
	}
	all.Wait()
	c := s.dial(t, Options{})
	_, err := c.Files.RemoveUnnamed(soon(t), func(string) bool { return true }, 0)
	if left := subjectsOf(t, c); err != nil || len(left) != 6 {
		t.Errorf("error %v, and these subjects are left: %v", err, left)
	}
	fetched(t, c, digest)
}

// Unnamed content is removed once it is old enough, with the chunks of unfinished uploads. Content
// that is put at the same time stays complete.
func TestRemoveUnnamed(t *testing.T) {
	t.Parallel()
	c := embedded(t, Options{})
	removed := func(idle time.Duration, keep string) int {
		t.Helper()
		n, err := c.Files.RemoveUnnamed(soon(t), func(digest string) bool { return digest == keep }, idle)
		must(t, err)
		return n
	}
	if n := removed(0, ""); n != 0 {
		t.Errorf("%d files were removed from an empty store", n)
	}
	path, named := someFile(t, chunkSize+1)
	must(t, put(t.Context(), c, named, path))
	_, err := c.Files.PutBytes(t.Context(), []byte("unnamed"))
	must(t, err)
	raw(t, c, chunkSubject("unfinished", 3), "data")
	raw(t, c, fileSubject+"foreign.x", "{")
	before := len(subjectsOf(t, c))
	if n := removed(time.Hour, named); n != 0 || len(subjectsOf(t, c)) != before {
		t.Errorf("%d young files were removed; left: %v", n, subjectsOf(t, c))
	}
	if n := removed(0, named); n != 3 || len(subjectsOf(t, c)) != 2 {
		t.Errorf("%d files were removed; left: %v", n, subjectsOf(t, c))
	}
	fetched(t, c, named)
}
