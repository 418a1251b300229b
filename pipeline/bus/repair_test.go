package bus

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// faults lists what may happen to the content of five parts on a server, and what is left of it.
var faults = []struct {
	name string
	do   func(t *testing.T, c *Conn, digest string)
}{
	{"store wiped", func(t *testing.T, c *Conn, _ string) {
		must(t, c.js.DeleteStream(t.Context(), fileStream))
	}},
	{"one part missing", func(t *testing.T, c *Conn, digest string) {
		must(t, c.discardLast(t.Context(), partSubject(digest, 2)))
	}},
	{"one part damaged", func(t *testing.T, c *Conn, digest string) {
		must(t, c.storeFile(t.Context(), partSubject(digest, 1), []byte("damaged")))
	}},
	{"first and last part damaged", func(t *testing.T, c *Conn, digest string) {
		must(t, c.storeFile(t.Context(), partSubject(digest, 0), nil))
		must(t, c.storeFile(t.Context(), partSubject(digest, 4), make([]byte, partSize)))
	}},
	{"manifest missing", func(t *testing.T, c *Conn, digest string) {
		must(t, c.discardLast(t.Context(), fileSubject+digest))
	}},
	{"manifest damaged", func(t *testing.T, c *Conn, digest string) {
		must(t, c.storeFile(t.Context(), fileSubject+digest, []byte(`{"size":-1}`)))
	}},
	{"manifest of an older version", func(t *testing.T, c *Conn, digest string) {
		must(t, c.storeFile(t.Context(), fileSubject+digest, []byte(`{"size":2097153,"part":524288}`)))
	}},
	{"manifest of another file", func(t *testing.T, c *Conn, digest string) {
		path, other := someFile(t, 3)
		must(t, c.PutFile(t.Context(), other, path))
		m, err := c.load(t.Context(), fileSubject+other)
		must(t, err)
		must(t, c.storeFile(t.Context(), fileSubject+digest, m.data))
		must(t, c.storeFile(t.Context(), partSubject(digest, 0), []byte(mustRead(t, path))))
	}},
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// Whoever has put a file puts what is missing or damaged of it again while somebody fetches it.
func TestRepairWhileFetching(t *testing.T) {
	t.Parallel()
	s := external(t)
	has, wants := s.dial(t, Options{}), s.dial(t, Options{})
	path, digest := someFile(t, 4*partSize+1)
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			must(t, has.PutFile(soon(t), digest, path))
			fault.do(t, has, digest)
			got, err := wants.FetchFile(soon(t), digest, t.TempDir())
			must(t, err)
			must(t, verify(got, digest))
			wants.held.remove(digest)
		})
	}
}

// A fetch goes on where a killed process has left it, and believes none of its bytes unseen.
func TestFetchResumed(t *testing.T) {
	t.Parallel()
	c := external(t).dial(t, Options{})
	path, digest := someFile(t, 5*partSize)
	must(t, c.PutFile(t.Context(), digest, path))
	dir := t.TempDir()
	left := []byte(mustRead(t, path))
	left[partSize] ^= 1
	must(t, os.WriteFile(filepath.Join(dir, digest+".part"), append(left, "more"...), 0o400))
	for i := range int64(5) { // the server lacks what is there already
		if i != 1 {
			must(t, c.discardLast(t.Context(), partSubject(digest, i)))
		}
	}
	c.held.remove(digest)
	got, err := c.FetchFile(t.Context(), digest, dir)
	must(t, err)
	must(t, verify(got, digest))
}

func TestBytes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		puts, gets := dial(Options{}), dial(Options{})
		for _, size := range []int{0, 1, partSize + 1} {
			path, digest := someFile(t, size)
			data := []byte(mustRead(t, path))
			if has, err := gets.Has(t.Context(), digest); has || err != nil {
				t.Fatalf("Has returns %v, %v before it is put", has, err)
			}
			if size == 0 {
				_, err := gets.FetchBytes(t.Context(), digest)
				wants(t, err, digest, "not on the server")
			}
			found, err := puts.PutBytes(t.Context(), data)
			must(t, err)
			if has, err := gets.Has(t.Context(), digest); !has || err != nil || found != digest {
				t.Fatalf("Has returns %v, %v after %s was put", has, err, found)
			}
			got, err := gets.FetchBytes(t.Context(), digest)
			must(t, err)
			if !slices.Equal(got, data) {
				t.Errorf("%d bytes came back as %d others", len(data), len(got))
			}
			file, err := gets.FetchFile(t.Context(), digest, t.TempDir())
			must(t, err)
			must(t, verify(file, digest))
			must(t, gets.Remove(t.Context(), digest))
			must(t, puts.Remove(t.Context(), digest))
			if has, err := gets.Has(t.Context(), digest); has || err != nil {
				t.Errorf("Has returns %v, %v after it was removed", has, err)
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"size":3,"part":2,"sums":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`))
	f.Add([]byte(`{"size":0,"part":1}`))
	f.Add([]byte(`{"size":9223372036854775807,"part":1048576}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Errorf("error %v does not say that the manifest is damaged", err)
			}
			return
		}
		size := int64(0)
		for i := range m.parts() {
			if n := m.length(i); n < 1 || n > MaxResult {
				t.Fatalf("part %d has %d bytes", i, n)
			}
			size += m.length(i)
			m.verifies(i, nil)
		}
		if size != m.Size {
			t.Errorf("parts have %d bytes in all, want %d", size, m.Size)
		}
	})
}
