package bus

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// partsOf lists the subjects that the server has of a content.
func partsOf(t testing.TB, c *Conn, digest string) []string {
	t.Helper()
	list, err := c.subjects(t.Context(), fileSubject+">")
	must(t, err)
	var found []string
	for _, s := range slices.Sorted(maps.Keys(list)) {
		if strings.HasPrefix(s, fileSubject+digest) {
			found = append(found, strings.TrimPrefix(s, fileSubject+digest))
		}
	}
	return found
}

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

// A file whose owner is gone can be fetched once somebody puts it again.
func TestRepairByPutting(t *testing.T) {
	t.Parallel()
	s := external(t)
	c := s.dial(t, Options{})
	path, digest := someFile(t, 4*partSize+1)
	for _, fault := range faults {
		if strings.HasPrefix(fault.name, "manifest") {
			continue // each takes the time that is given to others to connect
		}
		t.Run(fault.name, func(t *testing.T) {
			must(t, c.PutFile(soon(t), digest, path))
			c.held.remove(digest)
			fault.do(t, c, digest)
			_, err := c.FetchFile(soon(t), digest, t.TempDir())
			if !errors.Is(err, ErrNotStored) {
				t.Fatalf("error is %v, want %v", err, ErrNotStored)
			}
			must(t, c.PutFile(soon(t), digest, path))
			got, err := c.FetchFile(soon(t), digest, t.TempDir())
			must(t, err)
			must(t, verify(got, digest))
			c.held.remove(digest)
		})
	}
}

// A worker that has fetched a file puts it again when the store was wiped after its owner left.
func TestRepairByWorker(t *testing.T) {
	t.Parallel()
	s := external(t)
	owner, err := Dial(t.Context(), s.url(), Options{})
	must(t, err)
	first, second := s.dial(t, Options{}), s.dial(t, Options{})
	path, digest := someFile(t, 3*partSize)
	must(t, owner.PutFile(t.Context(), digest, path))
	_, err = first.FetchFile(t.Context(), digest, t.TempDir())
	must(t, err)
	owner.Close()
	must(t, first.js.DeleteStream(t.Context(), fileStream))
	got, err := second.FetchFile(soon(t), digest, t.TempDir())
	must(t, err)
	must(t, verify(got, digest))
}

// A server that has lost its store under a connection lists no content, and takes the next.
func TestContentAfterLoss(t *testing.T) {
	t.Parallel()
	s := external(t)
	owner, other := s.dial(t, Options{}), s.dial(t, Options{})
	path, digest := someFile(t, 3*partSize)
	must(t, owner.PutFile(t.Context(), digest, path))
	must(t, other.js.DeleteStream(t.Context(), fileStream))
	if found := partsOf(t, owner, digest); len(found) > 0 {
		t.Errorf("the server has %q", found)
	}
	must(t, other.js.DeleteStream(t.Context(), fileStream))
	must(t, owner.PutFile(t.Context(), digest, path))
	if found := partsOf(t, owner, digest); len(found) != 4 {
		t.Errorf("the server has %q", found)
	}
}

// A holder whose own file was changed does not spread it.
func TestRepairFromChangedFile(t *testing.T) {
	t.Parallel()
	s := external(t)
	has, wants := s.dial(t, Options{}), s.dial(t, Options{})
	path, digest := someFile(t, 3*partSize)
	must(t, has.PutFile(t.Context(), digest, path))
	must(t, os.WriteFile(path, make([]byte, 3*partSize), 0o600))
	must(t, has.discardLast(t.Context(), partSubject(digest, 1)))
	_, err := wants.FetchFile(soon(t), digest, t.TempDir())
	if !errors.Is(err, ErrNotStored) {
		t.Fatalf("error is %v, want %v", err, ErrNotStored)
	}
	if found := partsOf(t, has, digest); !slices.Equal(found, []string{"", ".0", ".2"}) {
		t.Errorf("the server has %q", found)
	}
}

// A fetch goes on where a killed process has left it, and believes none of its bytes unseen.
func TestFetchResumed(t *testing.T) {
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

func TestRemoveUnnamed(t *testing.T) {
	t.Parallel()
	c := external(t).dial(t, Options{})
	keep, err := c.PutBytes(t.Context(), []byte("named"))
	must(t, err)
	path, drop := someFile(t, 2*partSize)
	must(t, c.PutFile(t.Context(), drop, path))
	orphan := strings.Repeat("ab", 32) // its upload was broken off
	must(t, c.storeFile(t.Context(), partSubject(orphan, 0), []byte("part")))
	named := func(digest string) bool { return digest == keep }
	for _, test := range []struct {
		idle    time.Duration
		removed int
	}{{time.Hour, 0}, {0, 2}, {0, 0}} {
		if n, err := c.RemoveUnnamed(t.Context(), named, test.idle); n != test.removed || err != nil {
			t.Errorf("%d removed (%v) after %v, want %d", n, err, test.idle, test.removed)
		}
	}
	if found := append(partsOf(t, c, drop), partsOf(t, c, orphan)...); len(found) > 0 {
		t.Errorf("the server still has %q", found)
	}
	if has, err := c.Has(t.Context(), keep); !has || err != nil {
		t.Errorf("what is named is gone (%v)", err)
	}
}

// What a server says about its parts may be anything.
// Who asks for parts again and again fills nobody's memory.
func TestManyAsked(t *testing.T) {
	text := strings.Repeat("1\n2\n", mostAsked)
	if n := len(partNumbers([]byte(text))); n > mostAsked {
		t.Errorf("%d parts are asked for at a time", n)
	}
	if got := join([]int64{3, 1}, []int64{1, 2, 1}); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("together %v", got)
	}
	var many []int64
	for i := range int64(3 * mostAsked) {
		many = append(many, i)
	}
	if n := len(join(many, many)); n != mostAsked {
		t.Errorf("%d parts are kept, want %d", n, mostAsked)
	}
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
