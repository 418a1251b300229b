package perturbed

import (
	"math"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// site is a class with the points that carry the noise: all that trials of one place share. It is
// not written to once it is made.
type site struct {
	finite.Place
	class     concept.Finite
	separator *concept.Separator    // nil for kind ""
	points    int                   // m, the points of the separator
	margin    func() concept.Margin // of the sign vectors at the points; computed when first called
}

// newSite returns the site at a place. The error is [algo.Invalid] and says what to change.
func newSite(p finite.Place) (*site, error) {
	if err := p.Check("perturbed"); err != nil {
		return nil, err
	}
	if p.Spec.Name == concept.Halfspace {
		return nil, algo.Invalid("perturbed: halfspaces are infinitely many and have no separator: use boosting/hs-stl")
	}
	class, err := concept.New(p.Spec)
	if err != nil {
		return nil, algo.Invalid("perturbed: %v", err)
	}
	st := &site{Place: p}
	var ok bool
	if st.class, ok = class.(concept.Finite); !ok {
		return nil, algo.Invalid("perturbed: the hypotheses of class %q cannot be numbered", p.Spec.Name)
	}
	if _, err := st.class.NewMinimizer(nil); err != nil {
		return nil, algo.Invalid("perturbed: %v: take a smaller dimension or another class", err)
	}
	if p.Kind == "" {
		return st, nil
	}
	z, err := concept.NewSeparator(st.class, p.Spec, p.Kind, uint64(p.Seed))
	if err != nil {
		return nil, algo.Invalid("perturbed: %v", err)
	}
	st.points, st.separator = z.Len(), z
	st.margin = sync.OnceValue(func() concept.Margin { return z.HullMargin(st.class) })
	return st, nil
}

// hamming returns the radius 2h/m of the stability lemma, where any two hypotheses differ on at
// least h of the m points.
func (st *site) hamming() float64 { return 2 * st.ratio() }

// ratio returns h/m.
func (st *site) ratio() float64 { return float64(st.separator.Hamming) / float64(st.points) }

// widest returns a number that is at least the largest number of points on which two hypotheses
// differ: Spread is four times its share of all points.
func (st *site) widest() int {
	return min(st.points, int(math.Ceil(st.separator.Spread*float64(st.points)/4*(1-1e-12))))
}

// numbers returns how many numbers the points of the separator have.
func (st *site) numbers() int {
	if st.separator == nil {
		return 0
	}
	return len(st.separator.Points)
}

// maxNumbers is how many numbers the points of all cached sites may have together: 256 MiB, which
// those of one site alone can take.
const maxNumbers = 1 << 25

// sites makes a site when it is not cached. It keeps only a few, because a trial's memory must not depend on
// all the places before.
type sites struct {
	cache finite.Cache[finite.Place, *site]
}

// at returns the site at a place.
func (s *sites) at(p finite.Place) (*site, error) {
	return s.cache.GetWithin(maxNumbers, p, newSite, (*site).numbers)
}
