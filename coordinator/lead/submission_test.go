package lead

import (
	"errors"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/schemas"
)

// A failure is valid until a user requests another attempt; a finished sweep stays finished.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	const failed, done = `{"epoch":7,"failure":"why"}`, `{"epoch":7,"summary":{}}`
	for _, tt := range []struct {
		name, end, desired string
		ended              bool
	}{
		{"failed", failed, `{"do":"run"}`, true},
		{"requested again", failed, `{"do":"run","after":7}`, false},
		{"failed again", failed, `{"do":"run","after":6}`, true},
		{"done", done, `{"do":"run","after":7}`, true},
	} {
		r, err := ReadRecord(&queue.Entry{
			ID: (&Submission{}).ID(), Submission: []byte(`{"format":2}`), Desired: []byte(tt.desired), End: []byte(tt.end),
		})
		if err != nil {
			t.Fatal(err)
		}
		if (r.End != nil) != tt.ended {
			t.Errorf("%s: ended %v, want %v", tt.name, r.End != nil, tt.ended)
		}
	}
}

// A sweep whose leader is just taking over does not count as abandoned.
func TestBegun(t *testing.T) {
	t.Parallel()
	h := newHarbor(t)
	reason := func(change func(*queue.Leader)) string {
		t.Helper()
		e, err := h.registry.Find(t.Context(), sweepID)
		check(t, err)
		r := &Record{ID: e.ID, Leader: e.Leader, Desired: decodeDesiredState(e.Desired)}
		change(r.Leader)
		s, err := Look(t.Context(), h.conn, r)
		check(t, err)
		return s.Reason
	}
	const begun, away = "its leader, test, has just begun to lead it", "its leader, test, does not answer"
	for _, tt := range []struct {
		name, want string
		change     func(*queue.Leader)
	}{
		{"begun", begun, func(*queue.Leader) {}},
		{"renewed", away, func(l *queue.Leader) { l.Renewal++ }},
		{"died at once", away, func(l *queue.Leader) { l.Renewed = l.Renewed.Add(-2 * l.Duration) }},
	} {
		if got := reason(tt.change); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// An invalid submission is refused, and an invalid desired state is ignored.
func TestAltered(t *testing.T) {
	t.Parallel()
	id := (&Submission{Resolved: "r"}).ID()
	for _, tt := range []struct {
		submission, desired string
		altered             bool
		want                DesiredState
	}{
		{`{"format":2,"resolved":"r"}`, `{"do":"pause"}`, false, DesiredState{Do: Pause}},
		{`{"format":2,"resolved":"r"}`, `no`, false, DesiredState{Do: Run}},
		{`{"format":2,"resolved":"r"}`, `{"do":"cancel","weight":"x"}`, false, DesiredState{Do: Run}},
		{`{"format":2,"resolved":"r"}`, `{"do":"run","weight":-1,"priority":3}`, false, DesiredState{Do: Run, Priority: 3}},
		{`{"format":2,"resolved":"r"}`, `{"do":"run","weight":1e7}`, false, DesiredState{Do: Run}},
		{`{"format":2,"resolved":["r"]}`, `{}`, true, DesiredState{}},
		{`no`, ``, true, DesiredState{}},
	} {
		r, err := ReadRecord(&queue.Entry{ID: id, Submission: []byte(tt.submission), Desired: []byte(tt.desired)})
		if (err != nil) != tt.altered || err == nil && r.Desired != tt.want {
			t.Errorf("%s, %s: %+v, %v", tt.submission, tt.desired, r, err)
		}
	}
	var other *schemas.VersionError
	if _, err := ReadRecord(&queue.Entry{ID: id, Submission: []byte(`{"format":3,"resolved":[]}`)}); !errors.As(err, &other) {
		t.Errorf("a submission of a later release: %v", err)
	}
}
