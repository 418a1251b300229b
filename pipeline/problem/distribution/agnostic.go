package distribution

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// agnostic is a distribution whose target lies outside of the class. For thresholds, with X points, of which it turns
// m, and a threshold t of the class, let point number j be the (j+1)st from t on, where 0 follows X-1. The
// distribution turns the label of those j for which floor((j m)/X + 1/2) steps up to the next whole number.
//
// Exactly m points are turned, so t errs with probability m/X. No threshold errs less: another one
// disagrees with t on the L points to the right or to the left of t. The turned ones among these are
// floor(L m/X + 1/2) to the right and ceil(L m/X - 1/2) to the left. Both are at most L/2 for m < X/2,
// because the number L - 2m L/X is positive and the counts are whole. What one gains on the turned
// points, it loses on the others.
//
// For intervals, with a target of L points inside of it and X - L outside, either side is turned as the
// thresholds' points are, with the numbers of the inside from its left end on, and those of the outside
// from the target's right end on, where 0 follows X-1. Of the inside about m L/X points are turned, as
// nearly as fewer than half of either side allow; up to (X-3)/2 in all can be, however long the target
// is. No interval errs less. Where another one meets the target, the two disagree on stretches that
// begin or end where a side does, and at most half of each such stretch is turned. An interval of k
// points that does not meet the target has at most k m'/(X-L) of them turned, rounded up, for the m'
// turned ones outside: at most (k+1)/2, so that it gains at most one point, and it loses at least one
// on the target, of which fewer than half are turned. So does the empty one. It is no target: an
// interval that is a turned point would be better than it.
//
// For parities and stumps, j is the number that the coordinates of a point in {0..k-1}^d are the digits
// of, where k is 2 for parities, and X = k^d. Two of their hypotheses disagree on X/k points at least,
// so that another one errs on X/k - m at least: on no fewer than m where m is at most X/(2k),
// whichever points are turned. Two parities disagree on X/2. Two stumps on one coordinate, of which a
// constant may be one, are equal or differ wherever it has a certain one of its k values. A stump that
// is +1 on a share a of the points, and one on another coordinate on a share b, disagree on
// a(1-b) + (1-a)b of them. That is linear in a and in b, and from 1/k to 1-1/k each it is least at
// an end: 2(1/k)(1-1/k) >= 1/k, or 1 - 2(1/k)(1-1/k) >= 1/2.
var agnostic = Distribution{
	Name: agnosticName,
	Doc: "as uniform, but points of total weight mass, spread evenly, bear the other label: " +
		"no hypothesis has a smaller error than the target's, which is mass, rounded to a whole number of points",
	Fits: func(class string) bool {
		return onLine(class) || class == concept.Parities || class == concept.Stumps
	},
	Keys: []*Key{&mass},
	LeastDomain: func(class string) uint64 {
		switch class {
		case concept.Stumps:
			return 2
		case concept.Intervals:
			return 5
		}
		return 4
	},
	LeastDim: 2,
	RefuseTarget: func(p *schemas.Problem) string {
		if p.Class == concept.Intervals && (p.Target == concept.UniformTarget || p.Target == concept.Nowhere) {
			return "it may be the empty interval, and one that is a turned point is better than that"
		}
		return ""
	},
	Formula:    func(p *schemas.Problem) bool { return onLine(p.Class) },
	LeastError: func(p *schemas.Problem) float64 { return float64(turned(p)) / float64(points(p)) },
	Size:       func(p *schemas.Problem) float64 { return float64(points(p)) },
	open: func(p *schemas.Problem, class concept.Spec) Opened {
		target := targets(p, class)
		o := Opened{Sampler: func() Sampler {
			turning := &turningTarget{own: target(), side: concept.Side(class), points: points(p), turned: turned(p)}
			if onLine(class.Name) {
				turning.box, turning.bothSides = turning.own.(*concept.Box), class.Name == concept.Intervals
			}
			return &uniformSampler{class: class, side: concept.Side(class), dim: concept.Width(class), target: turning}
		}}
		if points(p) <= MaxSupport {
			o.Support = lattice(concept.Side(class), concept.Width(class))
		}
		return o
	},
}

// agnosticName is what the key mass asks for, which two distributions take.
const agnosticName = "agnostic"

// turned returns the number of points whose label the distribution agnostic turns.
func turned(p *schemas.Problem) uint64 { return uint64(math.Round(p.Mass * float64(points(p)))) }

// points returns the number of points of the distribution agnostic.
func points(p *schemas.Problem) uint64 { return uint64(concept.Cardinality(classOf(p))) }

// onLine reports whether the class is one of those that the distribution agnostic turns from the target's ends on.
func onLine(class string) bool { return class == concept.Thresholds || class == concept.Intervals }

// outsideAgnostic returns what is wrong with the mass of the distribution agnostic.
func outsideAgnostic(p *schemas.Problem) string {
	if !onLine(p.Class) {
		return outsideDistance(p)
	}
	if !(p.Mass > 0 && p.Mass < 0.5) {
		return fmt.Sprintf("%v is outside (0, 1/2), the least error of a class whose best hypothesis beats a coin", p.Mass)
	}
	most, words := fewerThanHalf(p.Domain), "fewer than half"
	if p.Class == concept.Intervals {
		most, words = (p.Domain-3)/2, "fewer than half inside and outside of any interval"
	}
	if m := turned(p); m < 1 || m > most {
		return fmt.Sprintf("%v of %d points is %d of them, and the distribution needs at least 1 and %s, which is at "+
			"most %d: take "+
			"another mass or a larger domain", p.Mass, p.Domain, m, words, most)
	}
	return ""
}

// fewerThanHalf returns the largest number below n/2, or 0.
func fewerThanHalf(n uint64) uint64 { return (max(n, 1) - 1) / 2 }

// outsideDistance returns what is wrong with the mass for a class whose hypotheses are so far from one
// another that any points can be turned.
func outsideDistance(p *schemas.Problem) string {
	side := concept.Side(classOf(p))
	switch {
	case concept.Cardinality(classOf(p)) > concept.MaxDomain:
		return fmt.Sprintf("the distribution takes at most 2^40 points, not %d^%d: take a smaller d", side, p.Dim)
	case !(p.Mass > 0 && p.Mass <= 1/float64(2*side)):
		return fmt.Sprintf("%v is outside (0, 1/%d], where no other hypothesis can be better than the target's",
			p.Mass, 2*side)
	case turned(p) < 1 || turned(p) > points(p)/(2*side):
		return fmt.Sprintf("%v of %d points is %d of them, and the distribution needs at least 1 and at most %d: "+
			"take another "+
			"mass or a larger d", p.Mass, points(p), turned(p), points(p)/(2*side))
	}
	return ""
}

// turningTarget labels points as a hypothesis does, and some of them the other way.
type turningTarget struct {
	own            concept.Target
	box            *concept.Box // own of a class on the line, +1 from Low[0] to High[0]; nil for other classes
	bothSides      bool         // inside and outside of the box have turned points of their own
	side           uint64       // k
	points, turned uint64       // X and m
}

// Begin implements concept.Target.
func (t *turningTarget) Begin(r *rand.Rand) { t.own.Begin(r) }

// Label implements concept.Target.
func (t *turningTarget) Label(x []float64) float64 {
	y := t.own.Label(x)
	if j, m, n := t.number(x); stepsTo(j+1, m, n) > stepsTo(j, m, n) {
		return -y
	}
	return y
}

// number returns the number j of a point, among n points of which m are turned.
func (t *turningTarget) number(x []float64) (j, m, n uint64) {
	switch {
	case t.box == nil:
		for _, digit := range slices.Backward(x) {
			j = j*t.side + uint64(digit)
		}
		return j, t.turned, t.points
	case t.bothSides:
		return t.numberOfSide(uint64(x[0]))
	}
	return after(uint64(x[0]), uint64(t.box.Low[0]), t.points), t.turned, t.points
}

// numberOfSide returns the number j of a point among the n that an interval labels alike, of which m
// are turned.
func (t *turningTarget) numberOfSide(x uint64) (j, m, n uint64) {
	low, end := uint64(t.box.Low[0]), uint64(t.box.High[0])+1
	inside, outside := end-low, t.points-(end-low)
	m = stepsTo(inside, t.turned, t.points)
	m = min(max(m+fewerThanHalf(outside), t.turned)-fewerThanHalf(outside), fewerThanHalf(inside))
	if low <= x && x < end {
		return x - low, m, inside
	}
	return after(x, end, t.points), t.turned - m, outside
}

// after returns the number of points from the given one up to x, where 0 follows points-1.
func after(x, from, points uint64) uint64 {
	if x >= from {
		return x - from
	}
	return x + points - from
}

// Labels implements concept.Target.
func (t *turningTarget) Labels(x, y []float64) { concept.LabelEach(x, y, t.Label) }

// stepsTo returns floor(j m/n + 1/2), the number of turned points among the first j of n.
func stepsTo(j, m, n uint64) uint64 {
	high, low := bits.Mul64(2*j, m)
	low, carry := bits.Add64(low, n, 0)
	q, _ := bits.Div64(high+carry, low, 2*n)
	return q
}
