package coordinator

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// UnfinishedError reports that a folder holds no result of its sweep file yet.
type UnfinishedError struct{ Dir, Reason, Remedy string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%q %s; %s (`shatter table` shows what is known)", e.Dir, e.Reason, e.Remedy)
}

// unfinished returns the error of a folder that holds no result, for a reason.
func unfinished(f *folder.Folder, reason string) error {
	return &UnfinishedError{f.Dir, reason, cmp.Or(f.Fetched(), "run its sweep again to go on")}
}

// Tables tells what CheckTables found.
type Tables struct {
	Frames         int
	Outcomes       int64
	Repaired       []string // damaged parts of the ledger that an earlier run has found, and whose trials it has run again
	Damaged        []string // others, and a torn tail
	Conflicts      []string // trials with two different outcomes
	Clashes        []string // sample sizes that were answered for in two ways, a sentence for each
	Contradictions []string // what second looks found out, a sentence for each cell
	Others         []string // plugin files other than today's that have made outcomes, in words

	Consumed     int64  // trials that enter the result
	Missing      int64  // of those that the result's curve counts, how many are not in the ledger
	FirstMissing string // the first of them
	Open         int    // cells that the ledger does not decide: nothing is recomputed then
	FirstOpen    string // what the first of them waits for
	Partial      string // why the result leaves cells open, and how many: a budget; else empty

	Files    []result.FileCheck
	Digest   string // of the recomputed files
	Manifest string // the digest that the manifest gives; empty: none
}

// Equal reports whether everything is as it has to be.
func (t *Tables) Equal() bool {
	return len(t.Damaged)+len(t.Conflicts)+len(t.Clashes)+len(t.Contradictions)+t.Open == 0 && t.Missing == 0 &&
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

// CheckTables makes all files of a result anew from its ledger and compares them byte for byte. It
// needs Folder and Digests, and changes nothing. It returns an *UnfinishedError where
// there is no result to compare with.
func CheckTables(c Config) (*Tables, error) {
	m := folder.ReadManifest(c.Folder.Dir)
	_, err := os.Stat(filepath.Join(c.Folder.Dir, "table.parquet"))
	if errors.Is(err, fs.ErrNotExist) && m.Digest == "" {
		return nil, unfinished(c.Folder, "has no results yet")
	}
	if err := result.CheckVersions(c.Folder.Dir); err != nil {
		return nil, err
	}
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	if err := r.replay(); err != nil {
		return nil, err
	}
	t := &Tables{Frames: c.Folder.Report.Frames, Outcomes: c.Folder.Report.Outcomes, Manifest: m.Digest}
	t.addDamage(c.Folder.Report, m)
	for _, x := range c.Folder.Report.Conflicts {
		t.Conflicts = append(t.Conflicts, trial.Key(x.Cell).Short()+fmt.Sprintf("/%d/%d", x.N, x.Repetition))
	}
	t.Clashes = slices.Sorted(maps.Values(r.intake.clashes))
	for _, x := range r.recheck.Contradictions() {
		t.Contradictions = append(t.Contradictions, x.Sentence(true))
	}
	t.Others = otherPlugins(r.grid, r.intake.ledger, c.Digests)
	if err := checkFinished(r, m); err != nil {
		return nil, err
	}
	if r.grid.open > 0 {
		if t.findMissing(r); m.Partial == "" || t.Missing > 0 {
			return t, nil
		}
		r.limited = m.Partial
		t.Partial = fmt.Sprintf("%s, with %d of %d cells undecided", m.Partial, t.Open, len(r.grid.cells))
		t.Open, t.FirstOpen = 0, ""
	}
	return t, t.compare(r)
}

// compare makes the files anew and compares them with those of the folder.
func (t *Tables) compare(r *run) error {
	res, _, err := r.result()
	if err != nil {
		return err
	}
	for _, x := range res.Trials {
		for _, p := range x.Points {
			t.Consumed += p.Consumed - int64(len(p.Lost))
		}
	}
	t.Files, t.Digest, err = result.CheckResult(r.Folder.Dir, *res)
	return err
}

// replay feeds the cells with what the ledger has, losses included.
func (r *run) replay() error {
	if err := r.recover(); err != nil {
		return err
	}
	r.grid.loadRefusals(r.intake.ledger, anyFile)
	r.grid.sort()
	for _, x := range r.Folder.Report.Lost {
		if c, ok := r.grid.byKey[x.Cell]; ok && c.Has(x.N, x.Repetition) {
			c.Lose(x.N, x.Repetition, x.Reason)
			r.grid.queue(c)
		}
	}
	r.grid.sort()
	return nil
}

// addDamage sorts what is wrong with the ledger's files into what an earlier run has dealt with, as
// the manifest tells, and what nobody has dealt with.
func (t *Tables) addDamage(report *ledger.Report, m schemas.Manifest) {
	for _, d := range report.Damaged {
		repaired := folder.Repaired(m, d)
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

// otherPlugins lists the plugins and built-in algorithms other than today's whose outcomes enter the
// result. Digests are today's: see Config.
func otherPlugins(g *grid, l *ledger.Ledger, digests map[string]string) (lines []string) {
	type change struct{ code, was, is string }
	counts := map[change]int64{}
	for _, o := range l.Origins() {
		if c, ok := g.byKey[o.Cell]; ok && o.Digest != digests[c.Code()] {
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

// maxSource is the size in bytes of the largest copy of a sweep file that is read.
const maxSource = 1 << 20

// checkFinished returns an *UnfinishedError if the files of the folder are not those of its ledger,
// because a run that went on has not ended.
func checkFinished(r *run, m schemas.Manifest) error {
	dir := r.Folder.Dir
	var last schemas.ManifestRun
	if len(m.Runs) > 0 {
		last = m.Runs[len(m.Runs)-1]
	}
	grown := len(m.Runs) == 0 || r.tally.known > last.Known+last.Trials+last.Served
	if m.Partial != "" && grown {
		return unfinished(r.Folder, fmt.Sprintf("holds a partial result (%s), "+
			"and the run that went on from there has not ended", m.Partial))
	}
	if r.grid.open == 0 {
		return nil
	}
	source, err := disk.ReadFile(filepath.Join(dir, "sweep.yaml"), maxSource)
	changed := err == nil && !bytes.Equal(source, r.Folder.Plan.Source)
	if changed || len(m.Runs) == 0 || last.Interrupted {
		return unfinished(r.Folder, "holds the result of an earlier sweep file, and the run of the new one has not ended")
	}
	return nil
}

// findMissing finds what the ledger lacks: trials that the curve's rows count, and what the cells
// that it does not decide wait for.
func (t *Tables) findMissing(r *run) {
	byName := map[string]*cell{}
	for _, c := range r.grid.cells {
		byName[c.Key.Short()] = c
		if c.done {
			continue
		}
		if t.Open++; t.FirstOpen == "" {
			t.FirstOpen = c.Words()
			if b, ok := c.nextFree(c.Want()); ok {
				t.FirstOpen += fmt.Sprintf(", which needs trial %s", c.TrialID(b.N, int64(b.First)))
			}
		}
	}
	curve, err := sheet.ReadTable(r.Folder.Dir, "curve")
	if err != nil {
		return // it is compared with nothing: the open cells are reason enough
	}
	column := func(name string) int { return schemas.IndexOf(curve.Columns, name) }
	id, size, trials := column("cell"), column("n"), column("trials")
	if min(id, size, trials) < 0 {
		return
	}
	for row := range curve.Len() {
		name, _ := curve.At(row, id).(string)
		n, _ := curve.At(row, size).(int64)
		count, _ := curve.At(row, trials).(int64)
		c := byName[name]
		for rep := int64(0); c != nil && rep < min(count, 1<<31); rep++ {
			if r.intake.ledger.Has(c.Key, n, rep) {
				continue
			}
			if t.Missing++; t.Missing == 1 {
				t.FirstMissing = c.TrialID(n, rep)
			}
		}
	}
}
