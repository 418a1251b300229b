package distribution

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var needle = Distribution{
	Name: "needle",
	Doc: "a few points, for which exactly one hypothesis has an error below the mass a. Class thresholds: " +
		"weight a at X/2-1 (label -1) and at X/2 (+1), the rest at X-1 (+1). Class points: a at X/2 (+1), " +
		"the rest at 0 (-1). Class intervals: a at X/2-1 (-1), X/2 (+1) and X/2+1 (-1), the rest at 0 (-1)",
	Fits:        func(class string) bool { return needles[class].atoms != nil },
	Keys:        []*Key{&mass},
	OneTarget:   "its few points belong to a fixed target, for which exact sample sizes are known",
	LeastDomain: func(class string) uint64 { return needles[class].least },
	NoConstant:  func(class string) bool { return needles[class].noConstant },
	Size:        func(p *schemas.Problem) float64 { return float64(needles[p.Class].heavy + 1) },
	open: func(p *schemas.Problem, _ concept.Spec) Opened {
		support := needlePoints(p)
		return Opened{
			Support: support,
			Sampler: func() Sampler { return newNeedleSampler(support, needleTarget(p)) },
		}
	},
}

var mass = Key{
	Name:    "mass",
	Doc:     "the weight a of each of the heavy points",
	Example: "the weight of a needle, for example 0.1",
	Field:   func(p *schemas.Problem) *float64 { return &p.Mass },
	Outside: func(p *schemas.Problem) string {
		heavy := needles[p.Class].heavy
		if p.Mass > 0 && float64(heavy)*p.Mass <= 1 {
			return ""
		}
		most := strings.TrimSuffix(fmt.Sprintf("1/%d", heavy), "/1")
		return fmt.Sprintf("%v is outside (0, %s]; the needle distribution of %s has %d such points",
			p.Mass, most, p.Class, heavy)
	},
}

// needleShape is the needle distribution of one class.
type needleShape struct {
	heavy      int    // number of points of weight a; one more point has the remaining weight
	least      uint64 // smallest domain on which all points differ
	noConstant bool   // omits the hypothesis that is -1 everywhere, which would also be good
	openEnded  bool   // the target is +1 from X/2 on, not at X/2 alone

	// atoms returns the heavy points, then the point with the remaining weight; c is X/2, x is X.
	atoms func(c, x uint64) []atom
}

// atom is a point with its label.
type atom struct {
	point uint64
	label float64
}

// needles holds the distribution for each class that it fits.
var needles = map[string]needleShape{
	concept.Thresholds: {
		heavy: 2, least: 3, noConstant: true, openEnded: true,
		atoms: func(c, x uint64) []atom { return []atom{{c - 1, -1}, {c, 1}, {x - 1, 1}} },
	},
	concept.Points: {
		heavy: 1, least: 2,
		atoms: func(c, _ uint64) []atom { return []atom{{c, 1}, {0, -1}} },
	},
	concept.Intervals: {
		heavy: 3, least: 4,
		atoms: func(c, _ uint64) []atom { return []atom{{c - 1, -1}, {c, 1}, {c + 1, -1}, {0, -1}} },
	},
}

// needlePoints returns all points of positive weight.
func needlePoints(p *schemas.Problem) *Points {
	l, all := needles[p.Class], &Points{}
	for i, a := range l.atoms(p.Domain/2, p.Domain) {
		w := p.Mass
		if i == l.heavy {
			w = 1 - float64(float64(l.heavy)*p.Mass)
		}
		if w > 0 {
			all.X, all.Y, all.W = append(all.X, float64(a.point)), append(all.Y, a.label), append(all.W, w)
		}
	}
	return all
}

// needleSampler draws from a few weighted points.
type needleSampler struct {
	*Points
	upTo   []float64 // cumulated weights of all points except the last
	target concept.Target
}

// needleTarget returns the hypothesis that labels all points: the threshold, the point or the
// interval at X/2.
func needleTarget(p *schemas.Problem) concept.Target {
	middle := float64(p.Domain / 2)
	b := &concept.Box{Low: []float64{middle}, High: []float64{middle}}
	if needles[p.Class].openEnded {
		b.High[0] = float64(p.Domain - 1)
	}
	return b
}

func newNeedleSampler(points *Points, target concept.Target) *needleSampler {
	s := &needleSampler{Points: points, target: target}
	sum := 0.0
	for _, w := range points.W[:len(points.W)-1] {
		sum += w
		s.upTo = append(s.upTo, sum)
	}
	return s
}

func (s *needleSampler) Begin(*rand.Rand) {}

// Target returns the hypothesis that labels all points, including the queries of an adversary.
func (s *needleSampler) Target() concept.Target { return s.target }

func (s *needleSampler) Draw(r *rand.Rand, x, y []float64) {
	for i := range y {
		u, k := r.Float64(), 0
		for k < len(s.upTo) && u >= s.upTo[k] {
			k++
		}
		x[i], y[i] = s.X[k], s.Y[k]
	}
}
