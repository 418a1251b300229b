package law

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// agnostic is a law whose target lies outside of the class. For thresholds, with X points, of which it turns m, and
// a threshold t of the class, let point number j be the (j+1)st from t on, where 0 follows X-1. The
// law turns the label of those j for which floor((j m)/X + 1/2) steps up to the next whole number.
//
// Exactly m points are turned, so t errs with probability m/X. No threshold errs less: another one
// disagrees with t on the L points to the right or to the left of t. The turned ones among these are
// floor(L m/X + 1/2) to the right and ceil(L m/X - 1/2) to the left. Both are at most L/2 for m < X/2,
// because the number L - 2m L/X is positive and the counts are whole. What one gains on the turned
// points, it loses on the others.
//
// For parities, whose X = 2^d points are numbered by their bits, j is the number of the point. Two
// parities disagree on half of all points, so that another one errs on X/2 - m of them at least: on no
// fewer than m where m is at most X/4, whichever points are turned.
var agnostic = Law{
	Name: agnosticName,
	Doc: "as uniform, but points of total weight mass, spread evenly, bear the other label: " +
		"no hypothesis has a smaller error than the target's, which is mass, rounded to a whole number of points",
	Fits:        func(class string) bool { return class == concept.Thresholds || class == concept.Parities },
	Keys:        []*Key{&mass},
	LeastDomain: func(string) uint64 { return 4 },
	LeastDim:    2,
	LeastError:  func(p *schemas.Problem) float64 { return float64(turned(p)) / float64(points(p)) },
	Size:        func(p *schemas.Problem) float64 { return float64(points(p)) },
	open: func(p *schemas.Problem, class concept.Spec) Opened {
		target := targets(p, class)
		o := Opened{Sampler: func() Sampler {
			turning := &turningTarget{own: target(), points: points(p), turned: turned(p)}
			turning.threshold, _ = turning.own.(*concept.Box)
			return &uniformSampler{side: concept.Side(class), dim: concept.Width(class), target: turning, design: Fresh}
		}}
		if points(p) <= MaxSupport {
			o.Support = lattice(concept.Side(class), concept.Width(class))
		}
		return o
	},
}

// agnosticName is what the key mass asks for, which two laws take.
const agnosticName = "agnostic"

// turned returns the number of points whose label the law agnostic turns.
func turned(p *schemas.Problem) uint64 { return uint64(math.Round(p.Mass * float64(points(p)))) }

// points returns the number of points of the law agnostic.
func points(p *schemas.Problem) uint64 { return uint64(concept.Cardinality(classOf(p))) }

// outsideAgnostic returns what is wrong with the mass of the law agnostic.
func outsideAgnostic(p *schemas.Problem) string {
	if p.Class == concept.Parities {
		switch {
		case points(p) > concept.MaxDomain:
			return fmt.Sprintf("the law takes at most 40 bits, not %d", p.Dim)
		case !(p.Mass > 0 && p.Mass <= 0.25):
			return fmt.Sprintf("%v is outside (0, 1/4], where another parity cannot be better than the target's", p.Mass)
		case turned(p) < 1:
			return fmt.Sprintf("%v of %d points is none of them: take another mass or more bits", p.Mass, points(p))
		}
		return ""
	}
	if !(p.Mass > 0 && p.Mass < 0.5) {
		return fmt.Sprintf("%v is outside (0, 1/2), the least error of a class whose best hypothesis beats a coin", p.Mass)
	}
	if m := turned(p); m < 1 || 2*m >= p.Domain {
		return fmt.Sprintf("%v of %d points is %d of them, and the law needs at least 1 and fewer than half: take "+
			"another mass or a larger domain", p.Mass, p.Domain, m)
	}
	return ""
}

// turningTarget labels points as a hypothesis does, and some of them the other way.
type turningTarget struct {
	own            concept.Target
	threshold      *concept.Box // own, +1 from Low[0] on; nil for a parity
	points, turned uint64       // X and m
}

// Begin implements concept.Target.
func (t *turningTarget) Begin(r *rand.Rand) { t.own.Begin(r) }

// Label implements concept.Target.
func (t *turningTarget) Label(x []float64) float64 {
	y, j := t.own.Label(x), t.number(x)
	if t.upTo(j+1) > t.upTo(j) {
		return -y
	}
	return y
}

// number returns the number j of a point.
func (t *turningTarget) number(x []float64) (j uint64) {
	if t.threshold == nil {
		for i, bit := range x {
			j |= uint64(bit) << i
		}
		return j
	}
	if low := t.threshold.Low[0]; x[0] >= low {
		return uint64(x[0]) - uint64(low)
	}
	return uint64(x[0]) + t.points - uint64(t.threshold.Low[0])
}

// Labels implements concept.Target.
func (t *turningTarget) Labels(x, y []float64) { concept.LabelEach(x, y, t.Label) }

// upTo returns floor(j m/X + 1/2), the number of turned points among the first j.
func (t *turningTarget) upTo(j uint64) uint64 {
	high, low := bits.Mul64(2*j, t.turned)
	low, carry := bits.Add64(low, t.points, 0)
	q, _ := bits.Div64(high+carry, low, 2*t.points)
	return q
}
