package lead

import (
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/bus"
)

// A failure counts until somebody wishes that the sweep is tried again after it; that it is done counts
// for ever.
func TestTriedAgain(t *testing.T) {
	const failed, done = `{"epoch":7,"failure":"why"}`, `{"epoch":7,"summary":{}}`
	for _, tt := range []struct {
		name, end, wish string
		ended           bool
	}{
		{"failed", failed, `{"do":"run"}`, true},
		{"wished again", failed, `{"do":"run","after":7}`, false},
		{"failed again", failed, `{"do":"run","after":6}`, true},
		{"done", done, `{"do":"run","after":7}`, true},
	} {
		r, err := ReadRecord(&bus.Entry{ID: "ab", Submission: []byte(`{"format":1}`), Wish: []byte(tt.wish), End: []byte(tt.end)})
		if err != nil {
			t.Fatal(err)
		}
		if (r.End != nil) != tt.ended {
			t.Errorf("%s: ended %v, want %v", tt.name, r.End != nil, tt.ended)
		}
	}
}

// The server loses its store after it has taken in a wish, and before the submission: the wish is there
// nevertheless. One that somebody has had since then stays.
func TestWishLost(t *testing.T) {
	h := newHarbour(t) // the submission is there, and no wish
	w := Wish{Do: Run, Priority: 7, Budget: coordinator.Budget{Trials: 100}, By: "ann", At: time.Now().UTC()}
	wish := func() Wish {
		t.Helper()
		e, err := h.registry.Find(t.Context(), sweepID)
		check(t, err)
		r, err := ReadRecord(e)
		check(t, err)
		return r.Wish
	}
	check(t, keepWish(t.Context(), h.registry, sweepID, w))
	if got := wish(); got != w {
		t.Errorf("wished is %+v, want %+v", got, w)
	}
	check(t, ChangeWish(t.Context(), h.registry, sweepID, func(old *Wish) error { old.Do = Pause; return nil }))
	check(t, keepWish(t.Context(), h.registry, sweepID, w))
	if got := wish(); got.Do != Pause {
		t.Errorf("a pause has become %+v", got)
	}
}
