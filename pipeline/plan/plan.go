package plan

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// Plan is a sweep file that has been understood whole: nothing in it can be misspelt any more.
type Plan struct {
	Name     string
	Seed     uint64
	Cells    []*trial.Cell // in the order of the tables
	Fits     []Fit         // slopes to show: no cell depends on them, and no outcome
	Source   []byte        // the sweep file as it was read
	File     string        // its absolute path: relative paths in it start at its folder; empty: unknown
	Resolved []byte        // canonical JSON of everything in the file that has meaning
	Warnings []string      // for people; nothing depends on them

	words []string // of Explain
}

// Counts is the size of a plan.
type Counts struct {
	Cells     int
	Exact     bool  // every cell has a list of n: Trials and TrialsMax agree
	Trials    int64 // the least number: a search looks at 8 repetitions at least, unless every n is infeasible
	TrialsMax int64 // the largest number: a search may use all that trials.max allows
	Jobs      int64 // the least number of jobs: sessions are bounded; a job is cut further by its predicted time
}

// firstCheckpoint is the number of repetitions of one n at which a search may first decide something.
const firstCheckpoint = 8

// Counts sizes the plan up without running anything.
func (p *Plan) Counts() Counts {
	c := Counts{Cells: len(p.Cells), Exact: true}
	for _, cell := range p.Cells {
		if cell.Find != nil {
			c.Exact = false
			c.Trials = numeric.Add(c.Trials, min(firstCheckpoint, cell.MaxTrials))
			c.TrialsMax = numeric.Add(c.TrialsMax, cell.MaxTrials)
			c.Jobs = numeric.Add(c.Jobs, 1)
			continue
		}
		for _, n := range cell.N {
			c.Trials = numeric.Add(c.Trials, int64(cell.Trials))
			c.TrialsMax = numeric.Add(c.TrialsMax, int64(cell.Trials))
			most := int64(cell.SessionTrials(n))
			c.Jobs = numeric.Add(c.Jobs, (int64(cell.Trials)+most-1)/most)
		}
	}
	return c
}

// Described is one algorithm and the file that serves it.
type Described struct {
	Plugin string // absolute path; empty: built in
	*pluginv1.Algorithm
}

// Algorithms is what the checker asks of the plugins. Its methods are called from several goroutines at once.
type Algorithms interface {
	// List gives every algorithm of the built-in and the third-party files.
	List(ctx context.Context) ([]Described, error)
	// Check asks the file whether it accepts a setting, and resolves its parameters.
	Check(ctx context.Context, plugin string, s *pluginv1.Setting) (*pluginv1.CheckResponse, error)
	// Bound asks the file for the theory's sample sizes.
	Bound(ctx context.Context, plugin string, s *pluginv1.Setting) (*pluginv1.BoundResponse, error)
}

// Options of Resolve.
type Options struct {
	Dir string // of the sweep file: relative paths in the file start here; empty: the working directory
}
