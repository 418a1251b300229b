package folder

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Looks is the record of the second looks of a folder: ledger/looks.json. An entry holds only as
// long as its trial has the outcome that was looked at.
type Looks struct {
	Format int `json:"format"`
	// Equal holds the outcomes that a second look found again, by cell.
	Equal map[trial.Key]Outcomes `json:"equal"`
	// Contradictions holds at most one trial for each cell.
	Contradictions map[trial.Key]Contradiction `json:"contradictions,omitempty"`
	// Quarantined holds the names of workers whose results do not count.
	Quarantined []string `json:"quarantined,omitempty"`
}

// Contradiction is a trial whose second look came out differently.
type Contradiction struct {
	N           int64                 `json:"n"`
	Repetition  int64                 `json:"repetition"`
	Fingerprint uint64                `json:"fingerprint"` // of the recorded outcome
	Found       schemas.Contradiction `json:"found"`
}

const looksFormat = 1

// Add records an outcome that a second look found again.
func (l *Looks) Add(cell trial.Key, n, repetition int64, fingerprint uint64) {
	if l.Equal[cell] == nil {
		l.Equal[cell] = Outcomes{}
	}
	if l.Equal[cell][n] == nil {
		l.Equal[cell][n] = map[int64]uint64{}
	}
	l.Equal[cell][n][repetition] = fingerprint
}

// Contradicted returns the contradictions about outcomes that a ledger still has, by cell.
func (l *Looks) Contradicted(in *ledger.Ledger) map[trial.Key]schemas.Contradiction {
	found := map[trial.Key]schemas.Contradiction{}
	for key, x := range l.Contradictions {
		if now, ok := in.Fingerprint(key, x.N, x.Repetition); ok && now == x.Fingerprint {
			found[key] = x.Found
		}
	}
	return found
}

// Outcomes are fingerprints of a cell's outcomes, by sample size and repetition.
type Outcomes map[int64]map[int64]uint64

// Fingerprint returns that of the outcome of a trial, and whether it is there.
func (o Outcomes) Fingerprint(n, repetition int64) (fingerprint uint64, found bool) {
	fingerprint, found = o[n][repetition]
	return fingerprint, found
}

func (f *Folder) looksPath() string { return filepath.Join(f.Dir, "ledger", "looks.json") }

// ReadLooks reads the record of second looks. One that is missing or damaged reads as empty: its
// looks are made again.
func (f *Folder) ReadLooks() *Looks {
	raw, err := disk.ReadFile(f.looksPath(), maxRead)
	if err != nil {
		raw = nil
	}
	return decodeLooks(raw)
}

func decodeLooks(raw []byte) *Looks {
	l := &Looks{}
	if json.Unmarshal(raw, l) != nil || l.Format != looksFormat {
		l = &Looks{Format: looksFormat}
	}
	if l.Equal == nil {
		l.Equal = map[trial.Key]Outcomes{}
	}
	if l.Contradictions == nil {
		l.Contradictions = map[trial.Key]Contradiction{}
	}
	return l
}

// WriteLooks replaces the record of second looks.
func (f *Folder) WriteLooks(l *Looks) error {
	raw, err := json.Marshal(l)
	if err == nil {
		err = disk.WriteFile(f.looksPath(), disk.Bytes(append(raw, '\n')))
	}
	if err != nil {
		return fmt.Errorf("write second looks: %w", err)
	}
	return nil
}
