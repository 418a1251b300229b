package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A Record is ledger/sweep.json: the sweep that an output folder belongs to.
type Record struct {
	Dir string `json:"-"` // output folder

	Format int          `json:"format"`
	ID     string       `json:"id"` // name of the sweep on the queue
	Name   string       `json:"name"`
	Seed   schemas.Seed `json:"seed"`
	Digest string       `json:"digest"` // see plan.Plan.Digest
	// Alike lists, by the digest of a plugin or built-in algorithm, the digests of other code whose
	// recorded outcomes it has reproduced.
	Alike map[string][]string `json:"alike,omitempty"`
	Runs  int                 `json:"runs"` // number of runs that were begun
	// File and Source are the absolute path and the text of the last run's sweep file. Relative paths in it refer to
	// the file's directory.
	File   string `json:"file,omitempty"`
	Source []byte `json:"source,omitempty"`
	// Fetched is the state of the sweep on the server from which the folder was fetched; nil: not
	// fetched.
	Fetched *Fetched `json:"fetched,omitempty"`
}

const recordFormat = 2

func recordPath(dir string) string { return filepath.Join(dir, "ledger", "sweep.json") }

// A DamagedError reports that the file at Path, which holds the record of a folder, cannot be read.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("read %q: it is damaged: %v", e.Path, e.Err)
}
func (e *DamagedError) Unwrap() error { return e.Err }

// readRecord reads the record of a folder.
func readRecord(dir string) (*Record, error) {
	r := &Record{Dir: dir}
	path := recordPath(dir)
	raw, err := disk.ReadFile(path, maxRead)
	if err != nil {
		return nil, fmt.Errorf("read whose folder it is: %w", err)
	}
	switch err := json.Unmarshal(raw, r); {
	case err != nil:
		return nil, &DamagedError{path, err}
	case r.Format != recordFormat:
		return nil, &schemas.VersionError{
			What: fmt.Sprintf("%q", path), Found: fmt.Sprint(r.Format), Want: fmt.Sprint(recordFormat),
		}
	case r.ID == "" || len(r.Source) == 0:
		return nil, fmt.Errorf("%q does not hold the sweep file, as a run of this version leaves it: "+
			"run the sweep again, which repeats nothing", path)
	}
	return r, nil
}

// ReadRecord reads which sweep a folder belongs to. The folder does not change, and a run may be at work in it.
func ReadRecord(dir string) (*Record, error) {
	r, err := readRecord(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%q is not the output folder of a sweep: it holds no ledger/sweep.json; "+
			"name one like shatter-out/NAME", dir)
	case errors.As(err, new(*fs.PathError)):
		return nil, fmt.Errorf("%w; name the output folder of a sweep, like shatter-out/NAME", err)
	}
	return r, err
}

func (r *Record) write() error {
	write := disk.WriteFile
	if r.Seed.Secret() {
		write = disk.WriteSecret
	}
	err := write(recordPath(r.Dir), func(to io.Writer) error {
		enc := json.NewEncoder(to)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	})
	if err != nil {
		return fmt.Errorf("write %q: %w", recordPath(r.Dir), err)
	}
	return nil
}

// HasFinalResult reports whether the result files of a folder correspond to its ledger, that is,
// whether the last run has ended and has written them. It is true for a folder without a ledger, or
// with a ledger that the user may not read.
func HasFinalResult(dir string) bool {
	r, err := readRecord(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return true
	}
	m := ReadManifest(dir)
	if _, e := os.Stat(filepath.Join(dir, "table.parquet")); err != nil || e != nil || m.Digest == "" || len(m.Runs) == 0 {
		return false // ReadRecord returns the reason
	}
	return m.Runs[len(m.Runs)-1].Number == r.Runs
}

// Release returns the version of shatter that made the folder's last run; "": unknown.
func (r *Record) Release() string { return ReadManifest(r.Dir).Facts["version"] }

// adoptSeed gives a plan with a secret seed the seed of the folder. It returns an error if the plan
// has another seed.
func (r *Record) adoptSeed(p *plan.Plan) error {
	made := r.Seed
	blame := func(format string, args ...any) error { return &SeedError{p.SeedMistake(format, args...)} }
	switch {
	case made.Secret() && p.Seed.Secret():
		return p.SetSeed(trial.SweepSeed{Seed: made})
	case made.Secret():
		return blame("the outcomes in %q were drawn under a secret seed of that folder, none of them applies to "+
			"seed %v: write seed: secret", r.Dir, p.Seed)
	case p.Seed.Secret():
		return blame("the outcomes in %q were drawn under seed %v, none of them applies to a secret one: "+
			"write seed: %v", r.Dir, made, made)
	case made != p.Seed.Seed:
		return blame("the outcomes in %q were drawn under seed %v, none of them applies to seed %v: "+
			"write seed: %v", r.Dir, made, p.Seed, made)
	}
	return nil
}

// Open opens the folder for reading, for the plan that its sweep file yields at present. It fails
// if that plan is not the plan of the run, because a data file or an algorithm has changed.
func (r *Record) Open(p *plan.Plan) (*Folder, error) {
	if err := r.adoptSeed(p); err != nil {
		return nil, err
	}
	if p.Digest() != r.Digest {
		return nil, r.explain(p)
	}
	l, report, err := ledger.Read(filepath.Join(r.Dir, "ledger"), r.ID)
	if err != nil {
		return nil, err
	}
	return &Folder{Record: *r, Plan: p, Ledger: l, Report: report}, nil
}

// explain returns the error about a plan that is not the plan of the run.
func (r *Record) explain(p *plan.Plan) error {
	recorded, digests := r.earlierPlan(), map[string]bool{}
	if recorded != nil {
		for _, c := range recorded.Cells {
			_, digest := c.Problem.File()
			digests[digest] = true
		}
	}
	for _, c := range p.Cells {
		if file, digest := c.Problem.File(); recorded != nil && !digests[digest] && digest != "" {
			delete(digests, "")
			return fmt.Errorf("data file %q is not the one that the sweep was run with: its SHA-256 is %s, recorded "+
				"is %s; put that one back", file, digest, strings.Join(slices.Sorted(maps.Keys(digests)), ", "))
		}
	}
	release := r.Release()
	if release != "" {
		release = " (" + release + ")"
	}
	return fmt.Errorf("the sweep file of %q is no longer understood as it was when it was run:\n  %s\n"+
		"use the plugins and the release that made the result%s",
		r.Dir, strings.Join(plan.Diff(recorded, p), "\n  "), release)
}
