// Package ledger is the book of record of a sweep: it holds which trial had which outcome.
//
// It promises that an outcome whose Sync has returned is never lost; that an outcome is counted
// once, however often and by whomever it is sent; that a second, different outcome for a trial is
// noticed; and that damage to its files is found, named, and costs exactly the trials that it hit.
// It needs a folder of its own on a local disk. It knows neither plans nor searches.
//
// Start with Batch, the message of a worker, Open and Ledger.Add. Read is for whoever looks at the
// ledger of a run without taking part; Frames, AppendFrame and Set are for other files of outcomes.
package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// maxFile is the size in bytes that no file of the log exceeds, unless a single message does.
const maxFile = 64 << 20

// mostFile bounds a file of a log that is read, in bytes.
const mostFile = 2 * maxFile

// ErrMessage is in the chain of Add's error where the message itself is to blame: it is damaged,
// breaks a rule of Batch, or belongs to another sweep. Sending it again does not help.
var ErrMessage = errors.New("result refused")

// Ledger is the open log of one sweep. It is safe for concurrent use.
type Ledger struct {
	dir, sweep string
	lock       *os.File
	fileSize   int64 // maxFile, or less in tests
	readOnly   bool  // opened by Read

	reading sync.RWMutex // held for writing while files are rewritten
	syncing sync.Mutex   // held while the disk is waited for
	mu      sync.Mutex   // guards what follows
	index   *index
	files   []*logFile
	known   map[Conflict]bool // conflicts that are recorded
	clashes map[Clash]bool    // that are recorded
	refused refusals          // that are recorded
	lost    losses            // that are recorded
	scratch []byte
	dirty   bool  // the last file has frames that were not synced
	broken  error // set where the end of the log could not be restored
}

// logFile is one file of the log.
type logFile struct {
	f    disk.File
	size int64
}

// Report says what Open found.
type Report struct {
	Frames    int        // sound frames
	Outcomes  int64      // trials that have one
	Torn      *Damage    // a frame that a crash cut short at the very end; it has been cut off
	Damaged   []Damage   // elsewhere: skipped; outcomes in them are missing
	Conflicts []Conflict // recorded earlier
	Clashes   []Clash    // recorded earlier
	Lost      []Loss     // trials that were lost and have no outcome: the last loss of each
}

// Damage says that a part of a file of frames cannot be read.
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

// Conflict says that a trial has a second outcome, which differs from the first in status, error,
// kind or a metric. The first counts.
type Conflict struct {
	Cell          [32]byte
	N, Repetition int64
	First, Second Outcome
	Worker        string // that sent the second
	Digest        string // of the plugin file that made the second

	hash uint64 // of the second: see hashRows
}

// identity returns what makes two conflicts the same, as a key of a map.
func (c Conflict) identity() Conflict {
	c.Worker, c.Digest = "", ""
	if math.IsNaN(c.First.Error) {
		c.First.Error = -1
	}
	if math.IsNaN(c.Second.Error) {
		c.Second.Error = -1
	}
	return c
}

// Outcome holds what a ledger knows of a trial without reading its files.
type Outcome struct {
	Repetition int64
	Status     uint8   // OK or Failed
	Error      float64 // NaN where Failed
}

// Verdict says what the rows of a message are beside what was known.
type Verdict struct {
	Batch     *Batch
	New       []int // rows whose trial had no outcome
	Lost      []int // rows of status Lost whose trial has no outcome
	Duplicate int   // number of rows that were known, bit for bit
	Conflicts []Conflict
	Refused   bool   // the message's refusal is new
	Clash     *Clash // the message contradicts what is known of its sample size; nil: it does not
}

// Origin counts the outcomes of a cell that came from one plugin file under one float profile.
type Origin struct {
	Cell            [32]byte
	Digest, Profile string
	Outcomes        int64
}

// decode decodes a message as Decode does, and refuses messages of other sweeps.
func (l *Ledger) decode(msg []byte) (*Batch, error) {
	b, err := Decode(msg)
	if err != nil {
		return nil, err
	}
	return b, l.checkSweep(b)
}

func (l *Ledger) checkSweep(b *Batch) error {
	if b.Sweep != l.sweep {
		return fmt.Errorf("it belongs to sweep %.80q, not %q", b.Sweep, l.sweep)
	}
	return nil
}

// Add decodes a message, compares its rows with what is known, bit for bit, and appends the message
// where it tells something new. It does not wait for the disk: see Sync. After an error nothing of
// the message is recorded; see ErrMessage and WriteError. msg must not change as long as the
// verdict's batch is in use.
func (l *Ledger) Add(msg []byte) (Verdict, error) {
	b, err := Decode(msg)
	if err != nil {
		return Verdict{}, fmt.Errorf("add result: %w: %w", ErrMessage, err)
	}
	return l.AddBatch(b, msg)
}

// AddBatch does what Add does for a message that the caller has decoded: b is what Decode returned
// for msg.
func (l *Ledger) AddBatch(b *Batch, msg []byte) (Verdict, error) {
	if len(msg) > maxMessage {
		return Verdict{}, fmt.Errorf("add result of %d bytes: longer than %d: %w", len(msg), maxMessage, ErrMessage)
	}
	if err := l.checkSweep(b); err != nil {
		return Verdict{}, fmt.Errorf("add result: %w: %w", ErrMessage, err)
	}
	hashes := hashRows(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.judge(b, hashes)
	kind := uint32(frameOutcomes)
	switch {
	case len(v.New)+len(v.Lost) > 0, v.Refused:
	case v.Clash != nil && !l.clashes[v.Clash.identity()]:
		kind = frameConflicts
	case slices.ContainsFunc(v.Conflicts, func(c Conflict) bool { return !l.known[c.identity()] }):
		kind = frameConflicts
	default:
		return v, nil // a duplicate, or evidence that is recorded already
	}
	ref, err := l.append(kind, msg)
	if err != nil {
		return Verdict{}, fmt.Errorf("add result to ledger %q: %w", l.dir, err)
	}
	l.index.commit(v, hashes, ref)
	l.refused.commit(v)
	l.lost.add(v)
	if v.Clash != nil {
		l.clashes[v.Clash.identity()] = true
	}
	for _, c := range v.Conflicts {
		l.known[c.identity()] = true
	}
	return v, nil
}

// Sync returns when everything that was added before has reached the disk. Add does not wait for
// it. An error is final: what was added since the last Sync may or may not be safe, and only
// opening the ledger again can tell.
func (l *Ledger) Sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	err, dirty := l.broken, l.dirty
	var f disk.File
	if dirty {
		f = l.files[len(l.files)-1].f // those before it were synced when it was begun
	}
	l.dirty = false
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if dirty {
		if err = f.Sync(); err != nil {
			err = fmt.Errorf("%w: open it again", err)
		}
	}
	if err = cmp.Or(err, l.inPlace(f.File)); err != nil {
		err = fmt.Errorf("sync ledger %q: %w", l.dir, err)
		l.mu.Lock()
		l.broken = err
		l.mu.Unlock()
	}
	return err
}

// inPlace returns an error if the lock, or the log file f, is not what its path leads to: what goes
// to a file that was removed is lost, and syncing it does not tell. f may be nil.
func (l *Ledger) inPlace(f *os.File) error {
	for _, f := range []*os.File{l.lock, f} {
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

// Has reports whether the trial has an outcome.
func (l *Ledger) Has(cell [32]byte, n, repetition int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index.find(cell, n, repetition) != nil
}

// Sizes returns the sample sizes at which the cell has outcomes, ascending.
func (l *Ledger) Sizes(cell [32]byte) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sizes []int64
	if c := l.index.cells[cell]; c != nil {
		for _, p := range c.points {
			sizes = append(sizes, p.n)
		}
	}
	return sizes
}

// Outcomes returns the outcomes of the cell at sample size n, in the order of repetitions, from
// memory. Those that are added while the sequence is read are not among them.
func (l *Ledger) Outcomes(cell [32]byte, n int64) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		for _, r := range l.rows(cell, n) {
			if !yield(r.outcome()) {
				return
			}
		}
	}
}

// rows returns a copy of the outcomes of the cell at sample size n.
func (l *Ledger) rows(cell [32]byte, n int64) []row {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.index.cells[cell].point(n); p != nil {
		return slices.Clone(p.rows)
	}
	return nil
}

// Origins returns, for each cell, the plugin files and float profiles that its outcomes came from,
// in no particular order of cells.
func (l *Ledger) Origins() []Origin {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Origin
	for cell, c := range l.index.cells {
		for _, x := range c.credits {
			by := x.maker.Value()
			all = append(all, Origin{Cell: cell, Digest: by.digest, Profile: by.profile, Outcomes: x.outcomes})
		}
	}
	return all
}

// Each reads the messages of a cell from the files, in the order in which they were added, and
// calls fn with those of their rows that count: the first outcome of each trial, and no lost ones.
// Messages without such a row are left out. A batch is valid until fn returns. fn may call Add, but
// not Drop.
func (l *Ledger) Each(cell [32]byte, fn func(*Batch) error) error {
	l.reading.RLock()
	defer l.reading.RUnlock()
	l.mu.Lock()
	var frames []frameRef
	if c := l.index.cells[cell]; c != nil {
		frames = c.frames[:len(c.frames):len(c.frames)]
	}
	files := l.files[:len(l.files):len(l.files)]
	l.mu.Unlock()
	to := buffers.Get().(*buffer)
	defer buffers.Put(to)
	for i, ref := range frames {
		f := files[ref.file].f
		b, err := to.read(f, ref)
		if err != nil {
			return fmt.Errorf("read %q at %d: %w", f.Name(), ref.at, err)
		}
		l.mu.Lock()
		to.rows = l.index.owns(b, i, to.rows[:0])
		l.mu.Unlock()
		if err := fn(b.Select(to.rows)); err != nil {
			return err
		}
	}
	return nil
}

// readFrame reads the frame at ref of a file into buf, which has its size, and decodes its message.
func readFrame(f disk.File, ref frameRef, buf []byte) (*Batch, error) {
	if _, err := f.ReadAt(buf, ref.at); err != nil {
		return nil, err
	}
	h, ok := readHeader(buf)
	if !ok || h.length != int(ref.length) {
		return nil, errors.New("frame was changed since it was written")
	}
	msg, ok := h.message(buf)
	if !ok {
		return nil, errors.New("frame was changed since it was written")
	}
	return Decode(msg)
}

// lockAll takes all locks, in their order, for what changes files that may be read or synced meanwhile.
// The function that it returns gives them back.
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

// Close syncs the log and gives the folder's lock back. A second Close does nothing.
func (l *Ledger) Close() error {
	if l.readOnly {
		l.closeFiles()
		return nil
	}
	if l.lock == nil {
		return nil
	}
	err := l.Sync()
	defer l.lockAll()()
	l.closeFiles()
	l.lock.Close()
	l.lock = nil
	return err
}
