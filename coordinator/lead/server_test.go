package lead

import (
	"testing"

	"github.com/shatterlab/shatter/schemas"
)

// Another text of the same sweep replaces the submitted one, and the secret seed of the first one
// stays.
func TestOtherText(t *testing.T) {
	t.Parallel()
	h := newHarbor(t)
	var first schemas.Seed
	for _, source := range []string{"a", "b"} {
		seed, err := schemas.DrawSeed()
		check(t, err)
		s := &Submission{Resolved: "r", Plan: source, Seed: seed, By: source}
		_, _, err = Submit(t.Context(), h.registry, s, DesiredState{Do: Run})
		check(t, err)
		if source == "a" {
			first = seed
		}
		e, err := h.registry.Find(t.Context(), s.ID())
		check(t, err)
		r, err := ReadRecord(e)
		check(t, err)
		if x := r.Submission; x.Plan != source || x.Seed != first || x.By != "a" {
			t.Errorf("%+v", x)
		}
	}
}
