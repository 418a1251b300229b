package online

import (
	"fmt"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// site holds a class with the points that carry the noise. Trials share it: except for scratch it
// does not change.
type site struct {
	finite.Place
	class     concept.Finite
	single    bool               // |F| = 1: nothing to separate
	separator *concept.Separator // nil for kind "" and for a single hypothesis
	listing   *listing           // nil where there are too many hypotheses or the noise has no fast sums
	scratch   sync.Pool          // of *scratch, for the listing
}

// newSite makes the site at a place. Its errors are Invalid.
func newSite(at finite.Place) (*site, error) {
	if at.Seed != 0 && at.Kind != "code" {
		return nil, algo.Invalid("online: code_seed has no meaning without separator code: leave it out")
	}
	c, err := concept.New(at.Spec)
	if err != nil {
		return nil, algo.Invalid("online: %v", err)
	}
	s := &site{Place: at}
	var ok bool
	if s.class, ok = c.(concept.Finite); !ok || c.Size() == nil {
		return nil, algo.Invalid("online: class %q has no finite list of hypotheses: take a finite class", at.Spec.Name)
	}
	if s.single = c.LogSize() == 0; s.single {
		return s, nil
	}
	if at.Kind == "" {
		s.listing, err = listAll(s)
		return s, err
	}
	if _, err := s.class.NewMinimizer(nil); err != nil {
		return nil, algo.Invalid("online: %v: take a smaller dimension or another class", err)
	}
	if s.separator, err = concept.NewSeparator(s.class, at.Spec, at.Kind, uint64(at.Seed)); err != nil {
		return nil, algo.Invalid("online: %v", err)
	}
	s.listing = listAt(s)
	return s, nil
}

// ratio returns h/m: any two hypotheses differ on h of the m points of the separator, or on more.
func (s *site) ratio() float64 { return float64(s.separator.Hamming) / float64(s.separator.Len()) }

// covers reports whether, for each point of the domain on which hypotheses differ, some point of
// the separator has the same labels.
func (s *site) covers() bool {
	if s.Kind == "cube" {
		return true
	}
	switch s.Spec.Name {
	case "parities", "monotone-conjunctions", "stumps":
		return false
	}
	return s.Kind == "standard"
}

// check returns an error if row is not a point of the domain.
func (s *site) check(row []float64) error {
	if len(row) != s.class.Dim() {
		return fmt.Errorf("point of %d numbers: class %q takes %d", len(row), s.Spec.Name, s.class.Dim())
	}
	size := float64(s.Spec.Domain)
	if size == 0 {
		size = 2
	}
	for j, v := range row {
		if !(v >= 0 && v < size && v == float64(int64(v))) {
			return fmt.Errorf("coordinate %d is %v: not one of the integers 0 to %.0f", j, v, size-1)
		}
	}
	return nil
}

// sites makes each site once. It keeps only the few that were used last, because the points of one
// can take 256 MiB.
type sites struct {
	cache finite.Cache[finite.Place, *site]
}

func (s *sites) at(p finite.Place) (*site, error) { return s.cache.Get(p, newSite) }
