package lead

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/schemas"
)

// A Submission is a submitted sweep. It refers to content by SHA-256 in hex.
type Submission struct {
	Format   int               `json:"format"`
	Name     string            `json:"name"`
	Resolved string            `json:"resolved"` // digest of the resolved sweep, without a secret seed
	Plugins  map[string]string `json:"plugins"`  // identities of plugins and built-in algorithms, by trial.Cell.Code
	Data     map[string]string `json:"data"`     // digests of data files, by path
	Plan     string            `json:"plan"`     // digest of the saved plan
	File     string            `json:"file"`     // path of the sweep file on the submitting machine
	Seed     schemas.Seed      `json:"seed"`     // a secret seed has been drawn
	Content  []string          `json:"content"`  // digests of all content that the submission put on the server
	Cells    int               `json:"cells"`
	By       string            `json:"by"` // submitter, for display
	At       time.Time         `json:"at"`
}

const submissionFormat = 2

// ID returns the first 12 hex digits of the SHA-256 of the relevant parts of a submission: the
// resolved sweep with its seed, and the digests of plugins and data. Equal content yields the same
// sweep, independent of submitter, machine and time.
func (s *Submission) ID() string {
	raw, err := json.Marshal(struct {
		Format   int
		Resolved string
		Seed     string // "secret" for a secret seed
		Plugins  []string
		Data     []string
	}{submissionFormat, s.Resolved, s.Seed.String(), digests(s.Plugins), digests(s.Data)})
	if err != nil {
		panic(err) // the fields can always be encoded
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])[:12]
}

// digests returns the distinct values of a map, ascending.
func digests(m map[string]string) []string { return slices.Compact(slices.Sorted(maps.Values(m))) }

// Values of DesiredState.Do.
const (
	Run    = "run"
	Pause  = "pause"
	Cancel = "cancel"
	Delete = "delete" // a coordinator removes all data of the sweep from the server
)

// A DesiredState is the state that a user requests for a sweep. The default is Run.
type DesiredState struct {
	Do       string             `json:"do"`       // Run, Pause, Cancel or Delete
	Priority int                `json:"priority"` // sweeps of greater priority run first; usually 0
	Weight   float64            `json:"weight"`   // share of the workers' time among sweeps of one priority; 0: 1
	Budget   coordinator.Budget `json:"budget"`   // budget of the whole sweep
	By       string             `json:"by"`       // author of the last change, for display
	At       time.Time          `json:"at"`
	Why      string             `json:"why,omitempty"`   // reason, if a coordinator has paused it
	Spent    bool               `json:"spent,omitempty"` // the reason is that the budget is spent
	After    uint64             `json:"after,omitempty"` // epoch of a failure after which it is tried again
}

// ChangeDesiredState replaces the desired state of a sweep by the result of change.
func ChangeDesiredState(ctx context.Context, r *queue.Registry, id string, change func(*DesiredState) error) error {
	return r.Change(ctx, id, func(raw []byte) ([]byte, error) {
		w := decodeDesiredState(raw)
		if err := change(&w); err != nil {
			return nil, err
		}
		return json.Marshal(w)
	})
}

// decodeDesiredState decodes a desired state. It ignores invalid data of other clients.
func decodeDesiredState(raw []byte) DesiredState {
	w := DesiredState{Do: Run}
	if raw == nil {
		return w
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return DesiredState{Do: Run}
	}
	if CheckWeight(w.Weight) != nil {
		w.Weight = 0
	}
	return w
}

// CheckWeight returns an error unless a weight is valid for jobs.
func CheckWeight(weight float64) error {
	if 0 < weight && weight <= fleet.MaxWeight {
		return nil
	}
	return fmt.Errorf("weight %v: a number above 0 and up to %d is needed", weight, fleet.MaxWeight)
}

// shouldDelete reports whether the desired state is deletion.
func shouldDelete(raw []byte) bool { return decodeDesiredState(raw).Do == Delete }

// Submit stores a submission, with its desired state, under its id. It reports whether the sweep is
// new, and whether it is kept: it should have been deleted, and now has the new desired state. In
// other cases only the text of the sweep changes. The content to which the submission refers must be
// on the server.
func Submit(ctx context.Context, r *queue.Registry, s *Submission, w DesiredState) (added, kept bool, err error) {
	s.Format = submissionFormat
	store := func(s Submission, do func(context.Context, string, []byte) error) error {
		raw, err := json.Marshal(s)
		if err != nil {
			return err
		}
		return do(ctx, s.ID(), raw)
	}
	var unknown *queue.IDError
	found, err := r.Find(ctx, s.ID())
	if err != nil && !errors.As(err, &unknown) {
		return false, false, err
	}
	if found != nil && !shouldDelete(found.Desired) {
		own := *s
		old, err := readSubmission(found)
		if err == nil { // otherwise another client has written invalid data
			own.By, own.At, own.Seed = old.By, old.At, old.Seed // each submission draws its own secret seed
		}
		return false, false, store(own, r.Replace)
	}
	// The desired state is stored first, so that every reader of the submission can read it.
	if err := ChangeDesiredState(ctx, r, s.ID(), func(old *DesiredState) error { *old = w; return nil }); err != nil {
		return false, false, err
	}
	err = store(*s, func(ctx context.Context, id string, raw []byte) (err error) {
		added, err = r.Submit(ctx, id, raw)
		return err
	})
	return added, err == nil && !added && found != nil, err
}

// An End describes how a sweep ended.
type End struct {
	Epoch   uint64               `json:"epoch"`
	Leader  string               `json:"leader"` // name of the leader
	At      time.Time            `json:"at"`
	Summary *coordinator.Summary `json:"summary,omitempty"` // nil: the sweep failed
	Failure string               `json:"failure,omitempty"` // reason why no coordinator can run it
	Log     []string             `json:"log"`               // last lines of the leader's log
}

// A Record holds the decoded values of one sweep in the registry.
type Record struct {
	ID         string
	Submission Submission
	Desired    DesiredState
	Leader     *queue.Leader // nil: none
	Shipment   Shipment
	End        *End // nil: the sweep has not ended
}

// readSubmission decodes the submission of an entry. It returns a [*schemas.VersionError] for
// another release.
func readSubmission(e *queue.Entry) (s Submission, err error) {
	var head struct{ Format int }
	err = json.Unmarshal(e.Submission, &head)
	if err == nil && head.Format != submissionFormat {
		return s, &schemas.VersionError{
			What: "sweep " + e.ID, Found: fmt.Sprint(head.Format), Want: fmt.Sprint(submissionFormat),
		}
	}
	if err == nil {
		err = json.Unmarshal(e.Submission, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read sweep %s: %w", e.ID, err)
	}
	return s, nil
}

// ReadRecord decodes an entry of the registry.
func ReadRecord(e *queue.Entry) (r *Record, err error) {
	r = &Record{ID: e.ID, Leader: e.Leader, Desired: decodeDesiredState(e.Desired)}
	if r.Submission, err = readSubmission(e); err != nil {
		return nil, err
	}
	if e.Ledger != nil {
		if err := json.Unmarshal(e.Ledger, &r.Shipment); err != nil {
			return nil, fmt.Errorf("read what was shipped of sweep %s: %w", e.ID, err)
		}
	}
	if e.End != nil {
		r.End = &End{}
		if err := json.Unmarshal(e.End, r.End); err != nil {
			return nil, fmt.Errorf("read how sweep %s ended: %w", e.ID, err)
		}
		if r.End.Failure != "" && r.End.Epoch <= r.Desired.After {
			r.End = nil
		}
	}
	return r, nil
}
