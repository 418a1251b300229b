package online

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// A site holds a class with the points that carry the noise. Trials share it: only its scratch
// changes.
type site struct {
	finite.Place
	definition *concept.Definition
	domain     concept.Domain
	class      concept.Finite
	single     bool               // |F| = 1: nothing to separate
	separator  *concept.Separator // nil for kind "" and for a single hypothesis
	listing    *listing           // nil if there are too many hypotheses or the noise has no fast sums
	scratch    *scratch           // for the listing: games make their moves one after another; nil without one
}

// newSite makes the site at a place. Its errors are Invalid.
func newSite(at finite.Place) (*site, error) {
	if err := at.Check("online"); err != nil {
		return nil, err
	}
	c, err := concept.New(at.Spec)
	if err != nil {
		return nil, algo.Invalid("online: %v", err)
	}
	s := &site{Place: at, domain: concept.DomainOf(c, at.Spec)}
	s.definition, _ = concept.Lookup(at.Spec.Name) // New has checked the name
	var ok bool
	if s.class, ok = c.(concept.Finite); !ok || c.Size() == nil {
		return nil, algo.Invalid("online: class %q has no finite list of hypotheses: use a finite class", at.Spec.Name)
	}
	if s.single = c.LogSize() == 0; s.single {
		return s, nil
	}
	if at.Kind == "" {
		if s.listing, err = listAll(s); err == nil {
			s.scratch = newScratch(s)
		}
		return s, err
	}
	if _, err := s.class.NewMinimizer(nil); err != nil {
		return nil, algo.Invalid("online: %v: use a smaller dimension or another class", err)
	}
	if s.separator, err = concept.NewSeparator(s.class, at.Spec, at.Kind, uint64(at.Seed)); err != nil {
		return nil, algo.Invalid("online: %v", err)
	}
	if s.listing = listAt(s); s.listing != nil {
		s.scratch = newScratch(s)
	}
	return s, nil
}

// ratio returns h/m: any two hypotheses differ on at least h of the m points of the separator.
func (s *site) ratio() float64 { return float64(s.separator.Hamming) / float64(s.separator.Len()) }

// covers reports whether, for each point of the domain on which hypotheses differ, some point of
// the separator is known to have the same labels.
func (s *site) covers() bool {
	return s.Kind == "cube" || s.Kind == "standard" && s.definition.Covers
}

// sites makes each site once. It caches only a few, because the points of one site can take 256
// MiB.
type sites struct {
	cache finite.Cache[finite.Place, *site]
}

func (s *sites) at(p finite.Place) (*site, error) { return s.cache.Get(p, newSite) }
