package prediction

import (
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Each family belongs to a registered class. checkProblem rejects every other class.
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
	for _, c := range []struct {
		domain  uint64
		dim     int
		queries int
		want    string // "": accepted
	}{
		{4, 2, 1000, ""},
		{16, 2, 20000, ""}, // 136^2 + 1 hypotheses
		{16, 2, 30000, "use at most 29024"},
		{32, 2, 1, "by the 278785 hypotheses"},
		{4, 4, 1, ""},
		{16, 3, 1, "use at most 65536, with a smaller domain or d"},
	} {
		p := algo.Problem{Class: concept.Rectangles, Domain: c.domain, Dim: c.dim}
		err := checkLabelings(p, c.queries)
		if (err == nil) != (c.want == "") || err != nil && !(algo.IsInvalid(err) && strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d queries, rectangles of %d numbers below %d: %v, want %q", c.queries, c.dim, c.domain, err, c.want)
		}
	}
}
