package perturbed

import (
	"math"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// site is a class with the points that carry the noise: what no trial changes. It is not written to once it is made.
type site struct {
	finite.Place
	class     concept.Finite
	separator *concept.Separator    // nil for kind ""
	points    int                   // m
	margin    func() concept.Margin // of the sign vectors at the points; computed when first asked for
}

func newSite(at finite.Place) (*site, error) {
	if at.Seed != 0 && at.Kind != "code" {
		return nil, algo.Invalid("perturbed: code_seed %d has no meaning with separator %s: leave it out, or take separator code", at.Seed, at.Kind)
	}
	if at.Spec.Name == "halfspace" {
		return nil, algo.Invalid("perturbed: halfspaces are infinitely many and have no separator: use boosting/hs-stl")
	}
	c, err := concept.New(at.Spec)
	if err != nil {
		return nil, algo.Invalid("perturbed: %v", err)
	}
	s := &site{Place: at}
	var ok bool
	if s.class, ok = c.(concept.Finite); !ok {
		return nil, algo.Invalid("perturbed: the hypotheses of class %q cannot be numbered", at.Spec.Name)
	}
	if _, err := s.class.NewMinimizer(nil); err != nil {
		return nil, algo.Invalid("perturbed: %v: take a smaller dimension or another class", err)
	}
	if at.Kind == "" {
		return s, nil
	}
	return s, s.separate()
}

func (s *site) separate() error {
	z, err := concept.NewSeparator(s.class, s.Spec, s.Kind, uint64(s.Seed))
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

// maxNumbers is how many numbers the points of the sites in a cache may have together: 256 MiB,
// which those of one site can take.
const maxNumbers = 1 << 25

// sites makes each site once. It keeps the last few: a trial's memory must not depend on all the
// places before.
type sites struct {
	cache finite.Cache[finite.Place, *site]
}

func (s *sites) at(p finite.Place) (*site, error) {
	return s.cache.GetWithin(maxNumbers, p, newSite, (*site).numbers)
}

// numbers returns how many numbers the separator's points have.
func (s *site) numbers() int {
	if s.separator == nil {
		return 0
	}
	return len(s.separator.Points)
}
