package coordinator

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/pipeline/ledger"

	"github.com/shatterlab/shatter/pipeline/plan"
)

// Folder is a sweep's output folder, claimed: this process holds its lock until Close.
type Folder struct {
	Dir    string
	ID     string // of the sweep in this folder, for the queue
	Plan   *plan.Plan
	Ledger *ledger.Ledger
	Report *ledger.Report // what opening the ledger found
	Redo   bool           // outcomes of other plugin files are dropped instead of checked

	state folderState
}

// folderState is ledger/sweep.json: to whom the folder belongs.
type folderState struct {
	Format   int             `json:"format"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Seed     uint64          `json:"seed"`
	Resolved json.RawMessage `json:"resolved"`
	// Compared are the digests of plugin files whose recorded outcomes agree with those of another one, by its digest.
	Compared map[string]string `json:"compared,omitempty"`
	Runs     int               `json:"runs"`
	// File and Source are the path and the text of the sweep file that the last run was given.
	File   string `json:"file,omitempty"`
	Source []byte `json:"source,omitempty"`
}

const folderFormat = 1

// Mode says what to do with a folder that holds outcomes already.
type Mode struct {
	Extend bool // the sweep file has changed: keep what still applies
	Fresh  bool // set the old folder aside
	Redo   bool // drop outcomes made by other plugin files
}

// OwnerError says that a folder holds something else.
type OwnerError struct{ Dir, Reason string }

func (e *OwnerError) Error() string {
	return fmt.Sprintf("claim output folder %q: %s; choose another folder with --out, or set this one aside with --fresh", e.Dir, e.Reason)
}

// ChangedError says that the sweep file is not the one that the folder's outcomes were made for.
type ChangedError struct {
	Dir  string
	Diff []string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the sweep file has changed since %q was begun:\n  %s\nrun again with --extend to keep what still applies and run what is new, or with --fresh to set the old folder aside",
		e.Dir, strings.Join(e.Diff, "\n  "))
}

// Claim takes a folder for a plan: a new one, or the one that an earlier run of the same plan has left.
func Claim(dir string, plan *plan.Plan, mode Mode) (*Folder, error) {
	if mode.Fresh {
		if err := setAside(dir); err != nil {
			return nil, err
		}
	}
	f := &Folder{Dir: dir, Plan: plan, Redo: mode.Redo}
	if err := f.read(mode); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "ledger"), 0o777); err != nil {
		return nil, fmt.Errorf("make output folder: %w", err)
	}
	var err error
	if f.Ledger, f.Report, err = ledger.Open(filepath.Join(dir, "ledger"), f.state.ID); err != nil {
		return nil, err
	}
	f.ID = f.state.ID
	f.state.Name, f.state.Resolved = plan.Name, plan.Resolved
	f.state.File, f.state.Source = plan.File, plan.Source
	f.state.Runs++
	if f.state.Compared == nil {
		f.state.Compared = map[string]string{}
	}
	if err := f.write(); err != nil {
		return nil, errors.Join(err, f.Ledger.Close())
	}
	return f, nil
}

// Close gives the folder back.
func (f *Folder) Close() error { return f.Ledger.Close() }

// Resumed reports whether the folder holds outcomes of an earlier run.
func (f *Folder) Resumed() bool { return f.state.Runs > 1 }

func (f *Folder) path() string { return filepath.Join(f.Dir, "ledger", "sweep.json") }

// read finds out whose folder it is.
func (f *Folder) read(mode Mode) error {
	raw, err := os.ReadFile(f.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.claimNew()
	case err != nil:
		return fmt.Errorf("read whose folder it is: %w", err)
	}
	if err := json.Unmarshal(raw, &f.state); err != nil || f.state.Format != folderFormat || f.state.ID == "" {
		return &OwnerError{f.Dir, fmt.Sprintf("%s is not readable as version %d", f.path(), folderFormat)}
	}
	if f.state.Name != f.Plan.Name {
		return &OwnerError{f.Dir, fmt.Sprintf("it belongs to the sweep %q, not %q", f.state.Name, f.Plan.Name)}
	}
	if f.state.Seed != f.Plan.Seed {
		return &OwnerError{f.Dir, fmt.Sprintf("its outcomes were drawn under seed %d, none of them applies to seed %d", f.state.Seed, f.Plan.Seed)}
	}
	if !bytes.Equal(f.state.Resolved, f.Plan.Resolved) && !mode.Extend {
		return &ChangedError{f.Dir, plan.Diff(f.state.Resolved, f.Plan.Resolved)}
	}
	return nil
}

// claimNew takes a folder that is not there or empty.
func (f *Folder) claimNew() error {
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into output folder: %w", err)
	}
	for _, e := range entries {
		if e.Name() != "ledger" { // a run that was ended before it wrote anything leaves this
			return &OwnerError{f.Dir, fmt.Sprintf("it holds %q and no ledger", e.Name())}
		}
	}
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	f.state = folderState{Format: folderFormat, ID: hex.EncodeToString(id), Seed: f.Plan.Seed}
	return nil
}

func (f *Folder) write() error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // the resolved file must come back as it was
	if err := enc.Encode(f.state); err != nil {
		return err
	}
	return writeFile(f.path(), buf.Bytes())
}

// setAside renames a folder to the first free name beside it, unless somebody works in it.
func setAside(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if lock, err := os.Open(filepath.Join(dir, "ledger", "lock")); err == nil {
		defer lock.Close()
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return fmt.Errorf("set the old folder %q aside: a run works in it: wait for that or stop it", dir)
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

// Lines says in words what opening the ledger found wrong.
func Lines(r *ledger.Report) (lines []string) {
	if r.Torn != nil {
		lines = append(lines, fmt.Sprintf("a torn tail was cut off: %s; its trials are run again", r.Torn))
	}
	for _, d := range r.Damaged {
		lines = append(lines, fmt.Sprintf("a damaged part was skipped: %s; its trials are run again", d))
	}
	return lines
}

// writeFile writes a small file beside and renames it, so that nobody ever sees half of it.
func writeFile(path string, data []byte) error {
	beside := path + ".new"
	f, err := os.Create(beside)
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %q: %w", path, err), os.Remove(beside))
	}
	return os.Rename(beside, path)
}
