package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/schemas"
)

// Retraction says that nothing counts that a worker has sent: neither what stands before it in the
// log nor what stands behind it. The messages stay in the files, as evidence.
type Retraction struct {
	Version  string `json:"version"`
	Sweep    string `json:"sweep"`
	Worker   string `json:"worker"`
	Reason   string `json:"reason"`   // for people
	Outcomes int64  `json:"outcomes"` // number of those that ceased to count
}

// retractions holds the workers whose messages do not count.
type retractions map[string]Retraction

// Retractions returns the retractions in the order of their workers.
func (l *Ledger) Retractions() (list []Retraction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, worker := range slices.Sorted(maps.Keys(l.retracted)) {
		list = append(list, l.retracted[worker])
	}
	return list
}

// Retract makes void what a worker has sent and will send, and records that for good: when Retract
// returns, it is on the disk. What else was added before is on the disk too. It returns what the
// ledger now holds, as Open does.
func (l *Ledger) Retract(worker, reason string) (*Report, error) {
	defer l.lockAll()()
	report, err := l.retract(Retraction{
		Version: schemas.RetractionVersion, Sweep: l.sweep, Worker: worker, Reason: reason,
	})
	if err != nil {
		return nil, fmt.Errorf("retract what worker %q has sent in ledger %q: %w", worker, l.dir, err)
	}
	return report, nil
}

// retract does the work of Retract. The caller holds all locks.
func (l *Ledger) retract(r Retraction) (*Report, error) {
	if l.broken != nil {
		return nil, l.broken
	}
	before := l.index.outcomes()
	l.retracted[r.Worker] = r
	l.closeFiles()
	report, err := l.load()
	if err != nil {
		l.broken = err
		return nil, err
	}
	r.Outcomes = before - report.Outcomes
	l.retracted[r.Worker] = r
	msg, err := json.Marshal(r)
	if err == nil {
		_, err = l.append(frameRetraction, msg)
	}
	if err == nil {
		err = l.files[len(l.files)-1].f.Sync()
	}
	if err != nil { // memory and files differ
		l.broken = fmt.Errorf("%w: open it again", err)
		return nil, err
	}
	return report, nil
}

// decodeRetraction reads a retraction of a ledger's sweep.
func decodeRetraction(msg []byte, sweep string) (r Retraction, err error) {
	if err := json.Unmarshal(msg, &r); err != nil {
		return r, fmt.Errorf("decode retraction: %w", err)
	}
	if r.Version != schemas.RetractionVersion {
		return r, &schemas.VersionError{What: "a retraction", Found: r.Version, Want: schemas.RetractionVersion}
	}
	if r.Sweep != sweep {
		return r, fmt.Errorf("it belongs to sweep %.80q, not %q", r.Sweep, sweep)
	}
	return r, nil
}

// AddFrame adds what a frame of a file of this sweep's ledger says, as Add and Retract do. A message
// that another such frame has made void is left out.
func (l *Ledger) AddFrame(f Frame) error {
	if f.kind != frameRetraction {
		_, err := l.Add(f.Message)
		if errors.Is(err, ErrRetracted) {
			return nil
		}
		return err
	}
	r, err := decodeRetraction(f.Message, l.sweep)
	if err != nil {
		return err
	}
	defer l.lockAll()()
	if _, ok := l.retracted[r.Worker]; ok {
		return nil
	}
	_, err = l.retract(r)
	return err
}
