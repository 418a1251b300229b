package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Read opens the ledger in the folder dir for reading alone: without its lock, so that a run may be
// at work in it, and without changing a byte. A torn tail is reported and stays. Adding something
// new and Drop fail.
func Read(dir, sweep string) (*Ledger, *Report, error) {
	l := &Ledger{dir: dir, sweep: sweep, fileSize: maxFile, readOnly: true}
	report, err := l.load()
	if err != nil {
		l.closeFiles()
		return nil, nil, fmt.Errorf("read ledger %q: %w", dir, err)
	}
	l.dirty, l.broken = false, errors.New("it is open for reading alone")
	return l, report, nil
}

// Loss says that a machine lost a trial.
type Loss struct {
	Cell          [32]byte
	N, Repetition int64
	Kind, Reason  string
}

// losses holds the last loss of every lost trial, by its key without kind and reason.
type losses map[Loss]Loss

func (l losses) add(v Verdict) {
	for _, i := range v.Lost {
		key := Loss{Cell: v.Batch.Cell, N: v.Batch.N, Repetition: v.Batch.Repetition[i]}
		x := key
		x.Kind, x.Reason = strings.Clone(v.Batch.KindOf(i)), strings.Clone(v.Batch.ReasonOf(i))
		l[key] = x
	}
}

// without returns the losses of trials that have no outcome, in order.
func (l losses) without(known *index) []Loss {
	var all []Loss
	for _, x := range l {
		if known.find(x.Cell, x.N, x.Repetition) == nil {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b Loss) int {
		return cmp.Or(bytes.Compare(a.Cell[:], b.Cell[:]), cmp.Compare(a.N, b.N), cmp.Compare(a.Repetition, b.Repetition))
	})
	return all
}

// Losses returns the trials that were lost and have no outcome: the last loss of each, in order.
func (l *Ledger) Losses() []Loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost.without(l.index)
}

// Agrees reports whether a row of b, which is not of status Lost, is the outcome of its trial, bit for bit,
// and returns that outcome's Fingerprint. Where there is none, they are true and 0.
func (l *Ledger) Agrees(b *Batch, row int) (agrees bool, fingerprint uint64) {
	hashes := hashRows(b.slice(row, row+1))
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.index.find(b.Cell, b.N, b.Repetition[row])
	if r == nil {
		return true, 0
	}
	return r.agrees(b.Status[row], math.Float64bits(b.Error[row]), hashAt(hashes, 0)), r.fingerprint()
}

// Fingerprint returns a hash of everything of a trial's outcome that two runs of the trial must have
// in common. It reports false where the trial has no outcome.
func (l *Ledger) Fingerprint(cell [32]byte, n, repetition int64) (uint64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.index.find(cell, n, repetition)
	if r == nil {
		return 0, false
	}
	return r.fingerprint(), true
}

// Fingerprint returns for the second outcome what Ledger.Fingerprint returns for the first.
func (c Conflict) Fingerprint() uint64 {
	return fingerprint(c.Second.Status, math.Float64bits(c.Second.Error), c.hash)
}

func fingerprint(status uint8, bits, hash uint64) uint64 {
	h := mix(uint64(1+status), hash)
	if status == OK {
		h = mix(h, bits)
	}
	return h
}

// Trial reads the outcome of one trial: a batch of one row with everything that its message said.
// It returns nil where the trial has no outcome.
func (l *Ledger) Trial(cell [32]byte, n, repetition int64) (*Batch, error) {
	l.reading.RLock()
	defer l.reading.RUnlock()
	l.mu.Lock()
	r := l.index.find(cell, n, repetition)
	if r == nil {
		l.mu.Unlock()
		return nil, nil
	}
	ref := l.index.cells[cell].frames[r.owner]
	f := l.files[ref.file].f
	l.mu.Unlock()
	b, err := readFrame(f, ref, make([]byte, frameSize(int(ref.length))))
	if err != nil {
		return nil, fmt.Errorf("read %q at %d: %w", f.Name(), ref.at, err)
	}
	i, ok := slices.BinarySearch(b.Repetition, repetition)
	if !ok {
		return nil, fmt.Errorf("read %q at %d: repetition %d is not there", f.Name(), ref.at, repetition)
	}
	return b.Select([]int{i}), nil
}

// Counts returns the number of outcomes of a cell by sample size.
func (l *Ledger) Counts(cell [32]byte) map[int64]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[int64]int64{}
	if c := l.index.cells[cell]; c != nil {
		for _, p := range c.points {
			counts[p.n] = int64(len(p.rows))
		}
	}
	return counts
}
