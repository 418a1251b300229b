package prediction

import (
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Each family is that of a registered class, and every other class is refused.
func TestFamilies(t *testing.T) {
	for _, f := range families {
		if concept.ShapeOf(f.class) == 0 || f.generator == nil || f.maxQueries != 0 && f.labelings == nil {
			t.Errorf("family %q is not that of a class, or lacks a function", f.class)
		}
	}
	for _, name := range concept.Names() {
		if slices.Contains(allClasses(), name) {
			continue
		}
		p := algo.Problem{Class: name, Domain: 4, Dim: 1}
		if _, err := newGenerator(p, false, nil); !algo.IsInvalid(err) {
			t.Errorf("generator of class %q: %v", name, err)
		}
		if err := checkLabelings(p, 1); !algo.IsInvalid(err) {
			t.Errorf("labelings by class %q: %v", name, err)
		}
	}
	for _, p := range []algo.Problem{
		{Class: concept.Stumps, Domain: 65, Dim: 2}, {Class: concept.Conjunctions, Dim: 8},
		{Class: concept.MonotoneConjunctions, Dim: 13}, {Class: concept.Stumps, Domain: 1 << 40, Dim: 1},
	} {
		if err := checkListed(p); !algo.IsInvalid(err) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	p := algo.Problem{Class: concept.Rectangles, Domain: 4, Dim: 2}
	if err := checkLabelings(p, 1); !algo.IsInvalid(err) {
		t.Errorf("labelings by rectangles in dimension 2: %v", err)
	}
}
