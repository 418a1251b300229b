package concept

import (
	"math/big"
	"math/rand/v2"
)

// MonotoneConjunctions names the class of the conjunctions of some of Dim bits.
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
	// The conjunction of all bits and that of all but one: the first is +1 at the ones, the second
	// there and at one point more.
	WholeDomain: func(c Finite, _ Spec) (*Separator, error) { return wholeDomain(c, 2) },
	Target: func(s Spec) Target {
		b := wholeBox(s.Dim, 2)
		for j := range min(2, s.Dim) {
			b.Low[j] = 1
		}
		return b
	},
	TargetDoc: "the conjunction of the first two bits",
	Prior:     conjunctionPrior(false),
	Examples:  []Spec{{Name: MonotoneConjunctions, Dim: 5}},
	Draw: func(s Spec, r *rand.Rand) Hypothesis {
		return Conjunction{Dim: s.Dim, Ones: positive(2, r)}
	},
}

// monotone is the class of the 2^d conjunctions of coordinates; the one of Ones s is number s.
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
