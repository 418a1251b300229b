package concept

import (
	"math/big"
	"math/bits"
	"math/rand/v2"
)

// MonotoneConjunctions names the class of the conjunctions of subsets of Dim bits.
const MonotoneConjunctions = "monotone-conjunctions"

var monotoneDefinition = Definition{
	Name:  MonotoneConjunctions,
	Doc:   "+1 where all of some bits are 1",
	Shape: Bits,
	New:   newMonotone,
	VC:    exactVC,
	// VC <= Ldim <= log2 |H|, and all three are d.
	Littlestone: func(c Class, _ Spec) Dimension { return exactly(c.Dim()) },
	Standard:    func(c Finite, _ Spec) (*Separator, error) { return unitPoints(c.Dim(), 1) },
	// The conjunction of all bits and that of all but one differ at one point: the first is +1 at
	// the all-ones point, the second there and at one more point.
	WholeDomain: func(c Finite, _ Spec) (*Separator, error) { return wholeDomain(c, 2) },
	Targets:     monotoneTargets,
	Examples:    []Spec{{Name: MonotoneConjunctions, Dim: 5}},
}

var monotoneTargets = Targets{
	Random:    func(s Spec, literals int) Target { return literalsBox(s.Dim, literals, false) },
	RandomDoc: "its literals (`literals`, default 2) are on uniform bits",
	Literals:  true,
	Weight: func(s Spec, literals int, i uint64) float64 {
		if bits.OnesCount64(i) != literals {
			return 0
		}
		return 1 / binomial(s.Dim, literals)
	},
	Uniform: func(s Spec, size uint64) Target {
		return wholeBox(s.Dim, 2).drawn(func(b *Box, r *rand.Rand) {
			b.require(Conjunction{Dim: s.Dim, Ones: r.Uint64N(size)})
		})
	},
	Middle:    func(s Spec) Hypothesis { return Conjunction{Dim: s.Dim, Ones: 1<<min(2, s.Dim) - 1} },
	MiddleDoc: "the conjunction of the first two bits",
	Parse: func(s Spec, text string) (Hypothesis, error) {
		ones, _, err := parseMarks(text, s.Dim, "1x")
		return Conjunction{Dim: s.Dim, Ones: ones}, err
	},
	Write: func(_ Spec, h Hypothesis) string {
		c := h.(Conjunction)
		return writeMarks(c.Dim, c.Ones, 0, "1x")
	},
	Notation: "a character for each bit, 1 for a literal and x for none, such as 1x1x",
}

// monotone is the class of the 2^d conjunctions of coordinates; the conjunction with Ones s is
// number s.
type monotone struct {
	cube
	dim int
}

func newMonotone(s Spec) (Class, error) {
	c, err := newBits(s, 24)
	if err != nil {
		return nil, err
	}
	c.size = new(big.Int).Lsh(big.NewInt(1), uint(s.Dim))
	c.kind, c.hypotheses, c.inPlace = monotone{dim: s.Dim}, c.points, true
	return c, nil
}

func (c monotone) member(i uint64) Hypothesis { return Conjunction{Dim: c.dim, Ones: i} }
func (monotone) counts(_, sums []int32)       { supersetSums(sums) }
func (monotone) weights(_, sums []float64)    { supersetSums(sums) }

// supersetSums turns a into the sums over the points v that have all bits of s, for all s, in
// place: len(a) log2(len(a)) / 2 additions. The order is that of WalshHadamard.
func supersetSums[T number](a []T) {
	switch len(a) {
	case 1:
		return
	case 2:
		a[0] += a[1]
		return
	}
	a0, a1, a2, a3 := quarters(a)
	for i := range a0 {
		s, t := a1[i]+a3[i], a2[i]+a3[i]
		a0[i], a1[i], a2[i] = a0[i]+a2[i]+s, s, t
	}
	if len(a0) > 1 {
		supersetSums(a0)
		supersetSums(a1)
		supersetSums(a2)
		supersetSums(a3)
	}
}
