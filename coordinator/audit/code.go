package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// CodeError reports that an algorithm's code has changed since the sweep began, and that it does not give the recorded
// outcomes.
type CodeError struct {
	Trial, Algorithm string
	Change           string // what has changed, in words
	Difference       string
}

func (e *CodeError) Error() string {
	return fmt.Sprintf("trial %s of %s comes out differently than recorded (%s): %s",
		e.Trial, e.Algorithm, e.Difference, e.Change)
}

// Code compares the plugins and built-in algorithms that have made the outcomes of a folder with the present ones.
type Code struct {
	Folder *folder.Folder
	Today  map[string]string // identities of the present code, by trial.Cell.Code

	// Environments holds the known environments of the present plugins, by identity.
	Environments map[string]schemas.Environment
}

// Change describes how the code with one identity differs from that with another.
func (x Code) Change(old, new string) string {
	text := "its environment has changed"
	if schemas.ProgramOf(old) != schemas.ProgramOf(new) {
		text = fmt.Sprintf("its code has changed from sha256 %.12s to %.12s", old, new)
	}
	was, is := x.Folder.Ledger.Environment(old), x.Environments[new]
	if was == nil || is == nil {
		return text
	}
	if changes := is.Changes(was); len(changes) > 0 {
		text += ": " + wording.Few(changes, schemas.MaxChanges)
	}
	return text
}

// Foreign reports whether code with a digest differs from the present code of a cell and was not compared with it.
func (x Code) Foreign(c *trial.Cell, digest string) bool {
	today := x.Today[c.Code()]
	return !schemas.SameCode(digest, today) && !slices.Contains(x.Folder.Alike[today], digest)
}

// codeShare is the share of each algorithm's recorded trials that changed code must reproduce. The smallest number is
// minSample.
const codeShare = 0.01

// codeLargest is the number of trials at each cell's largest sample size that changed code must reproduce in addition,
// because code may change for large samples alone.
const codeLargest = 3

// Sample draws trials whose outcomes other code has made, under the sweep's seed. replaced lists the digests of that
// code by the digest of the present code that replaces it.
func (x Code) Sample() (sample []*pool.Request, replaced map[string][]string, err error) {
	d := &drawing{
		ledger: x.Folder.Ledger, random: x.Folder.Plan.Seed.Rand(trial.DrawCode),
		stratum: func(c *trial.Cell) string { return c.As },
		wanted:  func(trials int64) int64 { return share(codeShare, trials) },
		match:   x.Foreign, largest: codeLargest,
	}
	if sample, _, _, err = d.draw(x.Folder.Plan.Cells); err != nil {
		return nil, nil, err
	}
	replaced = map[string][]string{}
	for c, digest := range x.origins() {
		today := x.Today[c.Code()]
		replaced[today] = append(replaced[today], digest)
	}
	return sample, replaced, nil
}

// Report describes each change of code whose outcomes a sample has compared and found equal, on one line for each
// algorithm.
func (x Code) Report(sample []*pool.Request) (lines []string) {
	type agreement struct {
		change                     string
		trials, largest, atLargest int64
	}
	all := map[string]*agreement{} // key: algorithm
	for c, digest := range x.origins() {
		if all[c.As] == nil {
			all[c.As] = &agreement{change: x.Change(digest, x.Today[c.Code()])}
		}
	}
	for _, r := range sample {
		a := all[r.Cell.As]
		if a.trials += int64(r.Len()); r.N > a.largest {
			a.largest, a.atLargest = r.N, 0
		}
		if r.N == a.largest {
			a.atLargest += int64(r.Len())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		lines = append(lines, fmt.Sprintf("%s: %s; %s were run again, %d of them at n = %d, and came out as recorded, so "+
			"the recorded outcomes are kept; --redo drops them", name, a.change,
			wording.Count(int(a.trials), "recorded trial"), a.atLargest, a.largest))
	}
	return lines
}

// origins calls yield for each cell and digest of other code that has made outcomes of it.
func (x Code) origins() func(yield func(c *trial.Cell, digest string) bool) {
	index := indexOf(x.Folder.Plan.Cells)
	return func(yield func(*trial.Cell, string) bool) {
		for _, o := range x.Folder.Ledger.Origins() {
			i, known := index[o.Cell]
			if known && x.Foreign(x.Folder.Plan.Cells[i], o.Digest) && !yield(x.Folder.Plan.Cells[i], o.Digest) {
				return
			}
		}
	}
}

// Check runs a sample again and compares it with the records. It returns a *CodeError if a trial differs.
func (x Code) Check(ctx context.Context, p *pool.Pool, other pool.Source, sample []*pool.Request) error {
	return run(ctx, p, other, sample, func(r *pool.Request, b *ledger.Batch, row int) error {
		n, repetition := b.N, b.Repetition[row]
		id := r.Cell.TrialID(n, repetition)
		if b.Status[row] == ledger.Lost {
			return fmt.Errorf("check trial %s again: %s", id, b.ReasonOf(row))
		}
		if agrees, _, known := x.Folder.Ledger.Agrees(b, row); agrees || !known {
			return nil
		}
		old, err := x.Folder.Ledger.Trial(r.Cell.Key, n, repetition)
		if err != nil {
			return err
		}
		return &CodeError{
			Trial: id, Algorithm: r.Cell.As, Change: x.Change(old.Digest, b.Digest), Difference: difference(old, b, row),
		}
	})
}

// Drop removes from the ledger the outcomes that other code has made, and the rechecks of their cells.
func (x Code) Drop(k *Recheck) error {
	changed := false
	for c := range x.origins() {
		k.Forget(c)
		delete(k.record.Contradictions, c.Key)
		changed = true
	}
	if !changed {
		return nil
	}
	if err := k.write(); err != nil {
		return err
	}
	index := indexOf(x.Folder.Plan.Cells)
	return x.Folder.Ledger.Drop(func(b *ledger.Batch) bool {
		i, known := index[b.Cell]
		return known && x.Foreign(x.Folder.Plan.Cells[i], b.Digest)
	})
}

// Admits returns a function that reports whether a refusal by some code counts: that by the present code does, and that
// by other code with outcomes of the cell, because a sample of these is compared before anything is run.
func (x Code) Admits() func(c *trial.Cell, digest string) bool {
	made := map[trial.Key][]string{}
	for _, o := range x.Folder.Ledger.Origins() {
		made[o.Cell] = append(made[o.Cell], o.Digest)
	}
	return func(c *trial.Cell, digest string) bool {
		return !x.Foreign(c, digest) || slices.Contains(made[c.Key], digest)
	}
}
