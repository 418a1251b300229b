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

// Rechecks is the record of a folder's rechecks: ledger/rechecks.json. An entry is valid only while
// its trial has the outcome that was rechecked.
type Rechecks struct {
	Format int `json:"format"`
	// Equal holds the outcomes that a recheck reproduced, by cell.
	Equal map[trial.Key]Fingerprints `json:"equal"`
	// Contradictions holds at most one trial for each cell.
	Contradictions map[trial.Key]Contradiction `json:"contradictions,omitempty"`
	// Quarantined holds the names of workers whose results do not count.
	Quarantined []string `json:"quarantined,omitempty"`
}

// A Contradiction is a trial whose recheck differs.
type Contradiction struct {
	N           int64                 `json:"n"`
	Repetition  int64                 `json:"repetition"`
	Fingerprint uint64                `json:"fingerprint"` // fingerprint of the recorded outcome
	Found       schemas.Contradiction `json:"found"`
}

const rechecksFormat = 1

// Add records an outcome that a recheck reproduced.
func (l *Rechecks) Add(cell trial.Key, n, repetition int64, fingerprint uint64) {
	if l.Equal[cell] == nil {
		l.Equal[cell] = Fingerprints{}
	}
	if l.Equal[cell][n] == nil {
		l.Equal[cell][n] = map[int64]uint64{}
	}
	l.Equal[cell][n][repetition] = fingerprint
}

// Contradicted returns the contradictions that concern outcomes in a ledger, by cell.
func (l *Rechecks) Contradicted(in *ledger.Ledger) map[trial.Key]schemas.Contradiction {
	found := map[trial.Key]schemas.Contradiction{}
	for key, x := range l.Contradictions {
		if now, ok := in.Find(key, x.N, x.Repetition); ok && now.Fingerprint == x.Fingerprint {
			found[key] = x.Found
		}
	}
	return found
}

// Fingerprints holds the fingerprints of a cell's outcomes, by sample size and repetition.
type Fingerprints map[int64]map[int64]uint64

func (f *Folder) rechecksPath() string { return filepath.Join(f.Dir, "ledger", "rechecks.json") }

// ReadRechecks reads the record of rechecks. A missing or damaged record reads as empty, and its
// rechecks are repeated.
func (f *Folder) ReadRechecks() *Rechecks {
	raw, err := disk.ReadFile(f.rechecksPath(), maxRead)
	if err != nil {
		raw = nil
	}
	return decodeRechecks(raw)
}

func decodeRechecks(raw []byte) *Rechecks {
	l := &Rechecks{}
	if json.Unmarshal(raw, l) != nil || l.Format != rechecksFormat {
		l = &Rechecks{Format: rechecksFormat}
	}
	if l.Equal == nil {
		l.Equal = map[trial.Key]Fingerprints{}
	}
	if l.Contradictions == nil {
		l.Contradictions = map[trial.Key]Contradiction{}
	}
	return l
}

// WriteRechecks replaces the record of rechecks.
func (f *Folder) WriteRechecks(l *Rechecks) error {
	raw, err := json.Marshal(l)
	if err == nil {
		err = disk.WriteFile(f.rechecksPath(), disk.Bytes(append(raw, '\n')))
	}
	if err != nil {
		return fmt.Errorf("write rechecks: %w", err)
	}
	return nil
}
