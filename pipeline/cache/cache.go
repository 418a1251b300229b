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
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

// Cache keeps outcomes of trials across sweeps, on this machine: one file of frames, like those of a ledger, for each cell under each
// seed. It holds outcomes that are ok and nothing else, of any plugin file and float profile. It is a convenience: what is damaged in it
// is skipped and said, and losing all of it costs time only. It is safe for concurrent use, by processes too.
type Cache struct{ Dir string }

// Key names the entry of a cell under a seed.
type Key struct {
	Cell  [32]byte
	Seed  uint64
	Noise [32]byte // the key of the cell's own randomness, which both give; frames with another one are refused
}

// cacheRows is the most rows of a message of a cache.
const cacheRows = 1 << 14

// extension of the files of a cache.
const extension = ".trials"

// ErrCacheBusy says that another process was writing into the cache for too long.
var ErrCacheBusy = errors.New("another process writes into it")

func (c *Cache) path(k Key) string {
	cell := hex.EncodeToString(k.Cell[:])
	return filepath.Join(c.Dir, cell[:2], fmt.Sprintf("%s-%d%s", cell, k.Seed, extension))
}

// Seeds lists the seeds under which the cache has something of a cell.
func (c *Cache) Seeds(cell [32]byte) (seeds []uint64) {
	id := hex.EncodeToString(cell[:])
	paths, _ := ledger.Glob(filepath.Join(c.Dir, id[:2]), id+"-*"+extension) // an empty folder is the same as none
	for _, path := range paths {
		var seed uint64
		if n, err := fmt.Sscanf(strings.TrimPrefix(filepath.Base(path), id), "-%d"+extension, &seed); n == 1 && err == nil {
			seeds = append(seeds, seed)
		}
	}
	slices.Sort(seeds)
	return seeds
}

// Read gives what the cache has of an entry, and what is damaged in it. Its batches hold ok outcomes only; a trial may stand in two of
// them, if two plugin files made it. No file is no error.
func (c *Cache) Read(k Key) (batches []*ledger.Batch, damaged []ledger.Damage, err error) {
	unlock, locked := c.lock(context.Background(), unix.LOCK_SH, 0)
	if locked == nil {
		defer unlock()
	}
	e, err := c.load(c.path(k), &k)
	if err != nil {
		return nil, nil, fmt.Errorf("read cache: %w", err)
	}
	if locked != nil && len(e.damaged) > 0 && end(e.damaged[len(e.damaged)-1]) == e.size {
		e.damaged = e.damaged[:len(e.damaged)-1] // somebody may be writing it just now
	}
	return e.batches, e.damaged, nil
}

func end(d ledger.Damage) int64 { return d.Offset + d.Bytes }

// Used notes that an entry was of use.
func (c *Cache) Used(k Key) {
	now := time.Now()
	_ = os.Chtimes(c.path(k), now, now) // it is a hint for Trim
}

// entry is the content of one file.
type entry struct {
	size    int64
	sound   [][]byte // frames
	batches []*ledger.Batch
	damaged []ledger.Damage
	other   int // frames of another version
}

// load reads a file. With a key, frames of other cells and seeds count as damaged.
func (c *Cache) load(path string, k *Key) (*entry, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &entry{}, nil
	}
	if err != nil {
		return nil, err
	}
	e := &entry{size: int64(len(b))}
	for at := 0; at < len(b); {
		p := ledger.NextPiece(b, at)
		at = p.End
		var batch *ledger.Batch
		if p.Reason == "" {
			var version *schemas.VersionError
			if batch, err = ledger.Decode(p.Msg); errors.As(err, &version) {
				e.other++
				continue
			} else if err != nil {
				p.Reason = err.Error()
			} else {
				p.Reason = k.refuses(batch)
			}
		}
		if p.Reason != "" {
			e.damaged = append(e.damaged, ledger.Damage{File: path, Offset: int64(p.At), Bytes: int64(p.End - p.At), Reason: p.Reason})
			continue
		}
		e.sound = append(e.sound, b[p.At:p.End])
		e.batches = append(e.batches, batch)
	}
	return e, nil
}

// refuses says why a batch cannot be of an entry.
func (k *Key) refuses(b *ledger.Batch) string {
	switch {
	case k != nil && (b.Cell != k.Cell || b.Sweep != hex.EncodeToString(k.Noise[:])):
		return "it is of another cell or seed"
	case slices.ContainsFunc(b.Status, func(s uint8) bool { return s != ledger.OK }):
		return "it holds outcomes that are not ok"
	}
	return ""
}

// Add adds those ok outcomes of the batches, all of one cell, that the entry does not have, and says how many. about is the cell in
// words. Where an outcome of the same plugin file and float profile is there and differs, one of them is wrong: the entry is removed,
// and the error says so.
func (c *Cache) Add(ctx context.Context, k Key, about string, batches func(func(*ledger.Batch) error) error) (added int64, err error) {
	if err := os.MkdirAll(filepath.Dir(c.path(k)), 0o777); err != nil {
		return 0, fmt.Errorf("add to cache: %w", err)
	}
	unlock, err := c.lock(ctx, unix.LOCK_EX, 10*time.Second)
	if err != nil {
		return 0, fmt.Errorf("add to cache %q: %w", c.Dir, err)
	}
	defer unlock()
	path := c.path(k)
	e, err := c.load(path, &k)
	if err != nil {
		return 0, fmt.Errorf("add to cache: %w", err)
	}
	a := &adding{known: map[origin]ledger.Index{}, rows: map[group]*ledger.Batch{}}
	for _, b := range e.batches {
		a.know(b)
	}
	if err := batches(a.add); err != nil {
		return 0, err
	}
	if a.conflict != "" {
		return 0, errors.Join(fmt.Errorf("add to cache: %s; the entry is removed", a.conflict), os.Remove(path))
	}
	frames, err := a.frames(hex.EncodeToString(k.Noise[:]), about)
	if err != nil || a.added == 0 && len(e.damaged) == 0 {
		return 0, err
	}
	if len(e.damaged)+e.other > 0 {
		err = ledger.ReplaceFile(path, slices.Concat(append(e.sound, frames)...))
	} else {
		err = appendTo(path, e.size, frames)
	}
	if err != nil {
		return 0, fmt.Errorf("add to cache: %w", err)
	}
	return a.added, nil
}

// origin is what two outcomes of a trial must share to be the same.
type origin struct{ digest, profile string }

// group is the rows that may stand in one batch.
type group struct {
	origin
	n       int64
	metrics string
}

// adding collects the rows that an entry does not have.
type adding struct {
	known    map[origin]ledger.Index
	rows     map[group]*ledger.Batch
	added    int64
	conflict string
}

// know makes the rows of a batch known, and gives those that were not.
func (a *adding) know(b *ledger.Batch) (rows []int) {
	from := origin{b.Digest, b.Profile}
	x := a.known[from]
	if x == nil {
		x = ledger.Index{}
		a.known[origin{strings.Clone(b.Digest), strings.Clone(b.Profile)}] = x
	}
	rest := ledger.HashRows(b)
	v := x.Judge(b, rest)
	if len(v.Conflicts) > 0 && a.conflict == "" {
		first := v.Conflicts[0]
		a.conflict = fmt.Sprintf("trial %x/%d/%d has two different outcomes of one plugin file (SHA-256 %.12s)", first.Cell[:5], first.N, first.Repetition, b.Digest)
	}
	x.Commit(v, rest, ledger.FrameRef{})
	return v.New
}

// add takes the ok rows of a batch, which is only lent, that are new.
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
	share := b.Seconds / float64(len(b.Status))
	b = b.Only(ok)
	rows := a.know(b)
	if len(rows) == 0 {
		return nil
	}
	b = b.Only(rows)
	key := group{origin{strings.Clone(b.Digest), strings.Clone(b.Profile)}, b.N, strings.Join(b.Metrics, "\n")}
	to := a.rows[key]
	if to == nil {
		to = &ledger.Batch{Cell: b.Cell, N: b.N, Digest: key.digest, Profile: key.profile, Metrics: slices.Clone(b.Metrics), Values: make([][]float64, len(b.Metrics))}
		a.rows[key] = to
	}
	to.Repetition, to.Status, to.Error = append(to.Repetition, b.Repetition...), append(to.Status, b.Status...), append(to.Error, b.Error...)
	for m, v := range b.Values {
		to.Values[m] = append(to.Values[m], v...)
	}
	to.Seconds += share * float64(len(rows))
	a.added += int64(len(rows))
	return nil
}

// frames is the collected rows as frames.
func (a *adding) frames(noise, about string) (frames []byte, err error) {
	groups := make([]*ledger.Batch, 0, len(a.rows))
	for _, b := range a.rows {
		groups = append(groups, b)
	}
	slices.SortFunc(groups, func(a, b *ledger.Batch) int { return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Digest, b.Digest)) })
	for _, b := range groups {
		order := make([]int, len(b.Repetition))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(b.Repetition[i], b.Repetition[j]) })
		for rows := range slices.Chunk(order, cacheRows) {
			part := b.Rows(rows)
			part.Sweep, part.Worker, part.Notes = noise, "cache", []string{about}
			part.Seconds = b.Seconds * float64(len(rows)) / float64(len(order))
			msg, err := part.Encode()
			if err != nil {
				return nil, err
			}
			frames = ledger.AppendFrame(frames, ledger.FrameOutcomes, msg)
		}
	}
	return frames, nil
}

// appendTo appends to a file of a known size. A failure leaves the file as it was, as far as the disk allows.
func appendTo(path string, size int64, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(b, size); err != nil {
		return errors.Join(err, f.Truncate(size), f.Close())
	}
	return f.Close()
}

// lock takes the cache's lock. It gives up after wait.
func (c *Cache) lock(ctx context.Context, how int, wait time.Duration) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(wait); ; {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.Join(err, f.Close())
		case time.Now().After(deadline):
			return nil, errors.Join(ErrCacheBusy, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Entry is one file of a cache.
type Entry struct {
	Path    string    `json:"path"`
	Cell    string    `json:"cell"` // first 10 hex digits of its key
	Seed    uint64    `json:"seed"`
	What    string    `json:"what"`   // the cell in words
	Trials  int64     `json:"trials"` // of all plugin files
	Plugins int       `json:"plugins"`
	Bytes   int64     `json:"bytes"`
	Used    time.Time `json:"used"`
	Damaged int       `json:"damaged"` // parts of the file
}

// files lists the entries with what their names and the folder tell, the one that was used last first.
func (c *Cache) files() ([]Entry, error) {
	paths, err := ledger.Glob(c.Dir, "[0-9a-f][0-9a-f]/*"+extension)
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // removed meanwhile
		}
		e := Entry{Path: path, Bytes: info.Size(), Used: info.ModTime()}
		name := strings.TrimSuffix(filepath.Base(path), extension)
		e.Cell = name[:min(10, len(name))]
		if _, seed, ok := strings.Cut(name, "-"); ok {
			_, _ = fmt.Sscanf(seed, "%d", &e.Seed) // a stray file has none
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Path, b.Path)) })
	return all, nil
}

// List reads all entries, the one that was used last first.
func (c *Cache) List() ([]Entry, error) {
	all, err := c.files()
	if err != nil {
		return nil, fmt.Errorf("list cache: %w", err)
	}
	for i := range all {
		x := &all[i]
		e, err := c.load(x.Path, nil)
		if err != nil {
			return nil, fmt.Errorf("list cache: %w", err)
		}
		x.Damaged = len(e.damaged)
		digests := map[string]bool{}
		for _, b := range e.batches {
			x.Trials += int64(len(b.Repetition))
			digests[b.Digest] = true
			if len(b.Notes) > 0 {
				x.What = b.Notes[0]
			}
		}
		x.Plugins = len(digests)
	}
	return all, nil
}

// Trim removes the entries that were last used before a time, and then, those first that were used longest ago, as many as it takes to
// bring the cache down to a size.
func (c *Cache) Trim(ctx context.Context, before time.Time, most int64) (removed []Entry, err error) {
	if _, err := os.Stat(c.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	unlock, err := c.lock(ctx, unix.LOCK_EX, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("trim cache %q: %w", c.Dir, err)
	}
	defer unlock()
	all, err := c.files()
	if err != nil {
		return nil, fmt.Errorf("trim cache: %w", err)
	}
	total := int64(0)
	for _, e := range all {
		total += e.Bytes
	}
	for _, e := range slices.Backward(all) {
		if !e.Used.Before(before) && total <= most {
			continue
		}
		if err := os.Remove(e.Path); err != nil {
			return removed, fmt.Errorf("trim cache: %w", err)
		}
		total -= e.Bytes
		removed = append(removed, e)
	}
	return removed, nil
}
