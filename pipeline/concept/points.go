package concept

import (
	"math"
	"math/big"
	"math/rand/v2"
)

// Points names the class of the single points of 0..Domain-1.
const Points = "points"

var pointsDefinition = Definition{
	Name:  Points,
	Doc:   "+1 at one number a = 0..X-1 and nowhere else",
	Shape: Scalar,
	Column: func(x []float64, out []uint8) {
		clear(out)
		out[int(x[0])] = 1
	},
	New: newPoints,
	VC:  exactVC,
	// A learner predicts -1 until a point is labeled +1.
	Littlestone: func(c Class, _ Spec) Dimension { return exactly(min(logSize(c), 1)) },
	// The function that is -1 everywhere is within 1/4 of a point of mass 1/4 or less. For any
	// other point, a function that is +1 at each number with probability 1/6 is within 1/4 with
	// probability at least 1/6 (1 - 4 (3/4) (1/6)) = 1/12 by Markov's inequality, and one of 16
	// such functions with more than 3/4.
	Represented: func(Spec) float64 { return math.Log(17) },
	Standard:    pointsEverywhere,
	Covers:      true,
	WholeDomain: pointsEverywhere,
	Targets:     pointTargets,
	Examples:    []Spec{{Name: Points, Domain: 1024}},
}

var pointTargets = Targets{
	Random: func(s Spec, _ int) Target {
		return wholeBox(1, s.Domain).drawn(func(b *Box, r *rand.Rand) {
			b.Low[0] = float64(r.Uint64N(s.Domain))
			b.High[0] = b.Low[0]
		})
	},
	RandomDoc: "the point is uniform",
	Prior:     pointPrior,
	Weight:    func(s Spec, _ int, _ uint64) float64 { return 1 / float64(s.Domain) },
	Middle:    func(s Spec) Hypothesis { return Point(float64(s.Domain / 2)) },
	MiddleDoc: "the point X/2",
	Parse: func(s Spec, text string) (Hypothesis, error) {
		a, err := parseWhole("a point a", text, 0, s.Domain-1)
		return Point(float64(a)), err
	},
	Write:    func(_ Spec, h Hypothesis) string { return writeWhole(h.(Range).Lo) },
	Notation: "the point a of 0..X-1, such as 5 or 2^10",
}

// points is the class of the X single points.
type points struct{ ordered }

func newPoints(s Spec) (Class, error) {
	o, err := newOrdered(s, 1)
	if err != nil {
		return nil, err
	}
	o.size = new(big.Int).SetUint64(s.Domain)
	if s.Domain == 1 {
		o.vc = 0
	}
	return &points{o}, nil
}

// NewProfile implements Class.
func (c *points) NewProfile() (Profile, error) { return newSegments(c), nil }

// split implements segmented. It makes one segment for each value of the sample, and the last
// one, if any, for all other points.
func (c *points) split(p *segments) {
	for i, v := range p.values {
		p.list = append(p.list, segment{p.positives - p.pos[i] + p.neg[i], 1, v})
	}
	if unseen := c.domain - uint64(len(p.values)); unseen > 0 {
		p.list = append(p.list, segment{p.positives, unseen, 0})
	}
}

func (c *points) member(p *segments, i int, rank uint64) Range {
	if i < len(p.values) {
		return Point(float64(p.values[i]))
	}
	return Point(float64(missing(p.values, rank)))
}

func (c *points) base() *ordered { return &c.ordered }

// Member implements Finite: the point i.
func (c *points) Member(i uint64) Hypothesis { return Point(float64(i)) }

// NewMinimizer implements Finite.
func (c *points) NewMinimizer(z []float64) (Minimizer, error) { return c.newMinimizer(z, c.walk) }

// walk compares the points that are values with the first point that is not.
func (c *points) walk(m *rangeMinimizer) (Range, float64) {
	best, gain := missing(m.values, 0), 0.0
	if best == c.domain { // every point is a value
		gain = math.Inf(1)
	}
	for i, v := range m.values {
		if sum := m.sums[i]; sum < gain || (sum == gain && v < best) {
			best, gain = v, sum
		}
	}
	return Point(float64(best)), m.minus + gain
}

// pointsEverywhere separates by all points: the points a and b differ at a and at b.
func pointsEverywhere(c Finite, s Spec) (*Separator, error) {
	w, err := wholeDomain(c, s.Domain)
	if err != nil {
		return nil, err
	}
	w.Hamming, w.Spread = 2, spread(2, w.Len())
	w.margin = simplex(c, w.Spread)
	return w, nil
}
