package folder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/schemas"
)

// An UnfinishedError reports that a folder holds no result of its sweep file yet.
type UnfinishedError struct{ Dir, Reason, Remedy string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%q %s; %s", e.Dir, e.Reason, e.Remedy)
}

// unfinished returns the error for a folder that holds no result, with the reason.
func (f *Folder) unfinished(reason string) error {
	return &UnfinishedError{f.Dir, reason, cmp.Or(f.DescribeFetched(), "run its sweep again to go on")}
}

// Tables holds the findings of [Folder.CheckTables].
type Tables struct {
	Frames         int
	Outcomes       int64
	Repaired       []string // damaged parts of the ledger whose trials an earlier run has repeated
	Damaged        []string // other damaged parts, and a torn tail
	Conflicts      []string // trials with two different outcomes
	Clashes        []string // sample sizes with contradictory refusals or outcomes, a sentence for each
	Contradictions []string // findings of rechecks, a sentence for each cell
	Others         []string // sentences about outcomes that other plugin files than the present ones have made

	Consumed  int64  // trials that enter the result
	Open      int    // number of cells that the ledger does not decide; if positive, nothing is recomputed
	FirstOpen string // first open cell, with the trials that it needs
	Partial   string // reason why the result leaves cells open, and their number; "": it leaves none

	Files    []result.FileCheck
	Digest   string // digest of the recomputed files
	Manifest string // digest in the manifest; "": none
}

// Equal reports whether the check found no fault.
func (t *Tables) Equal() bool {
	return len(t.Damaged)+len(t.Conflicts)+len(t.Clashes)+len(t.Contradictions)+t.Open == 0 &&
		t.Digest == t.Manifest && len(t.Different()) == 0
}

// Different returns the files that differ from the recomputed ones.
func (t *Tables) Different() (list []result.FileCheck) {
	for _, f := range t.Files {
		if f.Difference != "" {
			list = append(list, f)
		}
	}
	return list
}

// CheckTables recomputes all files of the folder's result from its ledger and compares them byte
// for byte. It changes nothing. digests holds the identities of plugins and built-in algorithms, by
// [trial.Cell.Code]. CheckTables returns an [*UnfinishedError] if there is no result to compare
// with.
func (f *Folder) CheckTables(digests map[string]string) (*Tables, error) {
	m := ReadManifest(f.Dir)
	_, err := os.Stat(filepath.Join(f.Dir, "table.parquet"))
	if errors.Is(err, fs.ErrNotExist) && m.Digest == "" {
		return nil, f.unfinished("has no results yet")
	}
	if err := result.CheckVersions(f.Dir); err != nil {
		return nil, err
	}
	contradictions := f.ReadRechecks().Contradicted(f.Ledger)
	res, err := result.Rows(f.Plan, f.Ledger, result.Options{Partial: m.Partial, Contradictions: contradictions})
	if err != nil {
		return nil, err
	}
	t := &Tables{Frames: f.Report.Frames, Outcomes: f.Report.Outcomes, Manifest: m.Digest}
	t.addDamage(f.Report, m)
	t.Conflicts, t.Clashes = result.Alarms(f.Plan.Cells, f.Ledger)
	for _, c := range f.Plan.Cells {
		if x, ok := contradictions[c.Key]; ok {
			t.Contradictions = append(t.Contradictions, x.Sentence(true))
		}
	}
	t.Others = f.otherPlugins(digests)
	if err := f.checkFinished(res.State, m); err != nil {
		return nil, err
	}
	if t.Open, t.FirstOpen = res.State.Open, res.State.FirstOpen; t.Open > 0 {
		if m.Partial == "" {
			return t, nil
		}
		t.Partial = fmt.Sprintf("%s, with %d of %d cells undecided", m.Partial, t.Open, len(f.Plan.Cells))
		t.Open, t.FirstOpen = 0, ""
	}
	for _, x := range res.Trials {
		for _, p := range x.Points {
			t.Consumed += p.Consumed - int64(len(p.Lost))
		}
	}
	t.Files, t.Digest, err = result.CheckResult(f.Dir, *res)
	return t, err
}

// addDamage divides the damage of the ledger's files into parts whose trials an earlier run has
// repeated, according to the manifest, and other parts.
func (t *Tables) addDamage(report *ledger.Report, m schemas.Manifest) {
	for _, d := range report.Damaged {
		repaired := Repaired(m, d)
		d.File = filepath.Base(d.File)
		if repaired {
			t.Repaired = append(t.Repaired, d.String())
		} else {
			t.Damaged = append(t.Damaged, d.String())
		}
	}
	if report.Torn != nil {
		d := *report.Torn
		d.File = filepath.Base(d.File)
		t.Damaged = append(t.Damaged, fmt.Sprintf("a torn tail, which a run at work leaves too: %s", d))
	}
}

// otherPlugins lists the plugins and built-in algorithms whose outcomes enter the result but whose
// code differs from the present one. digests holds the present identities, by [trial.Cell.Code].
func (f *Folder) otherPlugins(digests map[string]string) (lines []string) {
	type change struct{ code, was, is string }
	cells, counts := f.cells(), map[change]int64{}
	for _, o := range f.Ledger.Origins() {
		if c, ok := cells[o.Cell]; ok && !schemas.SameCode(o.Digest, digests[c.Code()]) {
			counts[change{c.Code(), o.Digest, digests[c.Code()]}] += o.Outcomes
		}
	}
	for x, n := range counts {
		lines = append(lines, fmt.Sprintf("%d outcomes were made by other code of %s: SHA-256 %.12s, now it is %.12s",
			n, x.code, x.was, x.is))
	}
	slices.Sort(lines)
	return lines
}

// maxSource is the maximum size in bytes of a stored sweep file that is read.
const maxSource = 1 << 20

// checkFinished returns an [*UnfinishedError] if the files of the folder do not correspond to its
// ledger, because a later run has not ended.
func (f *Folder) checkFinished(s result.State, m schemas.Manifest) error {
	var last schemas.ManifestRun
	if len(m.Runs) > 0 {
		last = m.Runs[len(m.Runs)-1]
	}
	grown := len(m.Runs) == 0 || s.Outcomes > last.Known+last.Trials+last.Served
	if m.Partial != "" && grown {
		return f.unfinished(fmt.Sprintf("holds a partial result (%s), "+
			"and the run that went on from there has not ended", m.Partial))
	}
	if s.Open == 0 {
		return nil
	}
	source, err := disk.ReadFile(filepath.Join(f.Dir, "sweep.yaml"), maxSource)
	changed := err == nil && !bytes.Equal(source, f.Plan.Source)
	if changed || len(m.Runs) == 0 || last.Interrupted {
		return f.unfinished("holds the result of an earlier sweep file, and the run of the new one has not ended")
	}
	return nil
}
