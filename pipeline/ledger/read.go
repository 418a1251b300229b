package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/schemas"
)

// A Loss is a trial that a machine lost.
type Loss struct {
	Trial
	Kind, Reason string
}

// An Origin counts the outcomes of a cell from one plugin file under one float profile.
type Origin struct {
	Cell            [32]byte
	Digest, Profile string
	Outcomes        int64
}

// look calls fn with the index of a cell, if there is one.
func (l *Ledger) look(cell [32]byte, fn func(c *cellIndex)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.index.cells[cell]; c != nil {
		fn(c)
	}
}

// A Record describes the recorded outcome of a trial.
type Record struct {
	Worker      string // sender
	Fingerprint uint64 // hash of all values that must be equal in two runs of the trial
}

// Find returns the record of a trial. It returns false if the trial has no outcome.
func (l *Ledger) Find(cell [32]byte, n, repetition int64) (record Record, found bool) {
	l.look(cell, func(c *cellIndex) {
		if r := c.find(n, repetition); r != nil {
			record, found = Record{c.frames[r.owner].worker.Value(), r.fingerprint()}, true
		}
	})
	return record, found
}

// Counts returns the number of outcomes of a cell by sample size.
func (l *Ledger) Counts(cell [32]byte) map[int64]int64 {
	counts := map[int64]int64{}
	l.look(cell, func(c *cellIndex) {
		for _, p := range c.points {
			counts[p.n] = int64(len(p.rows))
		}
	})
	return counts
}

// Outcomes returns the outcomes of the cell at sample size n, in the order of repetitions, from
// memory. It omits outcomes that are added while the caller iterates.
func (l *Ledger) Outcomes(cell [32]byte, n int64) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		var rows []row
		l.look(cell, func(c *cellIndex) {
			if p := c.point(n); p != nil {
				rows = slices.Clone(p.rows)
			}
		})
		for _, r := range rows {
			if !yield(r.outcome()) {
				return
			}
		}
	}
}

// Refusals returns the refused sample sizes of the cell, ascending.
func (l *Ledger) Refusals(cell [32]byte) (all []Refused) {
	l.look(cell, func(c *cellIndex) { all = slices.Clone(c.refused) })
	return all
}

// Contradictions returns the conflicts about trials of a cell, in the order of trials, and the clashes about its sample
// sizes, ascending in n. Each is listed once.
func (l *Ledger) Contradictions(cell [32]byte) (conflicts []Conflict, clashes []Clash) {
	l.look(cell, func(c *cellIndex) { conflicts, clashes = slices.Clone(c.conflicts), slices.Clone(c.clashes) })
	slices.SortStableFunc(conflicts, func(a, b Conflict) int { return a.compare(b.Trial) })
	slices.SortStableFunc(clashes, func(a, b Clash) int { return cmp.Compare(a.N, b.N) })
	return conflicts, clashes
}

// Losses returns the last loss of each trial of the cell that was lost and has no outcome, in the
// order of trials.
func (l *Ledger) Losses(cell [32]byte) (all []Loss) {
	l.look(cell, func(c *cellIndex) {
		for t, x := range c.lost {
			if c.find(t.N, t.Repetition) == nil {
				all = append(all, x)
			}
		}
	})
	slices.SortFunc(all, func(a, b Loss) int { return a.compare(b.Trial) })
	return all
}

// compare orders trials by n and repetition.
func (t Trial) compare(u Trial) int {
	return cmp.Or(cmp.Compare(t.N, u.N), cmp.Compare(t.Repetition, u.Repetition))
}

// Origins returns, for each cell, the plugin files and float profiles of its outcomes. The order
// of cells is unspecified.
func (l *Ledger) Origins() []Origin {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Origin
	for _, c := range l.index.cells {
		all = append(all, c.credits...)
	}
	return all
}

// Environment returns the environment of the plugin with an identity; nil if no message has reported it.
func (l *Ledger) Environment(identity string) schemas.Environment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index.environments[identity]
}

// Agrees reports whether a row of b, whose status is not Lost, equals the recorded outcome of its trial bit for bit.
// fingerprint is that of the record. known is false if the trial has no outcome.
func (l *Ledger) Agrees(b *Batch, row int) (agrees bool, fingerprint uint64, known bool) {
	hashes := hashRows(b.Select([]int{row}))
	l.look(b.Cell, func(c *cellIndex) {
		if r := c.find(b.N, b.Repetition[row]); r != nil {
			agrees = r.agrees(b.Status[row], math.Float64bits(b.Error[row]), hashes[0])
			fingerprint, known = r.fingerprint(), true
		}
	})
	return agrees, fingerprint, known
}

// fingerprint returns the fingerprint of the row's record.
func (r *row) fingerprint() uint64 {
	h := mix(uint64(1+r.status), r.hash)
	if r.status == OK {
		h = mix(h, r.bits)
	}
	return h
}

// Each reads the messages of a cell from the files, in the order of their addition, and calls fn
// with the rows that count: the first outcome of each trial, and no lost ones. It omits messages
// without such a row. fn may call Add, but not Drop.
func (l *Ledger) Each(cell [32]byte, fn func(*Batch) error) error {
	return l.read(cell, func(c *cellIndex) (owners []uint32) {
		for i := range c.frames {
			owners = append(owners, uint32(i))
		}
		return owners
	}, func(int64) bool { return true }, fn)
}

// Range reads from the files the outcomes of the cell at sample size n with repetitions first to
// last-1, and calls fn as Each does, with these rows only. It is safe for concurrent use.
func (l *Ledger) Range(cell [32]byte, n, first, last int64, fn func(*Batch) error) error {
	return l.read(cell, func(c *cellIndex) (owners []uint32) {
		p := c.point(n)
		for i := p.seek(0, first); p != nil && i < len(p.rows) && int64(p.rows[i].repetition) < last; i++ {
			owners = append(owners, p.rows[i].owner)
		}
		slices.Sort(owners)
		return slices.Compact(owners)
	}, func(repetition int64) bool { return first <= repetition && repetition < last }, fn)
}

// Trial reads the outcome of one trial: a batch of one row with all fields of its message. It
// returns nil if the trial has no outcome.
func (l *Ledger) Trial(cell [32]byte, n, repetition int64) (one *Batch, err error) {
	err = l.Range(cell, n, repetition, repetition+1, func(b *Batch) error {
		one = b
		return nil
	})
	return one, err
}

// read reads the frames of a cell whose numbers choose returns, and calls fn with the rows that
// count and match.
func (l *Ledger) read(
	cell [32]byte, choose func(*cellIndex) []uint32, match func(repetition int64) bool, fn func(*Batch) error,
) error {
	l.reading.RLock()
	defer l.reading.RUnlock()
	var owners []uint32
	var frames []frameRef
	var files []*logFile
	l.look(cell, func(c *cellIndex) {
		owners, files = choose(c), slices.Clip(l.log.files)
		for _, owner := range owners {
			frames = append(frames, c.frames[owner])
		}
	})
	var buf []byte
	for i, ref := range frames {
		f := files[ref.file].f
		size := frameSize(int(ref.length))
		buf = slices.Grow(buf[:0], size)[:size]
		b, err := readFrame(f, ref, buf)
		if err != nil {
			return fmt.Errorf("read %q at %d: %w", f.Name(), ref.at, err)
		}
		var rows []int
		l.look(cell, func(c *cellIndex) { rows = c.owns(b, owners[i], match) })
		if err := fn(b.Select(rows)); err != nil {
			return err
		}
	}
	return nil
}

// readFrame reads the frame at ref of a file into buf, which must have its size, and decodes its
// message.
func readFrame(f disk.File, ref frameRef, buf []byte) (*Batch, error) {
	if _, err := f.ReadAt(buf, ref.at); err != nil {
		return nil, err
	}
	frame := frameAt(buf, 0)
	if frame.Damage != "" || len(frame.Message) != int(ref.length) {
		return nil, errors.New("frame was changed since it was written")
	}
	return Decode(frame.Message)
}
