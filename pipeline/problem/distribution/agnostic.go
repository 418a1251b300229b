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

// agnostic is a distribution whose target lies outside of the class. For thresholds, with X
// points, of which m are flipped, and a threshold t of the class, let point number j be the
// (j+1)st from t on, where 0 follows X-1. The distribution flips the label of those j for which
// floor((j m)/X + 1/2) steps up to the next whole number.
//
// Exactly m points are flipped, so t errs with probability m/X. No threshold errs less: another
// one disagrees with t on the L points to the right or to the left of t. The number of flipped
// points among these is floor(L m/X + 1/2) to the right and ceil(L m/X - 1/2) to the left. Both
// are at most L/2 for m < X/2, because the number L - 2m L/X is positive and the counts are
// whole. The gain of the other threshold on the flipped points is at most its loss on the others.
//
// For intervals, with a target of L points inside of it and X - L outside, either side is flipped
// like the thresholds' points. The points inside are numbered from the left end of the target on,
// and those outside from its right end on, where 0 follows X-1. The number of flipped points
// inside is as close to m L/X as possible with fewer than half of either side flipped; up to
// (X-3)/2 points in all can be flipped for every length of the target. No interval errs less. If
// another interval meets the target, the two disagree on stretches that begin or end where a side
// does, and at most half of each such stretch is flipped. Let an interval of k points not meet
// the target, and let m' be the number of flipped points outside. At most k m'/(X-L), rounded up,
// of its points are flipped, which is at most (k+1)/2. So it gains at most one point, and it
// loses at least one on the target, of which fewer than half are flipped. The empty interval also
// loses at least one. The empty interval is not a target, because an interval of one flipped
// point would err less.
//
// For parities and stumps, j is the number whose digits are the coordinates of a point in
// {0..k-1}^d, where k is 2 for parities, and X = k^d. Two of their hypotheses disagree on at
// least X/k points. So another hypothesis errs on at least X/k - m points, which is at least m if
// m is at most X/(2k), for any choice of the flipped points. Two parities disagree on X/2. Two
// stumps on one coordinate, of which a constant may be one, are equal or differ wherever it has a
// certain one of its k values. A stump that is +1 on a share a of the points, and one on another
// coordinate on a share b, disagree on a(1-b) + (1-a)b of them. That is linear in a and in b, and
// for a and b from 1/k to 1-1/k it is least at an end: 2(1/k)(1-1/k) >= 1/k, or 1 - 2(1/k)(1-1/k)
// >= 1/2.
var agnostic = Distribution{
	Name: "agnostic",
	Doc: "like uniform, but the labels of points of total weight best_error, spread evenly, are flipped: no hypothesis " +
		"has a smaller error than the target, whose error is best_error, rounded to a whole number of points",
	Fits: func(class string) bool {
		return onLine(class) || class == concept.Parities || class == concept.Stumps
	},
	Keys: []*Key{&bestError},
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
			return "it may be the empty interval, and an interval of one flipped point is better than that"
		}
		return ""
	},
	Formula:    func(p *schemas.Problem) bool { return onLine(p.Class) },
	LeastError: func(p *schemas.Problem) float64 { return float64(flipped(p)) / float64(points(p)) },
	Size:       func(p *schemas.Problem) float64 { return float64(points(p)) },
	open: func(p *schemas.Problem, class concept.Spec) Opened {
		target := targets(p, class)
		o := Opened{Sampler: func() Sampler {
			flipping := &flippingTarget{own: target(), side: concept.Side(class), points: points(p), flipped: flipped(p)}
			if onLine(class.Name) {
				flipping.box, flipping.bothSides = flipping.own.(*concept.Box), class.Name == concept.Intervals
			}
			return &uniformSampler{class: class, side: concept.Side(class), dim: concept.Width(class), target: flipping}
		}}
		if points(p) <= MaxSupport {
			o.Support = lattice(concept.Side(class), concept.Width(class))
		}
		return o
	},
}

var bestError = Key{
	Name:    "best_error",
	Doc:     "the least error of the class, in (0, 0.5)",
	Example: "the least error of the class, for example 0.1",
	Field:   func(p *schemas.Problem) *float64 { return &p.BestError },
	Outside: func(p *schemas.Problem) string {
		if !onLine(p.Class) {
			return outsideDistance(p)
		}
		return outsideHalf(p)
	},
}

// flipped returns the number of points whose label the distribution agnostic flips.
func flipped(p *schemas.Problem) uint64 { return uint64(math.Round(p.BestError * float64(points(p)))) }

// points returns the number of points of the distribution agnostic.
func points(p *schemas.Problem) uint64 { return uint64(concept.Cardinality(ClassOf(p))) }

// onLine reports whether the distribution agnostic flips points of the class in order from the
// target's ends on.
func onLine(class string) bool { return class == concept.Thresholds || class == concept.Intervals }

// outsideHalf returns the reason why the least error is invalid for a class on the line.
func outsideHalf(p *schemas.Problem) string {
	if !(p.BestError > 0 && p.BestError < 0.5) {
		return fmt.Sprintf("%v is outside (0, 1/2), the least error of a class whose best hypothesis beats a coin",
			p.BestError)
	}
	most, words := fewerThanHalf(p.Domain), "fewer than half"
	if p.Class == concept.Intervals {
		most, words = (p.Domain-3)/2, "fewer than half inside and outside of any interval"
	}
	if m := flipped(p); m < 1 || m > most {
		return fmt.Sprintf("%v of %d points is %d of them, and the distribution needs at least 1 and %s, which is at "+
			"most %d: take another best_error or a larger domain", p.BestError, p.Domain, m, words, most)
	}
	return ""
}

// fewerThanHalf returns the largest number below n/2, or 0.
func fewerThanHalf(n uint64) uint64 { return (max(n, 1) - 1) / 2 }

// outsideDistance returns the reason why the least error is invalid for a class whose hypotheses are so
// far from one another that any points can be flipped.
func outsideDistance(p *schemas.Problem) string {
	side := concept.Side(ClassOf(p))
	switch {
	case concept.Cardinality(ClassOf(p)) > concept.MaxDomain:
		return fmt.Sprintf("the distribution takes at most 2^40 points, not %d^%d: take a smaller d", side, p.Dim)
	case !(p.BestError > 0 && p.BestError <= 1/float64(2*side)):
		return fmt.Sprintf("%v is outside (0, 1/%d], where no other hypothesis can be better than the target's",
			p.BestError, 2*side)
	case flipped(p) < 1 || flipped(p) > points(p)/(2*side):
		return fmt.Sprintf("%v of %d points is %d of them, and the distribution needs at least 1 and at most %d: "+
			"take another best_error or a larger d", p.BestError, points(p), flipped(p), points(p)/(2*side))
	}
	return ""
}

// flippingTarget labels points as a hypothesis does, except the flipped ones.
type flippingTarget struct {
	own             concept.Target
	box             *concept.Box // copy of own for a class on the line, +1 from Low[0] to High[0]; nil for other classes
	bothSides       bool         // inside and outside of the box are flipped separately
	side            uint64       // k
	points, flipped uint64       // X and m
}

// Begin implements concept.Target.
func (t *flippingTarget) Begin(r *rand.Rand) { t.own.Begin(r) }

// Label implements concept.Target.
func (t *flippingTarget) Label(x []float64) float64 {
	y := t.own.Label(x)
	if j, m, n := t.number(x); stepsTo(j+1, m, n) > stepsTo(j, m, n) {
		return -y
	}
	return y
}

// number returns the number j of a point, among n points of which m are flipped.
func (t *flippingTarget) number(x []float64) (j, m, n uint64) {
	switch {
	case t.box == nil:
		for _, digit := range slices.Backward(x) {
			j = j*t.side + uint64(digit)
		}
		return j, t.flipped, t.points
	case t.bothSides:
		return t.numberOfSide(uint64(x[0]))
	}
	return after(uint64(x[0]), uint64(t.box.Low[0]), t.points), t.flipped, t.points
}

// numberOfSide returns the number j of a point among the n with the same label in the interval,
// of which m are flipped.
func (t *flippingTarget) numberOfSide(x uint64) (j, m, n uint64) {
	low, end := uint64(t.box.Low[0]), uint64(t.box.High[0])+1
	inside, outside := end-low, t.points-(end-low)
	m = stepsTo(inside, t.flipped, t.points)
	m = min(max(m+fewerThanHalf(outside), t.flipped)-fewerThanHalf(outside), fewerThanHalf(inside))
	if low <= x && x < end {
		return x - low, m, inside
	}
	return after(x, end, t.points), t.flipped - m, outside
}

// after returns the number of points from the given one up to x, where 0 follows points-1.
func after(x, from, points uint64) uint64 {
	if x >= from {
		return x - from
	}
	return x + points - from
}

// Labels implements concept.Target.
func (t *flippingTarget) Labels(x, y []float64) { concept.LabelEach(x, y, t.Label) }

// stepsTo returns floor(j m/n + 1/2), the number of flipped points among the first j of n.
func stepsTo(j, m, n uint64) uint64 {
	high, low := bits.Mul64(2*j, m)
	low, carry := bits.Add64(low, n, 0)
	q, _ := bits.Div64(high+carry, low, 2*n)
	return q
}
