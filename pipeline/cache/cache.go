// Package cache keeps outcomes of trials across the sweeps of one machine.
//
// It returns only outcomes that were added, bit for bit, each for its cell, seed and code. It needs
// a folder that the processes of this machine share. The cache is optional: losing an entry, or the
// whole cache, costs only time.
//
// Start with Cache.Add and Cache.Read.
package cache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// Cache is a folder with one file per entry. A file consists of frames like those of a ledger, and
// is replaced as a whole. Concurrent use is safe, by several processes too: if two add to an entry
// at the same time, the outcomes of one are lost.
type Cache struct{ Dir string }

// Key identifies the entry of a cell under a seed, for the outcomes of one code.
type Key struct {
	Cell    [32]byte
	Seed    string   // a number, or the label that trial.SweepSeed gives a secret seed
	Noise   [32]byte // key of the cell's own randomness, which follows from both
	Digest  string   // identity of the plugin or built-in algorithm
	Profile string   // float profile
}

// extension of the files of a cache.
const extension = ".trials"

// maxEntry limits the size of an entry that is read, in bytes: about ten million trials of one
// cell.
const maxEntry = 1 << 30

func (c *Cache) path(k Key) string {
	cell, code := hex.EncodeToString(k.Cell[:]), sha256.Sum256([]byte(k.Digest+" "+k.Profile))
	return filepath.Join(c.Dir, cell[:2], fmt.Sprintf("%s-%s-%x%s", cell, k.Seed, code[:8], extension))
}

// Read returns the batches of an entry, which contain ok outcomes only. A missing entry has none, and
// neither has one of another version. Read removes a damaged entry and returns an error.
func (c *Cache) Read(k Key) (batches []*ledger.Batch, err error) {
	path := c.path(k)
	content, err := disk.ReadFile(path, maxEntry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read cache: %w", err)
	}
	for f := range ledger.Frames(content) {
		b, err := k.decode(f)
		if version := (*schemas.VersionError)(nil); errors.As(err, &version) {
			return nil, nil
		}
		if err != nil {
			err = fmt.Errorf("read cache: %q is damaged at %d (%w); it is removed", path, f.Offset, err)
			return nil, errors.Join(err, os.Remove(path))
		}
		batches = append(batches, b)
	}
	return batches, nil
}

// decode returns the batch in a frame of the entry.
func (k Key) decode(f ledger.Frame) (*ledger.Batch, error) {
	if f.Damage != "" {
		return nil, errors.New(f.Damage)
	}
	b, err := ledger.Decode(f.Message)
	switch {
	case err != nil:
		return nil, err
	case b.Cell != k.Cell || b.Sweep != hex.EncodeToString(k.Noise[:]) || b.Digest != k.Digest || b.Profile != k.Profile:
		return nil, errors.New("it is of another cell, seed or code")
	case slices.ContainsFunc(b.Status, func(s uint8) bool { return s != ledger.OK }):
		return nil, errors.New("it holds outcomes that are not ok")
	}
	return b, nil
}

// Used sets the time of an entry's last use to now.
func (c *Cache) Used(k Key) {
	now := time.Now()
	_ = os.Chtimes(c.path(k), now, now) // only Trim reads the time
}

// Add adds the ok outcomes of the entry's code that it does not have, and returns their number. The
// batches are of the entry's cell. If the entry has a different outcome, one of the two is wrong:
// Add removes the entry and returns an error.
func (c *Cache) Add(k Key, batches func(func(*ledger.Batch) error) error) (added int64, err error) {
	old, err := c.Read(k)
	if err != nil {
		return 0, err
	}
	var known ledger.Set
	var content []byte
	add := func(b *ledger.Batch) error {
		v := known.Add(b)
		if len(v.Conflicts) > 0 {
			x := v.Conflicts[0]
			err := fmt.Errorf("trial %x/%d/%d has two different outcomes of one plugin file (SHA-256 %.12s); the entry is "+
				"removed", b.Cell[:5], x.N, x.Repetition, b.Digest)
			return errors.Join(err, os.Remove(c.path(k)))
		}
		if len(v.New) == 0 {
			return nil
		}
		added += int64(len(v.New))
		one := b.Select(v.New)
		one.Seconds *= float64(len(v.New)) / float64(len(b.Repetition))
		msg, err := one.Encode()
		content = ledger.AppendFrame(content, msg)
		return err
	}
	for _, b := range old {
		if err := add(b); err != nil {
			return 0, fmt.Errorf("add to cache: %w", err)
		}
	}
	had := added
	err = batches(func(b *ledger.Batch) error {
		if b = k.adopt(b); b == nil {
			return nil
		}
		return add(b)
	})
	if err == nil && added > had {
		err = write(c.path(k), content)
	}
	if err != nil {
		return 0, fmt.Errorf("add to cache: %w", err)
	}
	return added - had, nil
}

// adopt returns the ok rows of a batch as a batch of the entry; nil if there are none.
func (k Key) adopt(b *ledger.Batch) *ledger.Batch {
	var ok []int
	for i, status := range b.Status {
		if status == ledger.OK {
			ok = append(ok, i)
		}
	}
	if len(ok) == 0 || b.Digest != k.Digest || b.Profile != k.Profile {
		return nil
	}
	adopted := b.Select(ok)
	adopted.Sweep, adopted.Worker, adopted.Notes = hex.EncodeToString(k.Noise[:]), "cache", nil
	adopted.Kind, adopted.Reason = nil, nil
	adopted.Seconds, adopted.PluginSeconds = b.Seconds*float64(len(ok))/float64(len(b.Status)), 0
	return adopted
}

// write replaces a file. It does not wait for the disk: a damaged entry is recognized.
func write(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// An Entry describes one file of a cache.
type Entry struct {
	Path  string
	Bytes int64
	used  time.Time
}

// List returns the entries, the most recently used first. A cache that does not exist has none.
func (c *Cache) List() ([]Entry, error) {
	paths, err := disk.Glob(c.Dir, "[0-9a-f][0-9a-f]/*"+extension)
	if err != nil {
		return nil, fmt.Errorf("list cache: %w", err)
	}
	var all []Entry
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil { // otherwise removed meanwhile
			all = append(all, Entry{path, info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.Path, b.Path))
	})
	return all, nil
}

// Trim removes the least recently used entries until the cache has at most the given number of bytes.
func (c *Cache) Trim(bytes int64) error {
	all, err := c.List()
	if err != nil {
		return err
	}
	for _, e := range all {
		if bytes -= e.Bytes; bytes < 0 {
			if err := os.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("trim cache: %w", err)
			}
		}
	}
	return nil
}
