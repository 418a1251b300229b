package online

import (
	"fmt"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// place names a class and one of its separators.
type place struct {
	spec concept.Spec
	kind string // one of concept.SeparatorKinds, or "" for none
	seed int    // seed of kind code, else 0
}

// placeOf returns the place of a problem's class with a separator.
func placeOf(p algo.Problem, kind string, seed int) place {
	return place{concept.Spec{Name: p.Class, Domain: p.Domain, Dim: p.Dim, NoConstant: p.NoConstant, Matrix: p.Matrix}, kind, seed}
}

// site holds a class with the points that carry the noise. Trials share it: except for scratch it
// does not change.
type site struct {
	place
	class     concept.Finite
	single    bool               // |F| = 1: nothing to separate
	separator *concept.Separator // nil for kind "" and for a single hypothesis
	listing   *listing           // nil where there are too many hypotheses or the noise has no fast sums
	scratch   sync.Pool          // of *scratch, for the listing
}

// newSite makes the site at a place. Its errors are Invalid.
func newSite(at place) (*site, error) {
	if at.seed != 0 && at.kind != "code" {
		return nil, algo.Invalid("online: code_seed has no meaning without separator code: leave it out")
	}
	c, err := concept.New(at.spec)
	if err != nil {
		return nil, algo.Invalid("online: %v", err)
	}
	s := &site{place: at}
	var ok bool
	if s.class, ok = c.(concept.Finite); !ok || c.Size() == nil {
		return nil, algo.Invalid("online: class %q has no finite list of hypotheses: take a finite class", at.spec.Name)
	}
	if s.single = c.LogSize() == 0; s.single {
		return s, nil
	}
	if at.kind == "" {
		s.listing, err = listAll(s)
		return s, err
	}
	if _, err := s.class.NewMinimizer(nil); err != nil {
		return nil, algo.Invalid("online: %v: take a smaller dimension or another class", err)
	}
	if s.separator, err = concept.NewSeparator(s.class, at.spec, at.kind, uint64(at.seed)); err != nil {
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
	if s.kind == "cube" {
		return true
	}
	switch s.spec.Name {
	case "parities", "monotone-conjunctions", "stumps":
		return false
	}
	return s.kind == "standard"
}

// check returns an error if row is not a point of the domain.
func (s *site) check(row []float64) error {
	if len(row) != s.class.Dim() {
		return fmt.Errorf("point of %d numbers: class %q takes %d", len(row), s.spec.Name, s.class.Dim())
	}
	size := float64(s.spec.Domain)
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
	mu    sync.Mutex
	known []*site // the last used one comes last
}

const maxSites = 4

func (s *sites) at(p place) (*site, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, known := range s.known {
		if known.place == p {
			s.known = append(append(s.known[:i], s.known[i+1:]...), known)
			return known, nil
		}
	}
	made, err := newSite(p)
	if err != nil {
		return nil, err
	}
	if len(s.known) == maxSites {
		s.known = append(s.known[:0], s.known[1:]...)
	}
	s.known = append(s.known, made)
	return made, nil
}
