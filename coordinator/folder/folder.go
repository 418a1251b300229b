package folder

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A Folder is a sweep's output folder. A folder returned by [Claim] holds its lock until Close.
type Folder struct {
	Record
	Plan   *plan.Plan
	Ledger *ledger.Ledger
	Report *ledger.Report // findings of opening the ledger
	Redo   bool           // drop outcomes of other plugin files instead of comparing them
	Moves  string         // reason why brackets of the earlier run may move; "": they do not
}

// A Mode controls how [Claim] treats a folder with outcomes. The zero Mode continues an earlier run
// of the same sweep file.
type Mode struct {
	Extend bool // the sweep file has changed: keep the outcomes that still apply
	Fresh  bool // rename the old folder and begin a new one
	Redo   bool // drop outcomes made by other plugin files

	ID string // name of the sweep if the folder is new; "": a random one
}

// An OwnerError reports that a folder belongs to another sweep or holds other files.
type OwnerError struct{ Dir, Reason string }

func (e *OwnerError) Error() string {
	return fmt.Sprintf("claim output folder %q: %s", e.Dir, e.Reason)
}

// A ChangedError reports that the sweep differs from the sweep that has made the outcomes of the folder.
type ChangedError struct {
	Dir   string
	Same  bool // the sweep file is the same: something that it relies on has changed
	Diff  []string
	Moves string // reason why brackets may move if the folder is claimed with Mode.Extend; "": they do not
}

func (e *ChangedError) Error() string {
	if e.Same {
		return fmt.Sprintf("the sweep file is the same as when %q was begun, but a default of an algorithm, or a file "+
			"that it names, has changed:\n  %s", e.Dir, strings.Join(e.Diff, "\n  "))
	}
	return fmt.Sprintf("the sweep file has changed since %q was begun:\n  %s", e.Dir, strings.Join(e.Diff, "\n  "))
}

// A SeedError reports that the outcomes of a folder were drawn under another seed. Err is a mistake
// at the seed's place in the sweep file.
type SeedError struct{ Err error }

func (e *SeedError) Error() string { return e.Err.Error() }
func (e *SeedError) Unwrap() error { return e.Err }

// Claim claims a folder for a plan: a new folder, or one that an earlier run of the same plan has
// left. It returns an [*OwnerError], a [*SeedError] or a [*ChangedError] if the folder is not the
// plan's.
func Claim(dir string, plan *plan.Plan, mode Mode) (*Folder, error) {
	if mode.Fresh {
		if err := setAside(dir); err != nil {
			return nil, err
		}
	}
	f := &Folder{Record: Record{Dir: dir}, Plan: plan, Redo: mode.Redo}
	if err := f.checkOwner(mode); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "ledger"), 0o755); err != nil {
		return nil, fmt.Errorf("make output folder: %w", err)
	}
	var err error
	if f.Ledger, f.Report, err = ledger.Open(filepath.Join(dir, "ledger"), f.ID); err != nil {
		return nil, err
	}
	f.Name, f.File, f.Source, f.Fetched = plan.Name, plan.File, plan.Source, nil
	f.Runs++
	if err := errors.Join(f.write(), f.markOutdated()); err != nil {
		return nil, errors.Join(err, f.Ledger.Close())
	}
	return f, nil
}

// outdatedName is the file that marks the result files of an earlier run for readers other than shatter, from the start
// of a run until [WriteManifest] records new result files.
const outdatedName = "OUTDATED.txt"

func (f *Folder) markOutdated() error {
	if _, err := os.Stat(filepath.Join(f.Dir, "table.parquet")); err != nil {
		return nil
	}
	return disk.WriteFile(filepath.Join(f.Dir, outdatedName), disk.Bytes(fmt.Appendf(nil,
		"The result files in this folder are those of an earlier run. Run %d has begun, and has not written its own yet:\n"+
			"it is at work, or was interrupted. `shatter table` and the other commands show what is known now.\n", f.Runs)))
}

// Close closes the ledger and releases the folder's lock.
func (f *Folder) Close() error { return f.Ledger.Close() }

// KeepCompared records which code has reproduced outcomes of other code: see [Record].
func (f *Folder) KeepCompared(alike map[string][]string) error {
	if f.Alike == nil {
		f.Alike = map[string][]string{}
	}
	for today, recorded := range alike {
		all := slices.Concat(f.Alike[today], recorded)
		slices.Sort(all)
		f.Alike[today] = slices.Compact(all)
	}
	return f.write()
}

// checkOwner reads which sweep the folder belongs to. It returns an error if that is not the
// plan's.
func (f *Folder) checkOwner(mode Mode) error {
	record, err := readRecord(f.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.claimNew(mode.ID)
	case errors.As(err, new(*fs.PathError)):
		return err
	case err != nil:
		return &OwnerError{f.Dir, err.Error()}
	case record.Name != f.Plan.Name:
		return &OwnerError{f.Dir, fmt.Sprintf("it belongs to the sweep %q, not %q", record.Name, f.Plan.Name)}
	}
	f.Record = *record
	if err := f.adoptSeed(f.Plan); err != nil {
		return err
	}
	digest := f.Plan.Digest()
	if digest == f.Digest {
		return nil
	}
	was := f.earlierPlan()
	f.Moves = plan.DescribeMoves(was, f.Plan)
	if !mode.Extend {
		return &ChangedError{
			Dir: f.Dir, Same: bytes.Equal(f.Source, f.Plan.Source), Diff: plan.Diff(was, f.Plan), Moves: f.Moves,
		}
	}
	f.Digest = digest
	return nil
}

// claimNew claims a folder that is empty or does not exist, for the sweep id; "": a random id.
func (f *Folder) claimNew(id string) error {
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into output folder: %w", err)
	}
	for _, e := range entries {
		if e.Name() != "ledger" { // left by a run that ended before it wrote anything
			return &OwnerError{f.Dir, fmt.Sprintf("it holds %q and no ledger", e.Name())}
		}
	}
	if id == "" {
		drawn := make([]byte, 8)
		if _, err := rand.Read(drawn); err != nil {
			return err
		}
		id = hex.EncodeToString(drawn)
	}
	if !f.Plan.Seed.Drawn() {
		seed, err := schemas.DrawSeed()
		if err != nil {
			return err
		}
		if err := f.Plan.SetSeed(trial.SweepSeed{Seed: seed}); err != nil {
			return err
		}
	}
	f.Format, f.ID, f.Seed, f.Digest = recordFormat, id, f.Plan.Seed.Seed, f.Plan.Digest()
	return nil
}

// setAside renames a folder to the first free name NAME.1, NAME.2, ... It fails if a run works in
// the folder.
func setAside(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if lock, _, err := disk.Open(filepath.Join(dir, "ledger", "lock")); err == nil {
		defer lock.Close()
		switch err := disk.TryLock(lock, disk.Exclusive); {
		case errors.Is(err, disk.ErrLocked):
			return fmt.Errorf("set the old folder %q aside: a run works in it: wait for that or stop it", dir)
		case err != nil:
			return fmt.Errorf("set the old folder %q aside: %w", dir, err)
		}
	}
	for i := 1; ; i++ {
		to := fmt.Sprintf("%s.%d", filepath.Clean(dir), i)
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(dir, to); err != nil {
				return fmt.Errorf("set the old folder aside: %w", err)
			}
			return nil
		}
	}
}
