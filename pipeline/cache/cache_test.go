package cache

import (
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

func cacheKey(cell byte) Key {
	return Key{Cell: [32]byte{cell, 1}, Seed: "7", Noise: [32]byte{cell, 2}, Digest: "d", Profile: "p"}
}

// cached returns a batch of a cell whose errors encode n and repetition.
func cached(cell byte, n int64, reps ...int64) *ledger.Batch {
	b := &ledger.Batch{Sweep: "s", Cell: cacheKey(cell).Cell, N: n, Digest: "d", Profile: "p", Worker: "w", Seconds: 1,
		Metrics: []string{"m"}, Values: [][]float64{nil}}
	for _, rep := range reps {
		b.Repetition, b.Status = append(b.Repetition, rep), append(b.Status, ledger.OK)
		b.Error, b.Values[0] = append(b.Error, float64(n)+float64(rep)/1000), append(b.Values[0], math.NaN())
	}
	return b
}

func addTo(t *testing.T, c *Cache, cell byte, batches ...*ledger.Batch) (int64, error) {
	t.Helper()
	return c.Add(cacheKey(cell), func(add func(*ledger.Batch) error) error {
		for _, b := range batches {
			if err := add(b); err != nil {
				return err
			}
		}
		return nil
	})
}

// has returns the repetitions at n in the cache, and checks their values.
func has(t *testing.T, c *Cache, cell byte, n int64) (reps []int64) {
	t.Helper()
	batches, err := c.Read(cacheKey(cell))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if b.N != n {
			continue
		}
		for i, rep := range b.Repetition {
			if b.Error[i] != float64(n)+float64(rep)/1000 || !math.IsNaN(b.Values[0][i]) {
				t.Errorf("repetition %d: %v", rep, b.Error[i])
			}
			reps = append(reps, rep)
		}
	}
	slices.Sort(reps)
	return reps
}

// An added outcome is in its own entry exactly once, unless it is not ok.
func TestCacheKeepsOnce(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	failed := cached(1, 10, 5, 6)
	failed.Status[0], failed.Error[0] = ledger.Failed, math.NaN()
	for i, want := range []int64{5, 0} {
		if n, err := addTo(t, c, 1, cached(1, 10, 3, 4), cached(1, 10, 1, 3), failed, cached(1, 20, 0)); n != want ||
			err != nil {
			t.Errorf("time %d: %d added, %v", i, n, err)
		}
	}
	if reps := has(t, c, 1, 10); !slices.Equal(reps, []int64{1, 3, 4, 6}) {
		t.Error(reps)
	}
	if reps := has(t, c, 2, 10); reps != nil {
		t.Errorf("another cell has %v", reps)
	}
	list, err := c.List()
	if err != nil || len(list) != 1 || list[0].Path != c.path(cacheKey(1)) || list[0].Bytes == 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// An entry with a changed byte, or without its end, is removed or whole, and Add makes it again.
func TestCacheDamage(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	if _, err := addTo(t, c, 1, cached(1, 10, 0, 1), cached(1, 10, 2, 3)); err != nil {
		t.Fatal(err)
	}
	path := c.path(cacheKey(1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, at int, raw []byte) {
		t.Helper()
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		batches, err := c.Read(cacheKey(1))
		if _, gone := os.Stat(path); err != nil && (gone == nil || !strings.Contains(err.Error(), "it is removed")) ||
			err == nil && len(batches) < 2 && len(raw) > len(whole)/2 {
			t.Errorf("%s at %d: %v, %v", what, at, batches, err)
		}
		if _, err := addTo(t, c, 1, cached(1, 10, 0, 1, 2, 3)); err != nil {
			t.Fatal(err)
		}
		if reps := has(t, c, 1, 10); len(reps) != 4 {
			t.Errorf("%s at %d, made again: %v", what, at, reps)
		}
	}
	for at := 0; at < len(whole); at += 37 {
		check("cut", at, whole[:at])
		raw := slices.Clone(whole)
		raw[at] ^= 0x40
		check("changed", at, raw)
	}
}

// Two different outcomes of one plugin file remove the entry; outcomes of another file do not enter
// it.
func TestCacheConflict(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	other := cached(1, 10, 0)
	other.Digest, other.Error[0] = "e", 99
	if n, err := addTo(t, c, 1, cached(1, 10, 0), other); n != 1 || err != nil {
		t.Fatalf("%d added, %v", n, err)
	}
	wrong := cached(1, 10, 0)
	wrong.Error[0] = 98
	if n, err := addTo(t, c, 1, wrong); n != 0 || err == nil ||
		!strings.Contains(err.Error(), "trial 0101000000/10/0 has two different outcomes") {
		t.Errorf("%d added, %v", n, err)
	}
	if reps := has(t, c, 1, 10); reps != nil {
		t.Errorf("still there: %v", reps)
	}
}

// Trim removes the least recently used entries.
func TestCacheTrim(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	if err := (&Cache{Dir: c.Dir + "/none"}).Trim(0); err != nil {
		t.Error(err)
	}
	now := time.Now()
	for cell := byte(1); cell <= 4; cell++ {
		if _, err := addTo(t, c, cell, cached(cell, 10, 0)); err != nil {
			t.Fatal(err)
		}
		used := now.Add(-time.Duration(cell) * time.Hour)
		if err := os.Chtimes(c.path(cacheKey(cell)), used, used); err != nil {
			t.Fatal(err)
		}
	}
	c.Used(cacheKey(4))
	each := func() int64 {
		all, err := c.List()
		if err != nil || len(all) != 4 {
			t.Fatalf("%v, %v", all, err)
		}
		return all[0].Bytes
	}()
	for _, x := range []struct {
		entries, less int64
		want          string
	}{{4, 0, "04 01 02 03"}, {4, 1, "04 01 02"}, {2, 0, "04 01"}, {0, 0, ""}} {
		err := c.Trim(x.entries*each - x.less)
		all, fail := c.List()
		var cells []string
		for _, e := range all {
			cells = append(cells, filepath.Base(e.Path)[:2])
		}
		if got := strings.Join(cells, " "); got != x.want || err != nil || fail != nil {
			t.Errorf("%+v: left %q; %v, %v", x, got, err, fail)
		}
	}
}

// A file of the cache may contain any bytes: they are outcomes of the entry, or it is not read.
func FuzzEntry(f *testing.F) {
	c := &Cache{Dir: testkit.MemoryDir(f)}
	k := cacheKey(1)
	if err := write(c.path(k), nil); err != nil {
		f.Fatal(err)
	}
	b := cached(1, 10, 0, 1, 2)
	b.Sweep = hex.EncodeToString(k.Noise[:])
	msg, err := b.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ledger.AppendFrame(nil, msg))
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := write(c.path(k), content); err != nil {
			t.Fatal(err)
		}
		batches, err := c.Read(k)
		if err != nil && batches != nil {
			t.Errorf("%v and %v", batches, err)
		}
		for _, b := range batches {
			if b.Cell != k.Cell || b.Digest != k.Digest || slices.Max(b.Status) != ledger.OK {
				t.Errorf("%+v", b)
			}
		}
	})
}
