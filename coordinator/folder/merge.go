package folder

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

// CheckMerge returns an error if the outcomes of another folder cannot be added to this one.
func (f *Folder) CheckMerge(from *Folder) error {
	mine, theirs := f.Profile(), from.Profile()
	switch {
	case f.Digest != from.Digest || f.Plan.Seed != from.Plan.Seed:
		return fmt.Errorf("merge %q into %q: they are of different sweep files or seeds; shatter table shows both",
			from.Dir, f.Dir)
	case mine != "" && theirs != "" && mine != theirs:
		return fmt.Errorf("merge %q into %q: their float profiles are %s and %s; last bits may differ",
			from.Dir, f.Dir, theirs, mine)
	}
	return nil
}

// Merge adds the outcomes, refusals and rechecks of another folder of the same plan. A trial with two
// different outcomes becomes a conflict of the ledger. added counts the new outcomes.
func (f *Folder) Merge(from *Folder) (added int, err error) {
	add := func(b *ledger.Batch) error {
		b.Sweep = f.ID
		if f.Ledger.Environment(b.Digest) == nil {
			b.Environment = from.Ledger.Environment(b.Digest)
		}
		message, err := b.Encode()
		if err != nil {
			return err
		}
		verdict, err := f.Ledger.Add(b, message)
		added += len(verdict.New)
		return err
	}
	for _, c := range f.Plan.Cells {
		if err := from.Ledger.Each(c.Key, add); err != nil {
			return added, err
		}
		for _, x := range from.Ledger.Refusals(c.Key) {
			err := add(&ledger.Batch{
				Cell: c.Key, N: x.N, Digest: x.Digest, Profile: x.Profile, Worker: x.Worker, Refusal: &x.Refusal,
			})
			if err != nil {
				return added, err
			}
		}
	}
	if err := f.Ledger.Sync(); err != nil {
		return added, err
	}
	rechecks, others := f.ReadRechecks(), from.ReadRechecks()
	for cell, sizes := range others.Equal {
		for n, repetitions := range sizes {
			for repetition, fingerprint := range repetitions {
				rechecks.Add(cell, n, repetition, fingerprint)
			}
		}
	}
	for cell, x := range others.Contradictions {
		if _, ok := rechecks.Contradictions[cell]; !ok {
			rechecks.Contradictions[cell] = x
		}
	}
	return added, f.WriteRechecks(rechecks)
}
