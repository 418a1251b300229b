package law

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// agnostic is a law whose target lies outside of the class. With X points, of which it turns m, and
// a threshold t of the class, let point number j be the (j+1)st from t on, where 0 follows X-1. The
// law turns the label of those j for which floor((j m)/X + 1/2) steps up to the next whole number.
//
// Exactly m points are turned, so t errs with probability m/X. No threshold errs less: another one
// disagrees with t on the L points to the right or to the left of t. The turned ones among these are
// floor(L m/X + 1/2) to the right and ceil(L m/X - 1/2) to the left. Both are at most L/2 for m < X/2,
// because the number L - 2m L/X is positive and the counts are whole. What one gains on the turned
// points, it loses on the others.
var agnostic = Law{
	Name: agnosticName,
	Doc: "as uniform, but points of total weight mass, spread evenly on both sides of the target, bear the other label: " +
		"no threshold has a smaller error than the target's, which is mass, rounded to a whole number of points",
	Fits:        func(class string) bool { return class == concept.Thresholds },
	Keys:        []*Key{&mass},
	LeastDomain: func(string) uint64 { return 4 },
	LeastError:  func(p *schemas.Problem) float64 { return float64(turned(p)) / float64(p.Domain) },
	Size:        func(p *schemas.Problem) float64 { return float64(p.Domain) },
	open: func(p *schemas.Problem, class concept.Spec) Opened {
		target := targets(p, class)
		o := Opened{Sampler: func() Sampler {
			turning := &turningTarget{threshold: target().(*concept.Box), points: p.Domain, turned: turned(p)}
			return &uniformSampler{side: p.Domain, dim: 1, target: turning, design: Fresh}
		}}
		if p.Domain <= MaxSupport {
			o.Support = lattice(p.Domain, 1)
		}
		return o
	},
}

// agnosticName is what the key mass asks for, which two laws take.
const agnosticName = "agnostic"

// turned returns the number of points whose label the law agnostic turns.
func turned(p *schemas.Problem) uint64 { return uint64(math.Round(p.Mass * float64(p.Domain))) }

// outsideAgnostic returns what is wrong with the mass of the law agnostic.
func outsideAgnostic(p *schemas.Problem) string {
	if !(p.Mass > 0 && p.Mass < 0.5) {
		return fmt.Sprintf("%v is outside (0, 1/2), the least error of a class whose best hypothesis beats a coin", p.Mass)
	}
	if m := turned(p); m < 1 || 2*m >= p.Domain {
		return fmt.Sprintf("%v of %d points is %d of them, and the law needs at least 1 and fewer than half: take "+
			"another mass or a larger domain", p.Mass, p.Domain, m)
	}
	return ""
}

// turningTarget labels points as a threshold does, and some of them the other way.
type turningTarget struct {
	threshold      *concept.Box // +1 from Low[0] on
	points, turned uint64       // X and m
}

// Begin implements concept.Target.
func (t *turningTarget) Begin(r *rand.Rand) { t.threshold.Begin(r) }

// Label implements concept.Target.
func (t *turningTarget) Label(x []float64) float64 {
	y := t.threshold.Label(x)
	j := int64(x[0]) - int64(t.threshold.Low[0])
	if j < 0 {
		j += int64(t.points)
	}
	if t.upTo(uint64(j)+1) > t.upTo(uint64(j)) {
		return -y
	}
	return y
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
