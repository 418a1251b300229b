package perturbed

import (
	"math"
	"slices"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// place names a class and a separator of it.
type place struct {
	spec concept.Spec
	kind string // one of concept.SeparatorKinds, or "" for none
	seed int    // of kind code
}

func placeOf(p algo.Problem, kind string, seed int) place {
	return place{concept.Spec{Name: p.Class, Domain: p.Domain, Dim: p.Dim, NoConstant: p.NoConstant, Matrix: p.Matrix}, kind, seed}
}

// site is a class with the points that carry the noise: what no trial changes. It is not written to once it is made.
type site struct {
	place
	class     concept.Finite
	separator *concept.Separator    // nil for kind ""
	points    int                   // m
	margin    func() concept.Margin // of the sign vectors at the points; computed when first asked for
}

func newSite(at place) (*site, error) {
	if at.seed != 0 && at.kind != "code" {
		return nil, algo.Invalid("perturbed: code_seed %d has no meaning with separator %s: leave it out, or take separator code", at.seed, at.kind)
	}
	if at.spec.Name == "halfspace" {
		return nil, algo.Invalid("perturbed: halfspaces are infinitely many and have no separator: use boosting/hs-stl")
	}
	c, err := concept.New(at.spec)
	if err != nil {
		return nil, algo.Invalid("perturbed: %v", err)
	}
	s := &site{place: at}
	var ok bool
	if s.class, ok = c.(concept.Finite); !ok {
		return nil, algo.Invalid("perturbed: the hypotheses of class %q cannot be numbered", at.spec.Name)
	}
	if _, err := s.class.NewMinimizer(nil); err != nil {
		return nil, algo.Invalid("perturbed: %v: take a smaller dimension or another class", err)
	}
	if at.kind == "" {
		return s, nil
	}
	return s, s.separate()
}

func (s *site) separate() error {
	z, err := concept.NewSeparator(s.class, s.spec, s.kind, uint64(s.seed))
	if err != nil {
		return algo.Invalid("perturbed: %v", err)
	}
	s.points, s.separator = z.Len(), z
	s.margin = sync.OnceValue(func() concept.Margin { return z.HullMargin(s.class) })
	return nil
}

// hamming is the radius 2h/m.
func (s *site) hamming() float64 { return 2 * s.ratio() }

// ratio is h/m.
func (s *site) ratio() float64 { return float64(s.separator.Hamming) / float64(s.points) }

// widest is at least the largest number of points on which two hypotheses differ: spread is four times its share of all.
func (s *site) widest() int {
	return min(s.points, int(math.Ceil(s.separator.Spread*float64(s.points)/4*(1-1e-12))))
}

// sites makes each site once. It keeps the last few, and no more than 256 MiB of points, which one alone can take: a trial's memory must not
// depend on the places before.
type sites struct {
	mu    sync.Mutex
	known []*site // the last used one comes last
}

const (
	maxSites   = 4
	maxNumbers = 1 << 25 // in the points of all sites
)

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
	s.known = append(s.known, made)
	for len(s.known) > maxSites || len(s.known) > 1 && s.numbers() > maxNumbers {
		s.known = slices.Delete(s.known, 0, 1)
	}
	return made, nil
}

// numbers is how many the points of all sites are made of.
func (s *sites) numbers() (n int) {
	for _, known := range s.known {
		if known.separator != nil {
			n += len(known.separator.Points)
		}
	}
	return n
}
