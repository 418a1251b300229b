package lead

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// shipRequest asks a leader to put the folder on the server before it responds. Other requests ask
// for its state only.
const shipRequest = "ship"

// A State describes a term at one moment.
type State struct {
	Epoch    uint64                `json:"epoch"`              // 0: the sweep has no leader yet
	Phase    string                `json:"phase,omitempty"`    // activity before trials are published
	Reason   string                `json:"reason,omitempty"`   // reason why no trials run
	Progress *coordinator.Progress `json:"progress,omitempty"` // nil: none yet
}

// An Answer is a leader's description of its sweep.
type Answer struct {
	State
	Leader string    `json:"leader"`         // name of the leader; "": a coordinator that cannot become the leader
	Page   string    `json:"page,omitempty"` // URL of the coordinator's page; "": none
	Began  time.Time `json:"began"`
	Log    []string  `json:"log"`             // last lines of its log about the sweep
	Error  string    `json:"error,omitempty"` // reason why the folder was not put on the server
}

// answer returns the response to a request about the sweep.
func (t *term) answer(raw []byte) []byte {
	a := Answer{State: t.state(), Page: t.Page, Began: t.began.UTC()}
	if a.Epoch > 0 {
		a.Leader = t.Name
	}
	t.mu.Lock()
	ship := t.ship
	t.mu.Unlock()
	if string(raw) == shipRequest && ship != nil {
		ctx, cancel := context.WithTimeout(t.ctx, shipPatience)
		defer cancel()
		if err := ship.ship(ctx); err != nil {
			a.Error = err.Error()
		}
	}
	a.Log = t.lines.last()
	answer, err := json.Marshal(a)
	if err != nil {
		return fmt.Appendf(nil, `{"error":%q}`, err)
	}
	return answer
}

func (t *term) state() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.now
	if s.Reason == "" && s.Progress != nil {
		s.Reason = s.Progress.StallReason()
	}
	return s
}

// Maximum times that users wait for a leader.
const (
	askPatience  = 2 * time.Second
	shipPatience = time.Minute
)

// Ask requests the state of a sweep from its leader. With ship, the leader first puts its folder on
// the server. Ask returns nil if there is no response.
func Ask(ctx context.Context, conn *queue.Conn, id string, ship bool) (*Answer, error) {
	patience, request := askPatience, ""
	if ship {
		patience, request = shipPatience+askPatience, shipRequest
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	raw, err := conn.RequestLeader(within, id, []byte(request))
	if errors.Is(err, queue.ErrNoLeader) || err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := decodeAnswer(raw)
	if err != nil {
		return nil, fmt.Errorf("read the answer of the leader of sweep %s: %w", id, err)
	}
	return a, nil
}

func decodeAnswer(raw []byte) (*Answer, error) {
	a := &Answer{}
	return a, json.Unmarshal(raw, a)
}

// States of a sweep. They are not stored, but derived from the submission, the desired state, the
// end of the sweep, and its leader's answer.
const (
	Waiting   = "waiting"   // should run, but no trials run: see the reason
	Running   = "running"   // its leader publishes jobs and accepts outcomes
	Paused    = "paused"    // a user has paused it, or its budget is spent
	Cancelled = "cancelled" // a user has canceled it; its outcomes are kept
	Done      = "done"      // every cell is decided or has failed; the result is complete
	Failed    = "failed"    // no coordinator can run it: see the reason
	Deleted   = "deleted"   // a coordinator removes it from the server
)

// A Status is the state of a sweep.
type Status struct {
	State  string
	Reason string  // "" if the state needs none
	Answer *Answer // answer of its leader; nil: none
}

// Look returns the status of a sweep.
func Look(ctx context.Context, conn *queue.Conn, r *Record) (s Status, err error) {
	if r.Desired.Do == Delete {
		return Status{State: Deleted, Reason: "a coordinator removes it; submitting it again keeps it"}, nil
	}
	if r.End != nil {
		if r.End.Failure != "" {
			return Status{State: Failed, Reason: r.End.Failure}, nil
		}
		return Status{State: Done}, nil
	}
	if s.Answer, err = Ask(ctx, conn, r.ID, false); err != nil {
		return s, err
	}
	switch {
	case r.Desired.Do != Run:
		s.State = Paused
		if r.Desired.Do == Cancel {
			s.State = Cancelled
		}
		switch {
		case r.Desired.Spent:
			s.Reason = r.Desired.Why + ": `shatter resume ID --budget MORE` goes on"
		case r.Desired.Why != "":
			s.Reason = r.Desired.Why + ": `shatter resume ID` goes on"
		}
		if s.Answer != nil {
			s.Reason = "its leader is accepting the results of running jobs"
		}
	case s.Answer == nil:
		s.State, s.Reason = Waiting, noLeader(r.Leader)
	case s.Answer.Reason != "":
		s.State, s.Reason = Waiting, s.Answer.Reason
	default:
		s.State, s.Reason = Running, s.Answer.Phase
	}
	return s, nil
}

// noLeader explains why no leader responds.
func noLeader(l *queue.Leader) string {
	if l == nil {
		return "no coordinator leads it: start `shatter coordinator --server URL --dir DIR`, unless one that serves is " +
			"about to take it"
	}
	if l.Epoch == l.Renewal && time.Since(l.Renewed) < l.Duration { // it has not renewed its lease yet
		return fmt.Sprintf("its leader, %s, has just begun to lead it", l.Name)
	}
	return fmt.Sprintf("its leader, %s, does not answer; it renewed its lease last at %s UTC, and another coordinator "+
		"takes over about %v after that: start one unless there is another",
		l.Name, l.Renewed.UTC().Format(time.DateTime), l.Duration)
}

// lines keeps the last lines written to it.
type lines struct {
	mu   sync.Mutex
	kept []string
}

// Limits of lines.
const (
	maxLines = 200
	maxLine  = 1000 // bytes
)

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(b) {
		line = bytes.TrimRight(line, "\n")
		l.kept = append(l.kept, string(line[:min(len(line), maxLine)]))
	}
	if more := len(l.kept) - maxLines; more > 0 {
		l.kept = append(l.kept[:0], l.kept[more:]...)
	}
	return len(b), nil
}

func (l *lines) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.kept...)
}
