package folder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/schemas"
)

// A Record is the record of a sweep's output folder, read without a claim. The folder does not
// change, and a run may be at work in it.
type Record struct {
	Dir    string
	File   string // absolute path of the sweep file; relative paths in it refer to its directory
	Source []byte // text of the sweep file of the last run

	owner owner
}

// A DamagedError reports that the file at Path, which holds the record of a folder, cannot be read.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("read %q: it is damaged: %v", e.Path, e.Err)
}
func (e *DamagedError) Unwrap() error { return e.Err }

// ReadRecord reads which sweep a folder belongs to.
func ReadRecord(dir string) (*Record, error) {
	r := &Record{Dir: dir}
	path := ownerPath(dir)
	raw, err := disk.ReadFile(path, maxRead)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%q is not the output folder of a sweep: it holds no ledger/sweep.json; "+
			"name one like shatter-out/NAME", dir)
	case err != nil:
		return nil, fmt.Errorf("read whose folder it is: %w; name the output folder of a sweep, like "+
			"shatter-out/NAME", err)
	}
	if err := json.Unmarshal(raw, &r.owner); err != nil {
		return nil, &DamagedError{path, err}
	}
	if r.owner.Format != ownerFormat {
		return nil, &schemas.VersionError{
			What: fmt.Sprintf("%q", path), Found: fmt.Sprint(r.owner.Format), Want: fmt.Sprint(ownerFormat),
		}
	}
	if r.owner.ID == "" || len(r.owner.Source) == 0 {
		return nil, fmt.Errorf("%q does not hold the sweep file, as a run of this version leaves it: "+
			"run the sweep again, which repeats nothing", path)
	}
	r.File, r.Source = r.owner.File, r.owner.Source
	return r, nil
}

// HasFinalResult reports whether the result files of a folder correspond to its ledger, that is,
// whether the last run has ended and has written them. It is true for a folder without a ledger, or
// with a ledger that the user may not read.
func HasFinalResult(dir string) bool {
	raw, err := disk.ReadFile(ownerPath(dir), maxRead)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return true
	}
	var o struct{ Runs int }
	if err != nil || json.Unmarshal(raw, &o) != nil {
		return false // ReadRecord returns the reason
	}
	m := ReadManifest(dir)
	if _, err := os.Stat(filepath.Join(dir, "table.parquet")); err != nil || m.Digest == "" || len(m.Runs) == 0 {
		return false
	}
	return cmp.Or(m.Runs[len(m.Runs)-1].Number, len(m.Runs)) == o.Runs
}

// ID returns the id of the folder's sweep.
func (r *Record) ID() string { return r.owner.ID }

// Release returns the version of shatter that made the folder's last run; "": unknown.
func (r *Record) Release() string { return ReadManifest(r.Dir).Facts["version"] }

// Open opens the folder for reading, for the plan that its sweep file yields at present. It fails
// if that plan is not the plan of the run, because a data file or an algorithm has changed.
func (r *Record) Open(p *plan.Plan) (*Folder, error) {
	if err := r.checkFiles(p); err != nil {
		return nil, err
	}
	if err := adoptSeed(r.Dir, r.owner.Seed, p); err != nil {
		return nil, err
	}
	digest, err := p.Digest()
	if err != nil {
		return nil, err
	}
	if digest != r.owner.Digest {
		return nil, fmt.Errorf("the sweep file of %q is no longer understood as it was when it was run:\n  %s\n"+
			"use the plugins and the release that made the result%s",
			r.Dir, strings.Join(plan.Diff(savedPlan(r.Dir, r.owner.Seed), p), "\n  "), inBrackets(r.Release()))
	}
	l, report, err := ledger.Read(filepath.Join(r.Dir, "ledger"), r.owner.ID)
	if err != nil {
		return nil, err
	}
	return &Folder{Dir: r.Dir, ID: r.owner.ID, Plan: p, Ledger: l, Report: report, owner: r.owner}, nil
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// checkFiles returns an error if the content of a data file is not the recorded one.
func (r *Record) checkFiles(p *plan.Plan) error {
	recorded := savedPlan(r.Dir, r.owner.Seed)
	if recorded == nil {
		return nil // the digest of the plan reveals the difference
	}
	digests := map[string]bool{}
	for _, c := range recorded.Cells {
		if _, digest := c.Problem.File(); digest != "" {
			digests[digest] = true
		}
	}
	for _, c := range p.Cells {
		if file, digest := c.Problem.File(); digest != "" && !digests[digest] {
			return fmt.Errorf("data file %q is not the one that the sweep was run with: its SHA-256 is %s, recorded "+
				"is %s; put that one back", file, digest, strings.Join(slices.Sorted(maps.Keys(digests)), ", "))
		}
	}
	return nil
}
