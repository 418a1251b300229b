package concept

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// Rectangles names the class of the axis-parallel boxes of Dim numbers 0..Domain-1.
const Rectangles = "rectangles"

var rectanglesDefinition = Definition{
	Name:        Rectangles,
	Doc:         "+1 where each of d numbers lies in an interval of its own, or nowhere",
	Shape:       Grid,
	New:         newRectangles,
	VC:          exactVC,
	Littlestone: ofBoxes,
	Standard:    boxesEverywhere,
	Covers:      true,
	WholeDomain: boxesEverywhere,
	Targets:     rectangleTargets,
	Examples:    []Spec{{Name: Rectangles, Domain: 8, Dim: 2}},
}

var rectangleTargets = Targets{
	Random:    func(s Spec, _ int) Target { return halfBox(s.Dim, s.Domain) },
	RandomDoc: "each side holds X 2^(-1/d) of the numbers, rounded up, and starts at an independent uniform one",
	Weight: func(s Spec, _ int, i uint64) float64 {
		weight, side := 1.0, halfSide(s.Dim, s.Domain)
		for _, r := range rectangleAt(make(Rectangle, s.Dim), s.Domain, i) {
			weight *= halfWeight(r, s.Domain, side)
		}
		return weight
	},
	Uniform: func(s Spec, size uint64) Target {
		h := make(Rectangle, s.Dim)
		return wholeBox(s.Dim, s.Domain).drawn(func(b *Box, r *rand.Rand) {
			for j, side := range rectangleAt(h, s.Domain, r.Uint64N(size)) {
				b.Low[j], b.High[j] = side.Lo, side.Hi
			}
		})
	},
	Middle: func(s Spec) Hypothesis {
		h := make(Rectangle, s.Dim)
		for k := range h {
			h[k] = middleInterval(s.Domain)
		}
		return h
	},
	MiddleDoc: "the rectangle [X/4, 3X/4-1] in every number",
	Parse:     parseRectangle,
	Write: func(_ Spec, h Hypothesis) string {
		sides := make([]string, len(h.(Rectangle)))
		for k, r := range h.(Rectangle) {
			if sides[k] = writeInterval(r); sides[k] == Nowhere {
				return Nowhere
			}
		}
		return strings.Join(sides, " x ")
	},
	Notation: "the intervals of all numbers with their ends inside, such as 16..49 x 0..63, or nowhere",
}

// parseRectangle reads "16..49 x 0..63".
func parseRectangle(s Spec, text string) (Hypothesis, error) {
	h := make(Rectangle, s.Dim)
	if text == Nowhere {
		return h.emptied(), nil
	}
	sides := strings.Split(text, "x")
	if len(sides) != s.Dim {
		return nil, fmt.Errorf("%q is not %d intervals joined by x", text, s.Dim)
	}
	for k, side := range sides {
		var err error
		if h[k], err = parseInterval(strings.TrimSpace(side), s.Domain); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// halfSide returns ceil(side 2^(-1/dim)). Boxes with such sides are the smallest ones that
// contain at least half of the points of dim numbers 0..side-1. It is exact.
func halfSide(dim int, side uint64) uint64 {
	half := func(v uint64) bool { // 2 v^dim >= side^dim
		most, all := floatPower(v, dim), floatPower(side, dim)
		return most.Mul(most, big.NewFloat(2)).Cmp(all) >= 0
	}
	v := min(uint64(math.Ceil(float64(side)*math.Exp2(-1/float64(dim)))), side) // off by one at most
	for v > 1 && half(v-1) {
		v--
	}
	for !half(v) {
		v++
	}
	return v
}

// floatPower returns v^times to about 70 digits, which suffice to compare the powers of two whole
// numbers up to 2^40.
func floatPower(v uint64, times int) *big.Float {
	const digits = 256
	square, out := new(big.Float).SetPrec(digits).SetUint64(v), new(big.Float).SetPrec(digits).SetInt64(1)
	for ; times > 0; times >>= 1 {
		if times&1 == 1 {
			out.Mul(out, square)
		}
		square.Mul(square, square)
	}
	return out
}

// halfBox returns a random box of dim sides of halfSide numbers, with uniform ends.
func halfBox(dim int, domain uint64) *Box {
	side := halfSide(dim, domain)
	return wholeBox(dim, domain).drawn(func(b *Box, r *rand.Rand) {
		for j := range b.Low {
			low := r.Uint64N(domain - side + 1)
			b.Low[j], b.High[j] = float64(low), float64(low+side-1)
		}
	})
}

// halfWeight returns the probability that a side of halfBox is r.
func halfWeight(r Range, domain, side uint64) float64 {
	if r.Hi-r.Lo+1 != float64(side) {
		return 0
	}
	return 1 / float64(domain-side+1)
}

// Rectangle labels a point +1 if each of its numbers lies in the Range of its axis: an
// axis-parallel box.
type Rectangle []Range

// Labels implements Hypothesis.
func (h Rectangle) Labels(x, out []float64) {
	d := len(h)
	for i := range out {
		outside := uint64(0)
		for k, v := range x[i*d : (i+1)*d] {
			outside |= h[k].outside(v)
		}
		out[i] = math.Float64frombits(plus | outside)
	}
}

// rectangles is the class of the boxes of d intervals in 0..X-1, and of the empty one:
// (X(X+1)/2)^d + 1. It has exact methods in two dimensions. They compress a sample to k_r
// distinct rows (first coordinates) and k_c distinct columns, and take O(k_r^2 k_c): the columns'
// intervals for each interval of rows. For 500 different points that is a few tenths of a second;
// samples that need more than maxSteps are rejected.
type rectangles struct{ lattice }

// maxSteps limits rows^2 columns: up to 2048 of each, or half a minute per trial.
const maxSteps = 1 << 33

func newRectangles(s Spec) (Class, error) {
	l, err := newLattice(s, 2, 1)
	if err != nil {
		return nil, err
	}
	return &rectangles{l}, nil
}

// Size implements Class.
func (c *rectangles) Size() *big.Int {
	x := new(big.Int).SetUint64(c.domain)
	n := new(big.Int).Add(x, big.NewInt(1))
	n.Mul(n, x).Rsh(n, 1)
	n.Exp(n, big.NewInt(int64(c.dim)), nil)
	return n.Add(n, big.NewInt(1))
}

// LogSize implements Class.
func (c *rectangles) LogSize() float64 { return numeric.LogInt(c.Size()) }

// VC implements Class. From X = 3 on it is 2d: the points with one coordinate 0 or 2 and 1 in all
// others are shattered, and of more than 2d points one lies in the box of the points that are
// extreme in some coordinate. For X = 2 the rectangles are the monomials over d Boolean
// variables, of dimension d, and 2 for d = 1 (Natschläger and Schmitt 1996). For X = 1 there is
// one point, with either label.
func (c *rectangles) VC() int {
	switch c.domain {
	case 1:
		return 1
	case 2:
		return max(c.dim, 2)
	}
	return 2 * c.dim
}

// Member implements Finite. Of more than 2^64 rectangles only the first 2^64 have a number; in
// two dimensions all rectangles have one up to X = 92681.
func (c *rectangles) Member(i uint64) Hypothesis {
	return rectangleAt(make(Rectangle, c.dim), c.domain, i)
}

// rectangleAt fills h with number i of the rectangles of its dimension, and returns it.
func rectangleAt(h Rectangle, domain, i uint64) Rectangle {
	for k := len(h) - 1; k >= 0; k-- {
		rank, quotient := i, uint64(0)
		if hi, sides := startingBelow(domain, domain); hi == 0 { // number of intervals of one axis
			rank, quotient = i%sides, i/sides
		}
		h[k], i = intervalAt(domain, rank), quotient
	}
	if i > 0 {
		return h.emptied()
	}
	return h
}

// emptied changes h to the rectangle that labels nothing +1, and returns it.
func (h Rectangle) emptied() Rectangle {
	for k := range h {
		h[k] = Empty()
	}
	return h
}

// planar returns nil in two dimensions, and otherwise an error. what names the missing method.
func (c *rectangles) planar(what string) error {
	if c.dim == 2 {
		return nil
	}
	return fmt.Errorf("%s rectangles in %d dimensions: %w: only 2 dimensions have one", what, c.dim, ErrNoExactMethod)
}

// checkCost returns an error if this many distinct rows and columns would take more than
// maxSteps.
func (c *rectangles) checkCost(rows, cols int) error {
	if float64(rows)*float64(rows)*float64(cols) <= maxSteps {
		return nil
	}
	return fmt.Errorf("search the rectangles around %d distinct first and %d distinct second coordinates: %w: "+
		"it would take minutes: use a sample of at most 2048 points, or a domain of at most 2048 values",
		rows, cols, ErrNoExactMethod)
}

// CheckSample returns, in advance, the error of the exact methods of a class for a sample of n
// points. It wraps ErrNoExactMethod: rectangles of a domain above 2048 values have no exact
// methods for more than 2048 points. The points of a linear term count too.
func CheckSample(c Class, n int) error {
	r, ok := c.(*rectangles)
	if !ok {
		return nil
	}
	most := int(min(uint64(max(n, 0)), r.domain))
	return r.checkCost(most, most)
}

// rectangleMinimizer is the Minimizer of the rectangles in the plane. O(rows^2 columns), for the
// sample and the linear term together.
type rectangleMinimizer struct {
	class *rectangles
	term  []float64 // points of the linear term
	objective
	plane
	points []float64 // scratch: points of the sample and the term
	sums   []float64 // scratch, by column
	mark   []bool    // scratch, by column
}

// NewMinimizer implements Finite.
func (c *rectangles) NewMinimizer(z []float64) (Minimizer, error) {
	if err := c.planar("search of all"); err != nil {
		return nil, err
	}
	if err := c.checkTerm(z); err != nil {
		return nil, err
	}
	return &rectangleMinimizer{class: c, term: slices.Clone(z)}, nil
}

// Minimize implements Minimizer.
func (m *rectangleMinimizer) Minimize(x, y, w, c []float64) (Hypothesis, float64, error) {
	if err := m.class.check(x, y); err != nil {
		return nil, 0, err
	}
	m.set(y, w, c)
	m.points = append(m.points[:0], x[:2*len(y)]...)
	if c != nil {
		m.points = append(m.points, m.term...)
	}
	for _, v := range c {
		m.gains = append(m.gains, float64(2*v))
	}
	if err := m.reset(m.points, m.class.domain); err != nil {
		return nil, 0, err
	}
	if err := m.class.checkCost(len(m.rows.values), len(m.cols.values)); err != nil {
		return nil, 0, err
	}
	h, gain := m.best()
	return h, m.minus + gain, nil
}

// best compares the best rectangle that contains rows and columns with the first that contains no
// point, and returns the gain too.
func (m *rectangleMinimizer) best() (Rectangle, float64) {
	k := len(m.cols.values)
	m.sums, m.mark = zeroed(m.sums, k), zeroed(m.mark, k)
	gain, at := m.leastBlock(m.gains, m.sums)
	row, col, ok := m.free(m.mark)
	none := [4]uint64{row, row, col, col}
	if !ok {
		none[0] = m.class.domain // only the empty rectangle, which comes last, contains no point
	}
	if k > 0 && gain <= 0 {
		held := [4]uint64{m.rows.start(at.i), m.rows.values[at.j], m.cols.start(at.k), m.cols.values[at.l]}
		if gain < 0 || slices.Compare(held[:], none[:]) < 0 {
			return box(held), gain
		}
	}
	if !ok {
		return make(Rectangle, m.class.dim).emptied(), 0
	}
	return box(none), 0
}

// box returns the rectangle between the given rows and columns.
func box(at [4]uint64) Rectangle {
	return Rectangle{Interval(float64(at[0]), float64(at[1])), Interval(float64(at[2]), float64(at[3]))}
}

// boxesEverywhere separates by all points: the empty box and a single point differ at that point.
func boxesEverywhere(c Finite, s Spec) (*Separator, error) { return wholeDomain(c, s.Domain) }

// ofBoxes bounds the Littlestone dimension of the boxes of d intervals of X points. An adversary
// may start with a point labeled +1. On a line through it along an axis, with x points below, the
// two ends of the box are then thresholds of x+1 and of X-x functions, and each forces its own
// mistakes:
//
//	B = max_x floor(log2(x+1)) + floor(log2(X-x))
//
// in all, on each of d axes. For d = 1 a learner that predicts -1 until then makes at most one
// more mistake. B is the largest a + b, with a = b or a = b-1, for which 2^a - 1 points below x
// and 2^b - 1 above fit into X.
func ofBoxes(c Class, s Spec) Dimension {
	b := 0
	for next := 1; uint64(1)<<(next/2)+uint64(1)<<((next+1)/2)-1 <= s.Domain; next++ {
		b = next
	}
	if d := c.Dim(); d > 1 {
		return Dimension{d * b, logSize(c)}
	}
	return Dimension{b, b + 1}
}
