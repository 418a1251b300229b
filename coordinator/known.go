package coordinator

import (
	"fmt"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// Known tells what the ledger of a folder knows of its sweep.
type Known struct {
	Cells, Done int      // Done: those that want no more trials
	Trials      int64    // outcomes of the sweep's cells
	Damaged     []string // parts of the ledger that cannot be read and whose trials no run has run again
	Partial     string   // how far the sweep has come; "" where the result is whole
}

// Nothing reports whether there is no result to show.
func (k *Known) Nothing() bool { return k.Trials == 0 && k.Done == 0 }

// notReached is the reason of cells that a sweep which has not ended leaves undecided.
const notReached = "the sweep has not got there yet"

// WriteKnown writes into the folder dir the files of the result that the ledger of c.Folder gives
// now, with a manifest. It writes none where nothing is known. running tells whether a run is at work.
// It needs Folder, Digests and Looks, and changes nothing in c.Folder.
func WriteKnown(c Config, dir string, running bool) (*Known, error) {
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	if err := r.replay(); err != nil {
		return nil, err
	}
	k := &Known{Cells: len(r.grid.cells), Done: len(r.grid.cells) - r.grid.open, Trials: r.tally.known}
	before := folder.ReadManifest(c.Folder.Dir)
	for _, d := range c.Folder.Report.Damaged {
		if !folder.Repaired(before, d) {
			k.Damaged = append(k.Damaged, d.String())
		}
	}
	if k.Nothing() {
		return k, nil
	}
	m := r.describe(before)
	m.Facts = before.Facts
	m.Looks = r.knownLooks()
	k.Partial = r.howFar(k, running)
	m.Partial, r.limited = k.Partial, notReached
	res, _, err := r.result()
	if err != nil {
		return nil, err
	}
	digest, err := result.WriteResult(dir, *res)
	if err != nil {
		return nil, err
	}
	if k.Partial == "" {
		m.Digest = digest
	}
	if m.Resolved, err = c.Folder.Plan.Resolved(); err != nil {
		return nil, err
	}
	return k, folder.WriteManifest(dir, m)
}

// howFar says how far the sweep has come; "" where a run would find nothing to do and none is at
// work.
func (r *run) howFar(k *Known, running bool) string {
	text := fmt.Sprintf("%d of %d cells done, %s trials run so far",
		k.Done, k.Cells, wording.Thousands(float64(k.Trials)))
	due := r.recheck.Progress().Due
	if r.grid.open == 0 && due > 0 {
		text += fmt.Sprintf(", %d second looks left", due)
	}
	switch {
	case running:
		return text + "; the sweep is still running"
	case r.Folder.Fetched() != "":
		return text + "; " + r.Folder.Fetched()
	case r.grid.open > 0 || due > 0:
		return text + "; the sweep was interrupted: the same command goes on"
	}
	return ""
}

// knownLooks describes the rechecks of earlier runs, and chooses those that remain if all cells are decided.
func (r *run) knownLooks() *schemas.Looks {
	if r.grid.open == 0 {
		r.recheck.Choose(r.decided())
	}
	m := r.recheck.Report()
	if m.Share > 0 && r.grid.open > 0 || r.recheck.Progress().Due > 0 {
		m.Notes = append(m.Notes, "second looks, which may withhold an n*, are still to come")
	}
	for _, x := range r.intake.listAlarms() {
		m.Notes = append(m.Notes, "integrity alarm: "+x)
	}
	return m
}
