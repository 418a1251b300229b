package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func someWorker() *Worker {
	return &Worker{
		Name: "w-1", Began: time.Unix(1, 0).UTC(), Slots: 2, Build: "b", Platform: "linux/amd64", Profile: "p",
		Plugins: []string{"builtin"}, Allows: []string{"abc"}, Held: []Held{{"s", 7, "j", 1.5}},
		Refusals: []Refusal{{Sweep: "s", What: "data x", Reason: "disk full", Faults: 2, Until: time.Unix(9, 0).UTC()}},
	}
}

func TestDecode(t *testing.T) {
	data, err := someWorker().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(someWorker().Name, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someWorker(), got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{``, `{}`, `{"slots":-1}`} {
		if _, err := Decode("w", []byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestDecodeOffer(t *testing.T) {
	want := &Offer{
		Epoch: 3, Priority: -1, Weight: 2, Profile: "p", Needs: []Need{{"abc", "plugin x", false}},
		Dropped: []string{"j"}, Over: true,
	}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeOffer(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{``, `{}`, `{"weight":-1}`, `{"weight":1e7}`} {
		if _, err := DecodeOffer([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A worker that could not run a job of a sweep accepts no jobs of that sweep until its next
// attempt.
func TestRefuses(t *testing.T) {
	w := someWorker()
	until := w.Refusals[0].Until
	before := until.Add(-1)
	if w.Refuses("s", before) == nil || w.Refuses("s", until) != nil || w.Refuses("other", before) != nil {
		t.Errorf("%+v", w.Refusals)
	}
	w.Refusals[0].Never = true
	if w.Refuses("s", until.Add(time.Hour)) == nil {
		t.Error("it takes what it can never run")
	}
}

func TestExplain(t *testing.T) {
	got := Explain(map[string]string{"c": "is leaving", "a": "has no time left for it", "b": "is leaving"})
	if want := "worker a has no time left for it; worker b (and 1 more) is leaving"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Explain(nil); got != "there are no workers" {
		t.Error(got)
	}
}
