package folder

import (
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// Known reports what the ledger of a folder knows of its sweep.
type Known struct {
	Cells, Done int      // Done: those that want no more trials
	Trials      int64    // outcomes of the sweep's cells
	Damaged     []string // parts of the ledger that cannot be read and whose trials no run has run again
	Partial     string   // how far the sweep has come; "" if the result is whole
}

// Nothing reports whether there is no result to show.
func (k *Known) Nothing() bool { return k.Trials == 0 && k.Done == 0 }

// notReached is the reason of cells that a sweep which has not ended leaves undecided.
const notReached = "the sweep has not got there yet"

// A Due reports the rechecks of a folder, and the number of those that remain to be made.
type Due func(*result.Result) (rechecks *schemas.Rechecks, due int64)

// WriteKnown writes into the directory dir the files of the result that the folder's ledger gives now, with a
// manifest. It writes none if nothing is known, and changes nothing in the folder. Digests are the identities
// of plugins and built-in algorithms, by [trial.Cell.Code]; running reports whether a run is at work.
func (f *Folder) WriteKnown(dir string, digests map[string]string, running bool, due Due) (*Known, error) {
	res, err := result.Rows(f.Plan, f.Ledger, result.Options{
		Partial: notReached, Contradictions: f.ReadRechecks().Contradicted(f.Ledger),
	})
	if err != nil {
		return nil, err
	}
	k := &Known{Cells: len(f.Plan.Cells), Done: len(f.Plan.Cells) - res.State.Open, Trials: res.State.Outcomes}
	before := ReadManifest(f.Dir)
	for _, d := range f.Report.Damaged {
		if !Repaired(before, d) {
			k.Damaged = append(k.Damaged, d.String())
		}
	}
	if k.Nothing() {
		return k, nil
	}
	m := f.Describe(digests, before)
	m.Facts = before.Facts
	rechecks, left := due(res)
	if rechecks.Share > 0 && res.State.Open > 0 || left > 0 {
		rechecks.Notes = append(rechecks.Notes, "rechecks, which may withhold an n*, are still to come")
	}
	conflicts, clashes := result.Alarms(f.Plan.Cells, f.Ledger)
	for _, x := range slices.Concat(conflicts, clashes) {
		rechecks.Notes = append(rechecks.Notes, "integrity alarm: "+x)
	}
	m.Rechecks = rechecks
	k.Partial = f.howFar(k, left, running)
	m.Partial = k.Partial
	digest, err := result.WriteResult(dir, *res)
	if err != nil {
		return nil, err
	}
	if k.Partial == "" {
		m.Digest = digest
	}
	if m.Resolved, err = f.Plan.Resolved(); err != nil {
		return nil, err
	}
	return k, WriteManifest(dir, m)
}

// howFar returns how far the sweep has come, with that many rechecks left; "" if a run would find nothing
// to do and none is at work.
func (f *Folder) howFar(k *Known, rechecks int64, running bool) string {
	text := fmt.Sprintf("%d of %d cells done, %s trials run so far",
		k.Done, k.Cells, wording.Thousands(float64(k.Trials)))
	if k.Done == k.Cells && rechecks > 0 {
		text += fmt.Sprintf(", %d rechecks left", rechecks)
	}
	switch {
	case running:
		return text + "; the sweep is still running"
	case f.Fetched() != "":
		return text + "; " + f.Fetched()
	case k.Done < k.Cells || rechecks > 0:
		return text + "; the sweep was interrupted: the same command goes on"
	}
	return ""
}
