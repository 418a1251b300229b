// Package plan turns a sweep file into a Plan: cells in which every parameter is fixed, every
// default is filled in and every name has been checked against the algorithms themselves.
//
// A plan is a pure function of the file, the data files and what the algorithms describe. Every
// mistake is reported at its line and column, as sweep.Mistakes. The package needs an Algorithms,
// which answers for the plugins, and the problems of pipeline/problem.
//
// Encode and Decode save a plan, so that it can be read where neither plugins nor data files are at hand.
//
// Start with Resolve. It is a chain of values, each made from the one before it alone:
//
//	sweep.File -> catalog   names of algorithms           catalog.go
//	           -> layout    entries with their axes       axes.go, entry.go, zip.go
//	           -> drafts    combinations, none excluded   draft.go
//	           -> instances problems, opened              instance.go
//	           -> settled   the algorithms' answers       ask.go
//	           -> Plan      cells, fits, words            cell.go, fits.go, explain.go
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

// The largest sweep. Cells are counted before equal ones are merged, trials where n is a list, and
// entries are the items of algorithms of all grids.
const (
	maxCells   = 200_000 // each takes some 1 kB
	maxTrials  = 10_000_000_000
	maxEntries = 10_000
)

// Plan is a sweep file that has been understood whole: nothing in it can be misspelt any more.
type Plan struct {
	Name     string
	Seed     trial.SweepSeed  // not drawn yet where the file calls it secret: see SetSeed
	Cells    []*trial.Cell    // in the order of the tables
	Fits     []Fit            // slopes to show: no cell depends on them, and no outcome
	Source   []byte           // the sweep file as it was read
	File     string           // its absolute path: relative paths in it start at its folder; empty: unknown
	Metrics  []schemas.Metric // by name, for people: no outcome depends on what is said of them
	Warnings []string         // for people; nothing depends on them

	words  []string      // of Explain
	seedAt sweep.Mistake // where the seed stands in the file
}

// Algorithms answers the planner's questions about plugins. Its methods are called from several
// goroutines at once.
type Algorithms interface {
	// List returns every algorithm of the built-in and the third-party files.
	List(ctx context.Context) ([]Described, error)
	// Ask asks the file whether it accepts each of the settings, how it resolves their parameters, and,
	// where they have no sample size, what theory says. It returns one answer for each, in their order.
	Ask(ctx context.Context, plugin string, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error)
}

// Described is an algorithm and the file that serves it.
type Described struct {
	Plugin string // absolute path; empty: built in
	*pluginv1.Algorithm
}

// Options of Resolve.
type Options struct {
	Dir  string // of the sweep file: relative paths in the file start here; empty: the working directory
	Kept *Kept  // gets the rows of data, which a plan does not draw from; nil: their memory is freed
}

// Resolve expands the grids of a file into cells, asking the algorithms about each. What is wrong
// with the file is a sweep.Mistakes; any other error is that of a plugin process or of ctx.
//
// The file may have mistakes. Each step then looks at what they leave sound, and the error holds
// them and all that the steps have found.
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

// build makes the plan, which has no meaning where it has reported mistakes.
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
	instances, opened, err := open(r, o, drafts)
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

// Counts is the size of a plan.
type Counts struct {
	Cells     int
	Exact     bool  // every cell has a list of n: Trials and TrialsMax agree
	Trials    int64 // the least number: a search looks at 8 repetitions, unless every n is infeasible
	TrialsMax int64 // the largest number: a search may use all that trials.max allows
}

// firstCheckpoint is the number of repetitions of one n at which a search may first decide
// something.
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

// atLeast returns a count that may have been cut off at the largest int64.
func atLeast(n int64) string {
	if n > 1e18 {
		return "more than 10^18"
	}
	return fmt.Sprint(n)
}
