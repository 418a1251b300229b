package queue

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// cachedFile returns the path of a file of a cache.
func cachedFile(t *testing.T, fc FileCache, c *Conn, digest string) (path string) {
	t.Helper()
	path, err := fc.Path(soon(t), c.Files, digest)
	must(t, err)
	must(t, verify(path, digest))
	return path
}

// A damaged file of the cache is removed and fetched again. The damaged content is never returned.
func TestDamagedCachedFile(t *testing.T) {
	t.Parallel()
	s := external(t)
	owner, worker := s.dial(t, Options{}), s.dial(t, Options{})
	path, digest := someFile(t, 3*chunkSize)
	must(t, put(t.Context(), owner, digest, path))
	sound := mustRead(t, path)
	fc := FileCache{Dir: filepath.Join(t.TempDir(), "cache")}
	flipped := slices.Clone(sound)
	flipped[chunkSize+5] ^= 4
	for name, damaged := range map[string][]byte{
		"empty": {}, "truncated": sound[:chunkSize], "longer": append(slices.Clone(sound), 1), "one bit": flipped,
	} {
		cached := filepath.Join(fc.Dir, digest)
		must(t, os.MkdirAll(fc.Dir, 0o755))
		must(t, os.RemoveAll(cached))
		must(t, os.WriteFile(cached, damaged, 0o400))
		if path, err := fc.Path(t.Context(), worker.Files, digest); err != nil || verify(path, digest) != nil {
			t.Errorf("%s: %v, %v", name, err, verify(path, digest))
		}
	}
	// A damaged file is not returned even if it is the only copy.
	must(t, os.RemoveAll(filepath.Join(fc.Dir, digest)))
	must(t, os.WriteFile(filepath.Join(fc.Dir, digest), flipped, 0o400))
	must(t, owner.Files.Remove(t.Context(), digest))
	must(t, worker.Files.Remove(t.Context(), digest))
	if _, err := fc.Path(t.Context(), worker.Files, digest); !errors.Is(err, ErrNotStored) {
		t.Errorf("error %v, want %v", err, ErrNotStored)
	}
}

// The cache stays below its quota: it removes the least recently used files, and keeps files in use and foreign files.
func TestCacheQuota(t *testing.T) {
	t.Parallel()
	c := external(t).dial(t, Options{})
	fc := FileCache{Dir: t.TempDir(), Quota: 3 * chunkSize}
	must(t, os.WriteFile(filepath.Join(fc.Dir, "notes.txt"), make([]byte, 9*chunkSize), 0o600))
	var digests []string
	for i := range 5 {
		path, digest := someFile(t, chunkSize-i)
		must(t, put(t.Context(), c, digest, path))
		digests = append(digests, digest)
	}
	has := func() (list []int) {
		for i, digest := range digests {
			if _, err := os.Stat(filepath.Join(fc.Dir, digest)); err == nil {
				list = append(list, i)
			}
		}
		return list
	}
	minutes := 0
	use := func(i int, want ...int) {
		t.Helper()
		path := cachedFile(t, fc, c, digests[i])
		at := time.Now().Add(time.Duration(minutes-1000) * time.Minute)
		minutes++
		must(t, os.Chtimes(path, at, at))
		if found := has(); !slices.Equal(found, want) {
			t.Fatalf("after file %d the cache has %v, want %v", i, found, want)
		}
	}
	use(0, 0)
	use(1, 0, 1)
	use(2, 0, 1, 2)
	use(0, 0, 1, 2)
	use(3, 0, 2, 3)
	for _, i := range []int{0, 2, 3} {
		MarkUsed(filepath.Join(fc.Dir, digests[i]))
	}
	use(4, 0, 2, 3, 4)
	use(1, 0, 1, 2, 3)
	if _, err := os.Stat(filepath.Join(fc.Dir, "notes.txt")); err != nil {
		t.Error(err)
	}
}
