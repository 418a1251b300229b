// Package cache keeps outcomes of trials across the sweeps of one machine.
//
// It returns only outcomes that were added, bit for bit, each for its cell and seed. It needs a
// folder that the processes of this machine share. The cache is optional: damage is skipped and
// reported, and losing the whole cache costs only time.
//
// Start with Cache.Add and Cache.Read.
package cache

import (
	"cmp"
	"context"
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

// Cache is a folder with one file per cell and seed. A file consists of frames like those of a
// ledger. The cache contains only ok outcomes, of any plugin file and float profile. It is safe
// for concurrent use, by several processes too.
type Cache struct{ Dir string }

// Key identifies the entry of a cell under a seed.
type Key struct {
	Cell  [32]byte
	Seed  string   // a number, or the label that trial.SweepSeed gives a secret seed
	Noise [32]byte // key of the cell's own randomness, which follows from both; frames of other keys are rejected
}

// extension of the files of a cache.
const extension = ".trials"

// maxEntry limits the size of an entry that is read, in bytes: about ten million trials of one
// cell.
const maxEntry = 1 << 30

// lockTimeout is the time for which a writer waits for others.
const lockTimeout = 10 * time.Second

// ErrBusy means that another process was writing into the cache for too long.
var ErrBusy = errors.New("another process writes into it")

func (c *Cache) path(k Key) string {
	cell := hex.EncodeToString(k.Cell[:])
	return filepath.Join(c.Dir, cell[:2], cell+"-"+k.Seed+extension)
}

// Read returns the batches of an entry, and its damage. The batches contain ok outcomes only; a
// trial may be in two of them, if two plugin files produced it. A missing entry has no batches.
func (c *Cache) Read(k Key) (batches []*ledger.Batch, damaged []ledger.Damage, err error) {
	lock, locked := c.openLock()
	if locked == nil {
		defer lock.Close()
		locked = disk.TryLock(lock, disk.Shared)
	}
	e, err := c.load(c.path(k), k)
	if err != nil {
		return nil, nil, fmt.Errorf("read cache: %w", err)
	}
	if locked != nil && len(e.damaged) > 0 && end(e.damaged[len(e.damaged)-1]) == e.size {
		e.damaged = e.damaged[:len(e.damaged)-1] // another process may be writing it now
	}
	return e.batches, e.damaged, nil
}

func end(d ledger.Damage) int64 { return d.Offset + d.Bytes }

// Used sets the time of an entry's last use to now.
func (c *Cache) Used(k Key) {
	now := time.Now()
	_ = os.Chtimes(c.path(k), now, now) // only Trim reads the time
}

// entry is the content of one file.
type entry struct {
	size    int64
	sound   [][]byte // sound frames
	batches []*ledger.Batch
	damaged []ledger.Damage
	other   int // number of frames of another version
}

// load reads the file of an entry. Frames of other cells and seeds count as damaged.
func (c *Cache) load(path string, k Key) (*entry, error) {
	b, err := disk.ReadFile(path, maxEntry)
	if errors.Is(err, fs.ErrNotExist) {
		return &entry{}, nil
	}
	if err != nil {
		return nil, err
	}
	e := &entry{size: int64(len(b))}
	for f := range ledger.Frames(b) {
		var batch *ledger.Batch
		if f.Damage == "" {
			var version *schemas.VersionError
			if batch, err = ledger.Decode(f.Message); errors.As(err, &version) {
				e.other++
				continue
			} else if err != nil {
				f.Damage = err.Error()
			} else {
				f.Damage = k.mismatch(batch)
			}
		}
		if f.Damage != "" {
			damage := ledger.Damage{File: path, Offset: int64(f.Offset), Bytes: int64(f.End - f.Offset), Reason: f.Damage}
			e.damaged = append(e.damaged, damage)
			continue
		}
		e.sound = append(e.sound, b[f.Offset:f.End])
		e.batches = append(e.batches, batch)
	}
	return e, nil
}

// mismatch returns the reason why a batch cannot belong to the entry, or "" if it can.
func (k Key) mismatch(b *ledger.Batch) string {
	switch {
	case b.Cell != k.Cell || b.Sweep != hex.EncodeToString(k.Noise[:]):
		return "it is of another cell or seed"
	case slices.ContainsFunc(b.Status, func(s uint8) bool { return s != ledger.OK }):
		return "it holds outcomes that are not ok"
	}
	return ""
}

// Add adds the ok outcomes of the batches, all of one cell, that the entry does not have, and
// returns their number. If the entry has a different outcome of the same plugin file and float
// profile, one of the two is wrong: Add removes the entry and returns an error. It returns
// ErrBusy if another process prevents it from writing.
func (c *Cache) Add(
	ctx context.Context, k Key, batches func(func(*ledger.Batch) error) error,
) (added int64, err error) {
	if err := os.MkdirAll(filepath.Dir(c.path(k)), 0o700); err != nil {
		return 0, fmt.Errorf("add to cache: %w", err)
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return 0, fmt.Errorf("add to cache %q: %w", c.Dir, err)
	}
	defer unlock()
	path := c.path(k)
	e, err := c.load(path, k)
	if err != nil {
		return 0, fmt.Errorf("add to cache: %w", err)
	}
	a := &adding{noise: hex.EncodeToString(k.Noise[:]), known: map[origin]*ledger.Set{}}
	for _, b := range e.batches {
		a.register(b)
	}
	if err := batches(a.add); err != nil {
		return 0, err
	}
	if a.conflict != "" {
		return 0, errors.Join(fmt.Errorf("add to cache: %s; the entry is removed", a.conflict), os.Remove(path))
	}
	if a.added == 0 && len(e.damaged) == 0 {
		return 0, nil
	}
	if len(e.damaged)+e.other > 0 {
		err = disk.WriteSecret(path, disk.Bytes(slices.Concat(append(e.sound, a.frames...)...)))
	} else {
		err = appendTo(path, e.size, a.frames)
	}
	if err != nil {
		return 0, fmt.Errorf("add to cache: %w", err)
	}
	return a.added, nil
}

// origin identifies outcomes that must be equal for the same trial.
type origin struct{ digest, profile string }

// adding collects the rows that an entry does not have, as frames of messages with the noise key.
type adding struct {
	noise    string
	known    map[origin]*ledger.Set
	frames   [][]byte
	added    int64
	conflict string
}

// register adds the rows of a batch to the known ones, and returns the new rows.
func (a *adding) register(b *ledger.Batch) (rows []int) {
	from := origin{b.Digest, b.Profile}
	known := a.known[from]
	if known == nil {
		known = &ledger.Set{}
		a.known[from] = known
	}
	v := known.Add(b)
	if len(v.Conflicts) > 0 && a.conflict == "" {
		first := v.Conflicts[0]
		a.conflict = fmt.Sprintf("trial %x/%d/%d has two different outcomes of one plugin file (SHA-256 %.12s)",
			b.Cell[:5], first.N, first.Repetition, b.Digest)
	}
	return v.New
}

// add collects the ok rows of a batch that are new.
func (a *adding) add(b *ledger.Batch) error {
	var ok []int
	for i, status := range b.Status {
		if status == ledger.OK {
			ok = append(ok, i)
		}
	}
	if len(ok) == 0 {
		return nil
	}
	seconds := b.Seconds / float64(len(b.Status)) // per row
	b = b.Select(ok)
	rows := a.register(b)
	if len(rows) == 0 {
		return nil
	}
	b = b.Select(rows)
	b.Sweep, b.Worker, b.Notes, b.Kind, b.Reason = a.noise, "cache", nil, nil, nil
	b.Seconds, b.PluginSeconds = seconds*float64(len(rows)), 0
	msg, err := b.Encode()
	if err != nil {
		return err
	}
	a.frames = append(a.frames, ledger.AppendFrame(nil, msg))
	a.added += int64(len(rows))
	return nil
}

// appendTo appends to a file of a known size. After an error the file is unchanged, as far as the
// disk allows.
func appendTo(path string, size int64, frames [][]byte) error {
	f, err := disk.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	at := size
	for _, b := range frames {
		if _, err = f.WriteAt(b, at); err != nil {
			return errors.Join(err, f.Truncate(size), f.Close())
		}
		at += int64(len(b))
	}
	return f.Close()
}

// lock takes the cache's lock for writing. It returns ErrBusy after lockTimeout.
func (c *Cache) lock(ctx context.Context) (unlock func(), err error) {
	f, err := c.openLock()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, ErrBusy)
	defer cancel()
	if err := disk.Lock(ctx, f, disk.Exclusive); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}

func (c *Cache) openLock() (*os.File, error) {
	f, err := disk.OpenFile(filepath.Join(c.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	return f.File, err
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
func (c *Cache) Trim(ctx context.Context, bytes int64) error {
	if _, err := os.Stat(c.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return fmt.Errorf("trim cache %q: %w", c.Dir, err)
	}
	defer unlock()
	all, err := c.List()
	if err != nil {
		return err
	}
	for _, e := range all {
		if bytes -= e.Bytes; bytes < 0 {
			if err := os.Remove(e.Path); err != nil {
				return fmt.Errorf("trim cache: %w", err)
			}
		}
	}
	return nil
}
