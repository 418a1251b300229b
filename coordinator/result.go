package coordinator

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/schemas"
)

// Summary reports how a run ended.
type Summary struct {
	Digest       string // digest of the result files; empty when interrupted
	Cells        int
	Decided      int
	Unfinished   int   // undecided or failed cells
	Trials       int64 // outcomes that workers have sent
	Known        int64 // outcomes that the ledger had before this run
	Counted      int64 // outcomes that the tables count, including outcomes of earlier runs
	Served       int64 // outcomes from the cache
	FailedTrials int64
	Failures     []Failure // first failure of each kind
	Warnings     []schemas.Warnings
	Alarms       []string // trials with two outcomes, and trials whose recheck differs
	Against      []string // searches and lists along which success runs in the wrong direction, with the remedy
	Rechecked    int64    // trials that were rechecked
	RechecksLeft int64    // trials that should have been rechecked and were not
	RecheckNotes []string // notes on the rechecks for readers of the table
	Withheld     int      // cells with a trial whose recheck differs
	Interrupted  bool
	Cache        []string // faults of the cache
	Changes      []string // changes of code whose outcomes are as before, in words
	Workers      []schemas.ManifestWorker
	Partial      string      // reason why the result does not cover the whole sweep, such as a budget; "": it does
	Left         []Undecided // cells that a spent budget leaves undecided

	// Records on servers use these JSON names.
	RefutedBounds    []string // bounds that the table refutes, by row
	RefutedStandings []string // distinct standings of these bounds: trial.Proved, trial.Declared

	RefutedGuarantees []string // privacy guarantees that the table refutes, by row

	Seconds, PluginSeconds float64 // time that slots spent on trials, and the part of it inside plugins
}

// Refutes reports whether the table refutes a bound or a privacy guarantee.
func (s *Summary) Refutes() bool { return len(s.RefutedBounds)+len(s.RefutedGuarantees) > 0 }

// finish writes the manifest and, unless the run was interrupted, the result files.
func (r *run) finish(interrupted bool) (s *Summary, err error) {
	rechecks := r.recheck.Progress()
	conflicts, clashes := result.Alarms(r.Folder.Plan.Cells, r.Folder.Ledger)
	s = &Summary{
		Cells: len(r.grid.cells), Decided: len(r.grid.cells) - r.grid.open, Trials: r.tally.trials,
		Known: r.tally.known, Changes: r.changes,
		Failures: sortedValues(r.tally.failures), Warnings: sortedValues(r.tally.warnings),
		Alarms:    slices.Concat(conflicts, clashes),
		Rechecked: rechecks.Done, RechecksLeft: rechecks.Left,
		Interrupted: interrupted && (r.grid.open > 0 || !r.codeChecked || !rechecks.Ended),
	}
	for _, x := range r.recheck.Contradictions() {
		s.Withheld++
		s.Alarms = append(s.Alarms, fmt.Sprintf("%s: %s", x.What, x.Sentence(true)))
	}
	cacheUse{r.intake, r.Cache}.store()
	s.Workers = sortedValues(r.intake.workers)
	if !s.Interrupted {
		if r.grid.open > 0 && r.jobs.spent {
			s.Partial = fmt.Sprintf("budget of %v was spent", r.Budget)
		}
		if err := r.writeResult(s); err != nil {
			return nil, err
		}
		if s.Partial != "" {
			s.Left = r.grid.undecided(r.tally)
		}
	}
	s.Served, s.Cache = r.tally.served, r.journal.cache
	s.Seconds, s.PluginSeconds = r.tally.seconds, r.tally.plugin
	m := r.manifest(s)
	m.Rechecks = r.recheck.Report()
	s.RecheckNotes = m.Rechecks.Notes
	return s, folder.WriteManifest(r.Folder.Dir, m)
}

// writeResult writes the result files, and adds their counts and findings to s.
func (r *run) writeResult(s *Summary) error {
	res, err := result.Rows(r.Folder.Plan, r.Folder.Ledger, result.Options{
		Partial: s.Partial, Contradictions: r.recheck.Contradicted(),
	})
	if err != nil {
		return err
	}
	s.Unfinished = res.State.Unfinished
	for i := range res.Table {
		row := &res.Table[i]
		s.FailedTrials += row.Failed
		s.Counted += row.Trials
	}
	s.RefutedBounds, s.RefutedStandings = res.Refuted()
	s.RefutedGuarantees = res.RefutedGuarantees()
	s.Against = res.WrongDirections()
	if err := r.Folder.Ledger.Sync(); err != nil { // the result is worthless without its ledger
		return err
	}
	s.Digest, err = result.WriteResult(r.Folder.Dir, *res)
	return err
}

// manifest describes the sweep and all of its runs, this one last.
func (r *run) manifest(s *Summary) schemas.Manifest {
	t := r.tally
	run := schemas.ManifestRun{
		Number: r.Folder.Runs,
		Began:  r.progress.began.UTC().Truncate(time.Second), Seconds: time.Since(r.progress.began).Seconds(),
		Known: t.known, Trials: t.trials, Counted: s.Counted, Served: t.served,
		Rechecked: s.Rechecked, RecheckTime: r.recheck.Progress().Seconds,
		TrialTime: min(t.seconds, math.MaxFloat64), PluginTime: min(t.plugin, math.MaxFloat64), Interrupted: s.Interrupted,
		Ledger: folder.DescribeDamage(r.Folder.Report), Damage: folder.Damage(r.Folder.Report),
		Failures: s.Failures, Warnings: s.Warnings, Alarms: s.Alarms, Workers: s.Workers,
		Notes: r.journal.notes, GoVersion: runtime.Version(),
	}
	if r.pool != nil { // nil if the run was interrupted before it opened the pool
		run.Sandbox = r.pool.Roster.Sandboxes()
	}
	if r.Budget.Limited() {
		run.Budget = r.Budget.String()
	}
	m := r.Folder.Describe(r.Digests, folder.ReadManifest(r.Folder.Dir))
	m.Digest, m.Partial, m.Facts = s.Digest, s.Partial, r.Facts
	m.Runs = append(m.Runs, run)
	return m
}
