package folder

import (
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// A Known reports the state of a sweep according to the ledger of its folder.
type Known struct {
	Cells, Done int      // Done: number of cells that want no more trials
	Trials      int64    // outcomes of the sweep's cells
	Damaged     []string // unreadable parts of the ledger whose trials no run has repeated
	Partial     string   // progress of the sweep; "": the result is complete
}

// Empty reports whether there is no result to show.
func (k *Known) Empty() bool { return k.Trials == 0 && k.Done == 0 }

// notReached is the reason for undecided cells of an unfinished sweep.
const notReached = "the sweep has not got there yet"

// A Due returns the report on the rechecks of a folder, and the number of missing rechecks.
type Due func(*result.Result) (rechecks *schemas.Rechecks, due int64)

// WriteKnown writes the result files that the folder's ledger yields at present, and a manifest,
// into the directory dir. It writes nothing if there is no result, and changes nothing in the
// folder. digests holds the identities of plugins and built-in algorithms, by [trial.Cell.Code];
// running reports whether a run is at work.
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
	if k.Empty() {
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
	return k, WriteManifest(dir, m)
}

// howFar describes the progress of the sweep, with the number of missing rechecks; "": a run would
// find nothing to do and none is at work.
func (f *Folder) howFar(k *Known, rechecks int64, running bool) string {
	text := fmt.Sprintf("%d of %d cells done, %s trials run so far",
		k.Done, k.Cells, wording.Thousands(float64(k.Trials)))
	if k.Done == k.Cells && rechecks > 0 {
		text += fmt.Sprintf(", %d rechecks left", rechecks)
	}
	switch {
	case running:
		return text + "; the sweep is still running"
	case f.Fetched != nil:
		return text + "; " + f.DescribeFetched()
	case k.Done < k.Cells || rechecks > 0:
		return text + "; the sweep was interrupted: the same command goes on"
	}
	return ""
}
