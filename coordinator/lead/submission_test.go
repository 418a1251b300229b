package lead

import (
	"testing"

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
