package concept

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// Stumps names the class of the decision stumps on Dim numbers 0..Domain-1.
const Stumps = "stumps"

var stumpsDefinition = Definition{
	Name:  Stumps,
	Doc:   "+1 or -1 where one of d numbers is at least t and the opposite elsewhere, or constant",
	Shape: Grid,
	New:   newStumps,
	// See stumpsVC: exact with two values; otherwise, as many points as there are values are
	// shattered, if the upper bound allows it.
	VC: func(c Class, s Spec) Dimension {
		if high := c.VC(); s.Domain > 2 {
			return Dimension{min(high, int(s.Domain)), high}
		}
		return exactVC(c, s)
	},
	// The stumps v >= t of one axis are, with the constants, X+1 thresholds.
	Littlestone: func(c Class, s Spec) Dimension { return Dimension{bits.Len64(s.Domain+1) - 1, logSize(c)} },
	Standard:    func(c Finite, s Spec) (*Separator, error) { return axes(c.Dim(), s.Domain) },
	WholeDomain: stumpsEverywhere,
	Targets:     stumpTargets,
	Examples:    []Spec{{Name: Stumps, Domain: 16, Dim: 3}},
}

var stumpTargets = Targets{
	Random: func(s Spec, _ int) Target {
		axis := 0 // index of the limited coordinate
		return wholeBox(s.Dim, s.Domain).drawn(func(b *Box, r *rand.Rand) {
			b.Low[axis] = 0
			axis = r.IntN(s.Dim)
			b.Low[axis] = float64(r.Uint64N(s.Domain + 1))
		})
	},
	RandomDoc: "it is +1 where a uniform one of the numbers is at least t, uniform on 0..X",
	Weight: func(s Spec, _ int, i uint64) float64 {
		h := stumpAt(s.Dim, s.Domain, i)
		switch {
		case math.IsInf(h.T, 0): // every axis has one such t
			return 1 / float64(s.Domain+1)
		case h.Above < 0:
			return 0
		}
		return 1 / (float64(s.Dim) * float64(s.Domain+1))
	},
	Uniform: func(s Spec, size uint64) Target {
		last, top := Stump{}, float64(s.Domain-1)
		return wholeBox(s.Dim, s.Domain).drawn(func(b *Box, r *rand.Rand) {
			b.Low[last.Axis], b.High[last.Axis] = 0, top
			last = stumpAt(s.Dim, s.Domain, r.Uint64N(size))
			b.cut(last)
		})
	},
	Middle:    func(s Spec) Hypothesis { return Stump{Dim: s.Dim, T: float64(s.Domain / 2), Above: 1} },
	MiddleDoc: "the stump that is +1 where the first number is at least X/2",
	Parse:     parseStump,
	Write:     writeStump,
	Notation:  "x1>=5 or x1<5, with the number of the coordinate from 1 on, everywhere or nowhere",
}

// parseStump reads "x1>=5" or "x1<5", of which x1 is the first number.
func parseStump(s Spec, text string) (Hypothesis, error) {
	switch text {
	case Nowhere:
		return Stump{s.Dim, 0, math.Inf(1), 1}, nil
	case everywhere:
		return Stump{s.Dim, 0, math.Inf(-1), 1}, nil
	}
	above := 1.0
	left, right, ok := strings.Cut(text, ">=")
	if !ok {
		above = -1
		left, right, ok = strings.Cut(text, "<")
	}
	axis, cut := strings.TrimSpace(left), strings.TrimSpace(right)
	if !ok || !strings.HasPrefix(axis, "x") {
		return nil, fmt.Errorf("%q is not a stump", text)
	}
	j, err := parseWhole("the number of a coordinate", axis[1:], 1, uint64(s.Dim))
	if err != nil {
		return nil, err
	}
	t, err := parseWhole("a cut", cut, 0, s.Domain)
	return Stump{s.Dim, int(j) - 1, float64(t), above}, err
}

// writeStump writes a stump in the syntax of parseStump.
func writeStump(s Spec, h Hypothesis) string {
	c := h.(Stump)
	ends := map[bool]string{true: everywhere, false: Nowhere}
	switch {
	case c.T <= 0:
		return ends[c.Above > 0]
	case c.T >= float64(s.Domain):
		return ends[c.Above < 0]
	case c.Above > 0:
		return fmt.Sprintf("x%d>=%s", c.Axis+1, writeWhole(c.T))
	}
	return fmt.Sprintf("x%d<%s", c.Axis+1, writeWhole(c.T))
}

// Stump labels a point of Dim numbers by one of them: Above if coordinate Axis is at least T, and
// -Above otherwise.
type Stump struct {
	Dim, Axis int
	T         float64
	Above     float64 // -1 or +1
}

// Labels implements Hypothesis.
func (s Stump) Labels(x, out []float64) {
	above := math.Float64bits(s.Above)
	at := s.Axis
	for i := range out {
		label := above ^ negative
		if x[at] >= s.T { // compiled to a conditional move
			label = above
		}
		out[i] = math.Float64frombits(label)
		at += s.Dim
	}
}

// stumps is the class of the functions of d numbers in 0..X-1 that compare one of them with a
// constant, and of the two constants: 2d(X-1) + 2 in all.
type stumps struct{ lattice }

func newStumps(s Spec) (Class, error) {
	l, err := newLattice(s, 1, 2)
	if err != nil {
		return nil, err
	}
	size := 2*uint64(l.dim)*(l.domain-1) + 2
	l.size, l.vc = new(big.Int).SetUint64(size), stumpsVC(l.dim, size)
	return &stumps{l}, nil
}

// stumpsVC returns the largest m with binom(m, floor(m/2)) <= 2d and 2^m <= |H|. Both are
// necessary for every X, so that it is an upper bound of the dimension. It equals the dimension
// if it is at most X (Gey 2018, for real coordinates; m points take m different values in each),
// and for X = 2, where each coordinate gives one of the 2^(m-1) - 1 ways to split m points in
// two: floor(log2(2d+2)).
func stumpsVC(dim int, size uint64) int {
	m, central := 1, 1 // binom(m, floor(m/2))
	for {
		next := 2 * central // m+1 = 2h from m = 2h-1
		if m%2 == 0 {       // m+1 = 2h+1 from m = 2h
			next = central * (m + 1) / (m/2 + 1)
		}
		if next > 2*dim || size>>(m+1) == 0 {
			return m
		}
		m, central = m+1, next
	}
}

// Member implements Finite.
func (c *stumps) Member(i uint64) Hypothesis { return stumpAt(c.dim, c.domain, i) }

// stumpAt returns number i of the stumps of dim numbers 0..domain-1: first the two constants,
// then the stumps of one axis after the other by their cuts, each before its opposite.
func stumpAt(dim int, domain, i uint64) Stump {
	switch i {
	case 0:
		return Stump{dim, 0, math.Inf(1), 1}
	case 1:
		return Stump{dim, 0, math.Inf(-1), 1}
	}
	perAxis := 2 * (domain - 1)
	axis, rank := (i-2)/perAxis, (i-2)%perAxis
	above := 1.0
	if rank%2 == 1 {
		above = -1
	}
	return Stump{dim, int(axis), float64(rank/2 + 1), above}
}

// number returns the number of the stump that labels v >= t of an axis +1; its opposite has the
// next number.
func (c *stumps) number(axis int, t uint64) uint64 { return 2 + 2*(uint64(axis)*(c.domain-1)+t-1) }

// NewProfile implements Class.
func (c *stumps) NewProfile() (Profile, error) {
	p := &stumpProfile{class: c}
	p.member = func(i int, rank uint64) Hypothesis { return c.Member(p.ranked(p.list[i].err, rank)) }
	return p, nil
}

// stumpProfile is the profile of the stumps. On each axis the thresholds between two neighboring
// values agree on the sample; their opposites have n - err errors. Each of its levels is the set
// of hypotheses with a given number of errors.
type stumpProfile struct {
	tally
	levels
	class  *stumps
	cuts   []segment // segments of the stumps +1 at v >= t, axis by axis; first is the number of the first stump
	counts []uint64  // number of stumps by number of errors
}

// Reset implements Profile. O(d n log n).
func (p *stumpProfile) Reset(x, y []float64) error {
	p.list = p.list[:0]
	if err := p.class.check(x, y); err != nil {
		return err
	}
	p.domain, p.cuts, p.counts = p.class.domain, p.cuts[:0], zeroed(p.counts, len(y)+1)
	p.countLabels(y)
	p.counts[p.positives]++ // stump -1 everywhere
	p.counts[p.negatives]++ // stump +1 everywhere
	for axis := range p.class.dim {
		p.cut(axis, x, y)
	}
	p.byErrors(p.counts)
	return nil
}

// countLabels counts the examples by label.
func (p *stumpProfile) countLabels(y []float64) {
	p.positives = 0
	for _, label := range y {
		if label > 0 {
			p.positives++
		}
	}
	p.negatives = len(y) - p.positives
}

// cut adds the thresholds 1..X-1 of one axis: the thresholds in (v[i-1], v[i]] agree, and
// crossing v[i] changes its labels to -1.
func (p *stumpProfile) cut(axis int, x, y []float64) {
	p.keys = p.keys[:0]
	for i, label := range y {
		key := uint64(x[i*p.class.dim+axis]) << 1
		if label > 0 {
			key |= 1
		}
		p.keys = append(p.keys, key)
	}
	p.count()
	t, errs := uint64(1), p.negatives
	for i, v := range p.values {
		p.add(axis, t, v+1, errs)
		t, errs = v+1, errs+p.pos[i]-p.neg[i]
	}
	p.add(axis, t, p.class.domain, errs)
}

// add counts the thresholds from t to end-1, which make errs errors, and their opposites.
func (p *stumpProfile) add(axis int, t, end uint64, errs int) {
	if t >= end {
		return
	}
	count := end - t
	p.cuts = append(p.cuts, segment{errs, count, p.class.number(axis, t)})
	p.counts[errs] += count
	p.counts[p.positives+p.negatives-errs] += count
}

// ranked returns the number of the stump of the given rank, from 0, among the stumps with that
// many errors, in the order of the cuts; at each cut the stumps that are +1 above it precede
// their opposites.
func (p *stumpProfile) ranked(errs int, rank uint64) uint64 {
	for i, constant := range []int{p.positives, p.negatives} {
		if constant == errs {
			if rank == 0 {
				return uint64(i)
			}
			rank--
		}
	}
	n := p.positives + p.negatives
	for _, s := range p.cuts {
		for opposite, e := range [2]int{s.err, n - s.err} {
			if e != errs {
				continue
			}
			if rank < s.count {
				return s.first + 2*rank + uint64(opposite)
			}
			rank -= s.count
		}
	}
	panic("rank beyond the level's count")
}

// stumpMinimizer is the Minimizer of the stumps. O(d (n log n + m)).
type stumpMinimizer struct {
	class *stumps
	terms []anchors // terms by axis
	objective
	sweep
}

// NewMinimizer implements Finite.
func (c *stumps) NewMinimizer(z []float64) (Minimizer, error) {
	if err := c.checkTerm(z); err != nil {
		return nil, err
	}
	m := &stumpMinimizer{class: c}
	m.domain = c.domain
	for axis := range c.dim {
		term, err := newAnchors(z, c.dim, axis, c.domain)
		if err != nil {
			return nil, err
		}
		m.terms = append(m.terms, term)
	}
	return m, nil
}

// Minimize implements Minimizer. It compares the constants and, on each axis, the cuts between
// neighboring values. Every other stump agrees with a constant on all points, and the constant
// comes first.
func (m *stumpMinimizer) Minimize(x, y, w, c []float64) (Hypothesis, float64, error) {
	if err := m.class.check(x, y); err != nil {
		return nil, 0, err
	}
	m.set(y, w, c)
	best, least := uint64(0), m.minus
	if m.plus < least {
		best, least = 1, m.plus
	}
	for axis := range m.class.dim {
		if err := m.merge(x[:len(y)*m.class.dim], m.class.dim, axis, m.gains, &m.terms[axis], c); err != nil {
			return nil, 0, err
		}
		below := 0.0 // gains of the values below the cut
		for i := 1; i < len(m.values); i++ {
			below += m.sums[i-1]
			for opposite, sum := range [2]float64{m.plus - below, m.minus + below} {
				if sum < least {
					best, least = m.class.number(axis, m.start(i))+uint64(opposite), sum
				}
			}
		}
	}
	return m.class.Member(best), least, nil
}

// stumpsEverywhere separates by all points. Stumps with a and b of the X values +1, on two
// coordinates, differ at X^(d-2) (aX + bX - 2ab) points, which is linear in a and in b and hence
// least at a corner of [1, X-1]^2: 2(X-1) or X^2-2X+2 times X^(d-2), both at least X^(d-1). The
// distance to a constant, a X^(d-1), is at least X^(d-1) too, and so is that of two stumps on one
// coordinate, which differ for at least one value of it: v >= 1 attains it.
func stumpsEverywhere(c Finite, s Spec) (*Separator, error) {
	w, err := wholeDomain(c, s.Domain)
	if err != nil {
		return nil, err
	}
	w.Hamming = w.Len() / int(s.Domain)
	return w, nil
}

// axes separates by the origin and the points with exactly one nonzero coordinate v = 1..X-1, 1 +
// d(X-1) in all. There the stump v_j >= t is +1 at the last X-t points of axis j, v_j < t at the
// complement, which contains the origin. All these sets and the two constants differ, and v_j >=
// X-1 is +1 at one point, the constant -1 at none: h = 1.
func axes(d int, x uint64) (*Separator, error) {
	m := 1 + uint64(d)*(x-1) // at most 2^56
	if err := checkPoints(m, d, maxPoints); err != nil {
		return nil, err
	}
	z := make([]float64, m*uint64(d))
	next := d // after the origin
	for j := range d {
		for v := uint64(1); v < x; v++ {
			z[next+j] = float64(v)
			next += d
		}
	}
	return &Separator{Points: z, Dim: d, Hamming: 1, Spread: 4}, nil
}
