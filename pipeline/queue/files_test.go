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
	"github.com/nats-io/nats.go/jetstream"
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

// fetched fetches content to a folder of its own, and checks it.
func fetched(t *testing.T, c *Conn, digest string) {
	t.Helper()
	fc := FileCache{Dir: filepath.Join(t.TempDir(), "cache")}
	f, err := fc.Open(soon(t), c, digest)
	must(t, err)
	defer f.Close()
	must(t, verify(f.Path, digest))
	entries, err := os.ReadDir(fc.Dir)
	must(t, err)
	if len(entries) != 1 || f.Path != filepath.Join(fc.Dir, digest) {
		t.Errorf("the file is at %q, and the folder has %v", f.Path, entries)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		puts, gets := dial(Options{}), dial(Options{})
		for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 20 << 20} {
			path, digest := someFile(t, size)
			data := mustRead(t, path)
			must(t, puts.PutFile(t.Context(), digest, path))
			fetched(t, gets, digest)
			found, err := puts.PutBytes(t.Context(), data)
			must(t, err)
			got, err := gets.FetchBytes(t.Context(), digest)
			must(t, err)
			if found != digest || !bytes.Equal(got, data) {
				t.Errorf("%d bytes came back as %d others", len(data), len(got))
			}
			store, err := gets.js.ObjectStore(t.Context(), fileBucket) // other clients read it too
			must(t, err)
			got, err = store.GetBytes(soon(t), digest)
			must(t, err)
			if !bytes.Equal(got, data) {
				t.Errorf("another client gets %d other bytes", len(got))
			}
			must(t, gets.Remove(t.Context(), digest))
			must(t, gets.Remove(t.Context(), digest))
			if _, err := gets.find(t.Context(), digest); !errors.Is(err, ErrNotStored) || len(subjectsOf(t, gets)) > 0 {
				t.Errorf("after it was removed: %v, %v", err, subjectsOf(t, gets))
			}
		}
		path, digest := someFile(t, 100)
		found, err := puts.PutPrefix(t.Context(), path, 20)
		must(t, err)
		if got, err := gets.FetchBytes(t.Context(), found); err != nil || !bytes.Equal(got, mustRead(t, path)[:20]) {
			t.Errorf("a prefix came back as %d bytes, %v", len(got), err)
		}
		if _, err := puts.PutPrefix(t.Context(), path, 101); err == nil {
			t.Error("a prefix beyond the end was put")
		}
		_, err = gets.FetchBytes(t.Context(), digest)
		wants(t, err, digest, "not on the server", "submit or run")
	})
}

// subjectsOf returns the subjects of the bucket and the numbers of their messages.
func subjectsOf(t *testing.T, c *Conn) map[string]uint64 {
	t.Helper()
	all, err := c.subjects(t.Context(), ">")
	must(t, err)
	return all
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	path, digest := someFile(t, chunkSize+1)
	for _, bad := range []string{"", "abc", "../../etc/passwd", digest[:63] + "G", digest[:62] + "AB"} {
		wants(t, conn.PutFile(t.Context(), bad, path), "64 lower case hex digits")
		_, err := (&FileCache{Dir: t.TempDir()}).Open(t.Context(), conn, bad)
		wants(t, err, "64 lower case hex digits")
	}
	wants(t, conn.PutFile(t.Context(), digest, filepath.Join(t.TempDir(), "none")), "none", "no such file")
	other := hex.EncodeToString(make([]byte, 32))
	wants(t, conn.PutFile(t.Context(), other, path), path, "has SHA-256 "+digest, other)
	_, err := conn.find(t.Context(), other)
	wants(t, err, "not on the server")
	_, err = conn.PutBytes(t.Context(), make([]byte, MaxBytes+1))
	wants(t, err, "as a file")

	must(t, conn.PutFile(t.Context(), digest, path))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = conn.FetchBytes(ctx, digest)
	wants(t, err, "canceled")
	wants(t, conn.PutFile(ctx, other, path), "canceled")
}

// A transfer goes on where a restart of the server has cut it.
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
	must(t, c.put(soon(t), digest, func() (io.ReadCloser, int64, error) {
		return io.NopCloser(io.TeeReader(bytes.NewReader(data), writer(restart))), int64(len(data)), nil
	}))
	if read != len(data) || restarts != 1 {
		t.Errorf("%d of %d bytes were read, with %d restarts", read, len(data), restarts)
	}
	var got bytes.Buffer
	begun := 0
	read, restarts = 0, 0
	must(t, c.fetch(soon(t), digest, func(uint64) (io.Writer, error) {
		begun++
		return io.MultiWriter(&got, writer(restart)), nil
	}))
	if begun != 1 || restarts != 1 || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d bytes came in %d attempts, with %d restarts", got.Len(), begun, restarts)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// faults lists what may happen to content of three chunks on a server.
var faults = []struct {
	name string
	do   func(t *testing.T, c *Conn, s jetstream.Stream, o object)
}{
	{"chunk too many", func(t *testing.T, c *Conn, _ jetstream.Stream, o object) {
		raw(t, c, chunkSubject+o.NUID, "more")
		o.Size += 4
		must(t, c.describe(t.Context(), o, jetstream.WithExpectLastSequencePerSubject(o.seq)))
	}},
	{"chunks replaced", func(t *testing.T, c *Conn, s jetstream.Stream, o object) {
		must(t, s.Purge(t.Context(), jetstream.WithPurgeSubject(chunkSubject+o.NUID)))
		raw(t, c, chunkSubject+o.NUID, strings.Repeat("x", chunkSize))
		raw(t, c, chunkSubject+o.NUID, strings.Repeat("y", chunkSize+1))
	}},
	{"chunks missing", func(t *testing.T, _ *Conn, s jetstream.Stream, o object) {
		must(t, s.Purge(t.Context(), jetstream.WithPurgeSubject(chunkSubject+o.NUID)))
	}},
	{"description is no JSON", func(t *testing.T, c *Conn, _ jetstream.Stream, o object) {
		raw(t, c, metaOf(o.Name), "{")
	}},
	{"description names all uploads", func(t *testing.T, c *Conn, _ jetstream.Stream, o object) {
		raw(t, c, metaOf(o.Name), `{"nuid":">","size":1}`)
	}},
	{"other content", func(t *testing.T, c *Conn, _ jetstream.Stream, o object) {
		_, err := c.PutBytes(t.Context(), []byte("other"))
		must(t, err)
		sum := sha256.Sum256([]byte("other"))
		other, err := c.find(t.Context(), hex.EncodeToString(sum[:]))
		must(t, err)
		raw(t, c, metaOf(o.Name), fmt.Sprintf(`{"nuid":%q,"size":5}`, other.NUID))
	}},
}

func raw(t *testing.T, c *Conn, subject, data string) {
	t.Helper()
	_, err := c.js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: []byte(data)})
	must(t, err)
}

// Who has limited rights gets an error for damaged content. Others replace it if they have it, and nothing else
// gets lost.
func TestDamagedOnServer(t *testing.T) {
	t.Parallel()
	s := external(t)
	has, worker, coordinator := s.dial(t, Options{}), s.dial(t, Options{}), s.dial(t, Options{})
	submitter := s.dial(t, Options{})
	worker.who.Role, submitter.who.Role = Worker, Submitter
	bystander, err := has.PutBytes(t.Context(), []byte("bystander"))
	must(t, err)
	path, digest := someFile(t, 2*chunkSize+1)
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			must(t, has.PutFile(soon(t), digest, path))
			stream, err := has.setup.stream(t.Context(), has, fileStream)
			must(t, err)
			o, err := has.find(t.Context(), digest)
			must(t, err)
			fault.do(t, has, stream, o)
			_, err = worker.FetchBytes(soon(t), digest)
			wants(t, err, digest, "damaged", "nats stream purge")
			if fault.name == "chunks missing" { // whoever submits it again replaces it
				must(t, submitter.PutFile(soon(t), digest, path))
				fetched(t, worker, digest)
			}
			got, err := has.FetchBytes(soon(t), digest)
			if err != nil || !bytes.Equal(got, mustRead(t, path)) {
				t.Errorf("%d bytes came back, %v", len(got), err)
			}
			fetched(t, worker, digest)
			fetched(t, worker, bystander)
		})
	}
	raw(t, has, metaOf(digest), "{")
	_, err = coordinator.FetchBytes(soon(t), digest) // which does not have it
	wants(t, err, digest, "not on the server")
	must(t, has.Restore(soon(t)))
	fetched(t, worker, digest)
}

// What a process has put is there again after the server has lost its store, but for what was removed and for
// files that are gone.
func TestRestore(t *testing.T) {
	t.Parallel()
	s := external(t)
	c := s.dial(t, Options{})
	path, file := someFile(t, chunkSize+1)
	lost, gone := someFile(t, 10)
	must(t, c.PutFile(t.Context(), file, path))
	must(t, c.PutFile(t.Context(), gone, lost))
	data, err := c.PutBytes(t.Context(), []byte("data"))
	must(t, err)
	removed, err := c.PutBytes(t.Context(), []byte("removed"))
	must(t, err)
	must(t, c.Remove(t.Context(), removed))
	must(t, c.js.DeleteStream(t.Context(), fileStream))
	must(t, os.Remove(lost))
	wants(t, c.Restore(soon(t)), gone, "no such file")
	fetched(t, c, file)
	fetched(t, c, data)
	for _, digest := range []string{removed, gone} {
		if _, err := c.find(t.Context(), digest); !errors.Is(err, ErrNotStored) {
			t.Errorf("%s: %v", digest, err)
		}
	}
	before := subjectsOf(t, c)
	must(t, c.PutFile(t.Context(), file, path))
	if after := subjectsOf(t, c); len(after) != len(before) {
		t.Errorf("what was there was sent again: %v, then %v", before, after)
	}
}

// Several processes may put and fetch the same at once, into one folder too.
func TestFilesAtOnce(t *testing.T) {
	t.Parallel()
	s := external(t)
	path, digest := someFile(t, 5*chunkSize+1)
	fc := FileCache{Dir: t.TempDir()}
	var all sync.WaitGroup
	for range 3 {
		c := s.dial(t, Options{})
		all.Go(func() {
			if err := c.PutFile(soon(t), digest, path); err != nil {
				t.Error(err)
				return
			}
			f, err := fc.Open(soon(t), c, digest)
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(verify(f.Path, digest), f.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c := s.dial(t, Options{})
	n, err := c.RemoveUnnamed(soon(t), func(string) bool { return true }, 0)
	if left := subjectsOf(t, c); err != nil || n != 0 || len(left) != 2 {
		t.Errorf("%d objects were removed (%v), and these subjects are left: %v", n, err, left)
	}
	fetched(t, c, digest)
}

// Unnamed content goes once it is old enough, with the chunks of uploads that were not finished. Content that
// is put at the same time stays whole.
func TestRemoveUnnamed(t *testing.T) {
	t.Parallel()
	c := embedded(t, Options{})
	removed := func(idle time.Duration, keep string) int {
		t.Helper()
		n, err := c.RemoveUnnamed(soon(t), func(digest string) bool { return digest == keep }, idle)
		must(t, err)
		return n
	}
	if n := removed(0, ""); n != 0 {
		t.Errorf("%d objects were removed from an empty bucket", n)
	}
	path, named := someFile(t, chunkSize+1)
	must(t, c.PutFile(t.Context(), named, path))
	_, err := c.PutBytes(t.Context(), []byte("unnamed"))
	must(t, err)
	raw(t, c, chunkSubject+"unfinished", "data")
	raw(t, c, metaSubject+"bm90IGEgZGlnZXN0", "{")
	raw(t, c, metaSubject+"!", "{")
	before := len(subjectsOf(t, c))
	if n := removed(time.Hour, named); n != 0 || len(subjectsOf(t, c)) != before {
		t.Errorf("%d young objects were removed; left: %v", n, subjectsOf(t, c))
	}
	if n := removed(0, named); n != 2 || len(subjectsOf(t, c)) != 2 {
		t.Errorf("%d objects were removed; left: %v", n, subjectsOf(t, c))
	}
	fetched(t, c, named)

	o, err := c.find(t.Context(), named)
	must(t, err)
	must(t, c.describe(t.Context(), o, jetstream.WithExpectLastSequencePerSubject(o.seq))) // as one that puts it does
	if gone, err := c.evict(t.Context(), o); gone || err != nil {
		t.Errorf("removed although it was put again: %v, %v", gone, err)
	}
	fetched(t, c, named)
	if o, err = c.find(t.Context(), named); err != nil {
		t.Fatal(err)
	}
	gone, err := c.evict(t.Context(), o)
	again := c.describe(t.Context(), o, jetstream.WithExpectLastSequencePerSubject(o.seq))
	if !gone || err != nil || !conflict(again) {
		t.Errorf("removed: %v, %v; then put again: %v", gone, err, again)
	}
	must(t, c.PutFile(t.Context(), named, path))
	fetched(t, c, named)
}

// A chunk is stored once and in its place whatever answers get lost.
func TestSendChunkAgain(t *testing.T) {
	t.Parallel()
	c := embedded(t, Options{})
	first, err := c.sendChunk(t.Context(), "upload", []byte("1"), 0)
	must(t, err)
	again, err := c.sendChunk(t.Context(), "upload", []byte("1"), 0)
	must(t, err)
	second, err := c.sendChunk(t.Context(), "upload", []byte("2"), first)
	must(t, err)
	if n := subjectsOf(t, c)[chunkSubject+"upload"]; n != 2 || first != again || second <= first {
		t.Errorf("%d chunks with the numbers %d, %d, %d", n, first, again, second)
	}
	must(t, c.js.DeleteStream(t.Context(), fileStream))
	if _, err := c.sendChunk(soon(t), "upload", []byte("3"), second); !errors.Is(err, errLost) {
		t.Errorf("error %v after the chunks were lost", err)
	}
}
