// Package ledger records the outcome of each trial of a sweep.
//
// An outcome whose Sync has returned is never lost. An outcome is counted once, however often and
// by however many workers it is sent. A second, different outcome for a trial is detected. Damage
// to the files is detected and reported, and costs exactly the trials in the damaged parts. A
// ledger needs its own folder on a local disk. The package does not depend on plans or searches.
//
// Start with Batch, the message of a worker, Open and Ledger.Add. Read opens the ledger of a
// running sweep for reading only. Frames, AppendFrame and Set serve other files of outcomes.
package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// Ledger is the open log of one sweep. It is safe for concurrent use.
type Ledger struct {
	sweep string
	lock  *os.File // nil: opened by Read, or closed

	reading sync.RWMutex // held for writing while files are rewritten
	syncing sync.Mutex   // held while waiting for the disk
	mu      sync.Mutex   // guards the following fields
	index   *index
	log     log
}

// A Report holds the findings of Open.
type Report struct {
	Frames   int      // number of sound frames
	Outcomes int64    // number of trials with an outcome
	Torn     *Damage  // incomplete frame at the end, after a crash; Open has removed it; nil: none
	Damaged  []Damage // other damage: it was skipped, and its outcomes are missing
}

// Damage is a part of a file of frames that cannot be read.
type Damage struct {
	File   string `json:"file"` // path
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// String returns "FILE: N bytes at OFFSET: reason".
func (d Damage) String() string {
	return fmt.Sprintf("%s: %d bytes at %d: %s", d.File, d.Bytes, d.Offset, d.Reason)
}

// Trial identifies a trial within its cell.
type Trial struct{ N, Repetition int64 }

// A Conflict is a trial with a second outcome that differs from the first in status, error, kind or a metric. The first
// outcome counts.
type Conflict struct {
	Trial
	First, Second Outcome
	Worker        string // worker that sent the second outcome
	Digest        string // digest of the plugin file that made the second outcome

	hash uint64 // hash of the second outcome: see hashRows
}

// equal reports whether two conflicts are about the same outcomes of one trial.
func (c Conflict) equal(d Conflict) bool {
	return c.Trial == d.Trial && c.hash == d.hash && c.Second.Status == d.Second.Status &&
		math.Float64bits(c.Second.Error) == math.Float64bits(d.Second.Error)
}

// An Outcome is the part of a trial's outcome that the ledger keeps in memory.
type Outcome struct {
	Repetition int64
	Status     uint8   // OK or Failed
	Error      float64 // NaN if Failed
}

// A Verdict classifies the rows of a message: new, duplicate, lost, or in conflict with the ledger.
type Verdict struct {
	Batch     *Batch
	New       []int // rows whose trial had no outcome
	Lost      []int // rows of status Lost whose trial has no outcome
	Duplicate int   // number of rows that equal the recorded outcome bit for bit
	Conflicts []Conflict
	Refused   bool   // the message has a refusal that is new
	Clash     *Clash // contradiction between the message and the ledger about a sample size; nil: none

	hashes []uint64 // hashes of the rows: see hashRows
}

// checkSweep returns an error if the batch belongs to another sweep.
func (b *Batch) checkSweep(sweep string) error {
	if b.Sweep != sweep {
		return fmt.Errorf("it belongs to sweep %.80q, not %q", b.Sweep, sweep)
	}
	return nil
}

// Add compares the rows of a batch with the ledger bit for bit, and appends its message if it adds an outcome,
// a loss, a refusal or a conflict. It does not wait for the disk: see Sync. After an error nothing of the message
// is recorded; see WriteError. b must be the result of Decode for msg, or msg that of Encode for b.
func (l *Ledger) Add(b *Batch, msg []byte) (Verdict, error) {
	if len(msg) > maxMessage {
		return Verdict{}, fmt.Errorf("add result of %d bytes: longer than %d", len(msg), maxMessage)
	}
	if err := b.checkSweep(l.sweep); err != nil {
		return Verdict{}, fmt.Errorf("add result: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.index.judge(b)
	kind := l.index.kind(v)
	if kind == 0 {
		return v, nil
	}
	ref, err := l.log.append(kind, msg)
	if err != nil {
		return Verdict{}, fmt.Errorf("add result to ledger %q: %w", l.log.dir, err)
	}
	l.index.commit(v, ref, kind)
	return v, nil
}

// Sync waits until every batch added so far is on disk. After an error the ledger must be opened again: batches added
// since the last successful Sync may or may not have survived.
func (l *Ledger) Sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	err, dirty := l.log.broken, l.log.dirty
	var f disk.File
	if dirty {
		f = l.log.files[len(l.log.files)-1].f // the previous files were synced when it was created
	}
	l.log.dirty = false
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if dirty {
		if err = f.Sync(); err != nil {
			err = fmt.Errorf("%w: open it again", err)
		}
	}
	if err = cmp.Or(err, inPlace(l.lock, f.File)); err != nil {
		err = fmt.Errorf("sync ledger %q: %w", l.log.dir, err)
		l.mu.Lock()
		l.log.broken = err
		l.mu.Unlock()
	}
	return err
}

// inPlace returns an error if the path of an open file leads to another file. Data written to a removed file is lost,
// and syncing does not detect that. A file may be nil.
func inPlace(files ...*os.File) error {
	for _, f := range files {
		if f == nil {
			continue
		}
		is, err := f.Stat()
		if err != nil {
			return err
		}
		at, err := os.Stat(f.Name())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || !os.SameFile(is, at) {
			return fmt.Errorf("%q was removed, moved or replaced while it was in use; the outcomes in it are lost unless it is "+
				"put back", f.Name())
		}
	}
	return nil
}

// lockAll takes all locks, in their order, before changing files that other goroutines may read
// or sync. The returned function releases them.
func (l *Ledger) lockAll() (unlock func()) {
	l.reading.Lock()
	l.syncing.Lock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		l.syncing.Unlock()
		l.reading.Unlock()
	}
}

// Drop removes the messages that match, with all of their rows, by rewriting the files that
// contain one. All other bytes are unchanged. An error may leave some files rewritten; calling
// Drop again completes the removal.
func (l *Ledger) Drop(match func(*Batch) bool) error {
	defer l.lockAll()()
	err := l.log.broken
	for i := 0; i < len(l.log.files) && err == nil; i++ {
		err = l.log.files[i].drop(match)
	}
	l.log.close()
	if _, e := l.load(); e != nil {
		l.log.broken = e
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("drop results from ledger %q: %w", l.log.dir, err)
	}
	return nil
}

// Close syncs the log and releases the folder's lock. A second Close does nothing.
func (l *Ledger) Close() (err error) {
	if l.lock != nil {
		err = l.Sync()
	}
	defer l.lockAll()()
	l.log.close()
	if l.lock != nil {
		_ = disk.Unlock(l.lock) // the ledger is on the disk
		l.lock = nil
	}
	return err
}
