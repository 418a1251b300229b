// Package plan resolves a sweep file to a [Plan]: cells with all parameters fixed, defaults filled in and names checked
// by the algorithms.
//
// A plan is a pure function of the sweep file, the data files and the algorithms' answers. Mistakes are reported with
// line and column, as sweep.Mistakes. [Algorithms] represents the plugins.
//
// [Plan.Encode] and [Decode] save a plan, so that programs can read it without plugins and data files.
//
// Start with [Resolve]. It computes a chain of values, each from the one before:
//
//	sweep.File -> catalog         names of algorithms          catalog.go
//	           -> layout          entries with their axes      axes.go, entry.go, zip.go
//	           -> draft           combination, not excluded    draft.go
//	           -> instance        draft with an open problem   instance.go
//	           -> checkedInstance with the algorithm's answer  ask.go
//	           -> Plan            cells, fits, description     cell.go, fits.go, explain.go
package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Limits of a sweep. Cells include duplicates. Trials are counted for listed sample sizes only. Entries are the
// algorithms of all grids.
const (
	maxCells   = 200_000 // each takes about 1 kB
	maxTrials  = 10_000_000_000
	maxEntries = 10_000
)

// A Plan is a fully resolved sweep file: every name is known and every default filled in.
type Plan struct {
	Name     string
	Seed     trial.SweepSeed  // a secret seed is not drawn yet: see SetSeed
	Cells    []*trial.Cell    // order of the tables
	Fits     []Fit            // fits to display; outcomes do not depend on them
	Source   []byte           // content of the sweep file
	File     string           // absolute path of the sweep file; empty: unknown
	Metrics  []schemas.Metric // ordered by name, for display
	Warnings []string         // for display

	description []fact        // description of the grids, for Explain
	notes       []string      // sentences that explain the facts
	seedAt      sweep.Mistake // position of the seed in the file
}

// Algorithms answers questions about plugins. It must be safe for concurrent use.
type Algorithms interface {
	// List returns all algorithms, built in and of plugins.
	List(ctx context.Context) ([]Described, error)
	// Ask asks a plugin whether it accepts each of the settings, how it resolves their parameters and, for settings
	// without a sample size, which bounds hold. It returns one answer per setting, in order.
	Ask(ctx context.Context, plugin string, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error)
}

// A Described is an algorithm and the plugin that provides it.
type Described struct {
	Plugin string // absolute path; empty: built in
	Digest string // identity of the plugin of a problem; empty for algorithms
	*pluginv1.Algorithm
}

// Options configures [Resolve].
type Options struct {
	Dir      string        // base of relative paths in the file; empty: the working directory
	Problems *ProblemCache // receives the rows of data, for workers of this process; may be nil
}

// Resolve expands the grids of a file into cells and checks each with its algorithm. Mistakes in the file are
// returned as sweep.Mistakes; any other error comes from a plugin process or from ctx.
//
// The file may already have mistakes. Each step then checks the valid parts, and the error contains all mistakes.
func Resolve(ctx context.Context, f *sweep.File, algorithms Algorithms, o Options) (*Plan, error) {
	r := sweep.NewReporter(f)
	p, err := build(ctx, r, algorithms, o)
	switch mistakes := r.Err(); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case mistakes != nil && err != nil:
		return nil, fmt.Errorf("%w\n%w", mistakes, err)
	case mistakes != nil:
		return nil, mistakes
	}
	return p, err
}

// build returns the plan. The plan is invalid if build reports mistakes.
func build(ctx context.Context, r *sweep.Reporter, algorithms Algorithms, o Options) (*Plan, error) {
	if !r.Readable() {
		return nil, nil
	}
	known, err := newCatalog(ctx, r, algorithms, o.Dir)
	if err != nil {
		return nil, err
	}
	l := layOut(r, known, o)
	drafts := l.expand(r)
	instances, opened, err := open(ctx, r, algorithms, o, drafts)
	if err != nil {
		return nil, err
	}
	all, refused, err := ask(ctx, r, algorithms, instances)
	if err != nil {
		return nil, err
	}
	if r.Count() > 0 {
		l.checkFits(r)
		return nil, nil
	}
	p, err := assemble(l, all, r)
	if err != nil || p == nil {
		return nil, err
	}
	p.Warnings = slices.Concat(r.File.Notes, opened, refused, p.Warnings)
	return p, nil
}

// Counts holds the size of a plan.
type Counts struct {
	Cells     int
	Exact     bool  // no cell is searched: Trials and TrialsMax agree
	Trials    int64 // minimum: a search runs at least 8 repetitions, unless every n is infeasible
	TrialsMax int64 // maximum: a search may run up to trials.max
}

// firstCheckpoint is the number of repetitions after which a search may make its first decision.
const firstCheckpoint = 8

// Counts returns the size of the plan without running anything.
func (p *Plan) Counts() Counts {
	c := Counts{Cells: len(p.Cells), Exact: true}
	for _, cell := range p.Cells {
		if cell.Searched() && cell.Trivial() || cell.Rung != nil && cell.Rung.Position > 1 { // a search is counted once
			continue
		}
		least := numeric.Multiply(int64(cell.Trials), int64(len(cell.N)))
		most := least
		if cell.Searched() {
			c.Exact = false
			least, most = min(firstCheckpoint, cell.MaxTrials), cell.MaxTrials
		}
		c.Trials, c.TrialsMax = numeric.Add(c.Trials, least), numeric.Add(c.TrialsMax, most)
	}
	return c
}

// atLeast formats a count, which may have been limited to the largest int64.
func atLeast(n int64) string {
	if n > 1e18 {
		return "more than 10^18"
	}
	return fmt.Sprint(n)
}
