package concept

import (
	"math/big"
	"math/rand/v2"
)

// Thresholds names the class of the thresholds on 0..Domain-1.
const Thresholds = "thresholds"

var thresholdsDefinition = Definition{
	Name:       Thresholds,
	Doc:        "+1 at the numbers from t on, for t = 0..X",
	Shape:      Scalar,
	NoConstant: true,
	Thresholds: true,
	Column: func(x []float64, out []uint8) { // t = 0, 1, ...
		ones := min(len(out), int(x[0])+1)
		for t := range out[:ones] {
			out[t] = 1
		}
		clear(out[ones:])
	},
	New: newThresholds,
	VC:  exactVC,
	// Bisection: an adversary can keep half of the functions at each mistake, and no learner has
	// to leave more.
	Littlestone: func(c Class, _ Spec) Dimension { return exactly(logSize(c)) },
	Standard: func(c Finite, s Spec) (*Separator, error) {
		if s.NoConstant { // all thresholds t <= X-1 label the point X-1 alike
			s.Domain--
		}
		return thresholdsEverywhere(c, s)
	},
	Covers:      true,
	WholeDomain: thresholdsEverywhere,
	Targets:     thresholdTargets,
	Examples:    []Spec{{Name: Thresholds, Domain: 1024}},
}

var thresholdTargets = Targets{
	Random: func(s Spec, _ int) Target {
		last := lastThreshold(s)
		return wholeBox(1, s.Domain).drawn(func(b *Box, r *rand.Rand) { b.Low[0] = float64(r.Uint64N(last + 1)) })
	},
	RandomDoc: "t is uniform on 0..X",
	Prior:     thresholdPrior,
	Weight:    func(s Spec, _ int, _ uint64) float64 { return 1 / float64(lastThreshold(s)+1) },
	Middle:    func(s Spec) Hypothesis { return Threshold(float64(s.Domain / 2)) },
	MiddleDoc: "the threshold X/2",
	Parse: func(s Spec, text string) (Hypothesis, error) {
		t, err := parseWhole("a threshold t", text, 0, lastThreshold(s))
		return Threshold(float64(t)), err
	},
	Write:    func(_ Spec, h Hypothesis) string { return writeWhole(h.(Range).Lo) },
	Notation: "t of 0..X, from which on it is +1, such as 5 or 2^10",
}

// lastThreshold returns the largest t: X, which is -1 everywhere, or X-1 without the constant.
func lastThreshold(s Spec) uint64 {
	if s.NoConstant {
		return s.Domain - 1
	}
	return s.Domain
}

// thresholds is the class of the thresholds t = 0..last. The threshold X is -1 everywhere.
type thresholds struct {
	ordered
	last uint64 // X, or X-1 without the constant
}

func newThresholds(s Spec) (Class, error) {
	o, err := newOrdered(s, 2)
	if err != nil {
		return nil, err
	}
	last := lastThreshold(s)
	o.size = new(big.Int).SetUint64(last + 1)
	return &thresholds{o, last}, nil
}

// NewProfile implements Class.
func (c *thresholds) NewProfile() (Profile, error) { return newSegments(c), nil }

// split implements segmented: the thresholds in (v[i-1], v[i]] agree on the sample, and crossing
// v[i] changes its labels to -1.
func (c *thresholds) split(p *segments) {
	first, errs := uint64(0), p.negatives
	for i, v := range p.values {
		p.list = append(p.list, segment{errs, v + 1 - first, first})
		first, errs = v+1, errs+p.pos[i]-p.neg[i]
	}
	if first <= c.last {
		p.list = append(p.list, segment{errs, c.last + 1 - first, first})
	}
}

func (c *thresholds) member(p *segments, i int, rank uint64) Range {
	return Threshold(float64(p.list[i].first + rank))
}

func (c *thresholds) base() *ordered { return &c.ordered }

// Member implements Finite: the threshold i.
func (c *thresholds) Member(i uint64) Hypothesis { return Threshold(float64(i)) }

// NewMinimizer implements Finite.
func (c *thresholds) NewMinimizer(z []float64) (Minimizer, error) { return c.newMinimizer(z, c.walk) }

// walk starts with the threshold 0, which labels everything +1, and visits one value after the
// other.
func (c *thresholds) walk(m *rangeMinimizer) (Range, float64) {
	best, cost := uint64(0), m.plus
	least := cost
	for i, v := range m.values {
		if cost -= m.sums[i]; cost < least && v < c.last {
			best, least = v+1, cost
		}
	}
	return Threshold(float64(best)), least
}

// thresholdsEverywhere separates by all points: neighbors t and t+1 differ at t alone.
func thresholdsEverywhere(c Finite, s Spec) (*Separator, error) {
	w, err := wholeDomain(c, s.Domain)
	if err != nil {
		return nil, err
	}
	w.margin = chain(c, w.Len())
	return w, nil
}
