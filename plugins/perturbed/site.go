package perturbed

import (
	"math"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// A site is a class with the points that carry the noise: the data that all trials of one place
// share. It is immutable.
type site struct {
	finite.Place
	class     concept.Finite
	separator *concept.Separator    // nil for kind ""
	points    int                   // m, the number of points of the separator
	margin    func() concept.Margin // margin of the sign vectors at the points; computed at the first call
}

// newSite returns the site at a place. The error is [algo.Invalid] and names the remedy.
func newSite(p finite.Place) (*site, error) {
	if err := p.Check("perturbed"); err != nil {
		return nil, err
	}
	if p.Spec.Name == concept.Halfspace {
		return nil, algo.Invalid("perturbed: there are infinitely many halfspaces, without a separator: use boosting/hs-stl")
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
		return nil, algo.Invalid("perturbed: %v: use a smaller dimension or another class", err)
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

// hamming returns the radius 2h/m of the stability lemma: any two hypotheses differ on at least h
// of the m points.
func (st *site) hamming() float64 { return 2 * st.ratio() }

func (st *site) ratio() float64 { return float64(st.separator.Hamming) / float64(st.points) }

// widest returns an upper bound on the number of points on which two hypotheses differ: Spread is
// four times the share of these points.
func (st *site) widest() int {
	return min(st.points, int(math.Ceil(st.separator.Spread*float64(st.points)/4*(1-1e-12))))
}

// numbers returns the total number of coordinates of the separator's points.
func (st *site) numbers() int {
	if st.separator == nil {
		return 0
	}
	return len(st.separator.Points)
}

// maxNumbers limits the total number of coordinates of the points of all cached sites: 256 MiB,
// which one site can use alone.
const maxNumbers = 1 << 25

// sites makes and caches sites. It keeps only a few, because a trial's memory must not depend on
// all earlier places.
type sites struct {
	cache finite.Cache[finite.Place, *site]
}

// at returns the site at a place.
func (s *sites) at(p finite.Place) (*site, error) {
	return s.cache.GetWithin(maxNumbers, p, newSite, (*site).numbers)
}
