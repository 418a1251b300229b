package concept

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
)

// Conjunctions names the class of the conjunctions of literals of Dim bits.
const Conjunctions = "conjunctions"

var conjunctionsDefinition = Definition{
	Name:        Conjunctions,
	Doc:         "+1 where all of some bits are 1 and all of some other bits are 0, or nowhere",
	Shape:       Bits,
	New:         newConjunctions,
	VC:          exactVC,
	Littlestone: ofConjunctions,
	Standard:    conjunctionsEverywhere,
	Covers:      true,
	WholeDomain: conjunctionsEverywhere,
	Targets:     conjunctionTargets,
	Examples:    []Spec{{Name: Conjunctions, Dim: 4}},
}

var conjunctionTargets = Targets{
	Random:    func(s Spec, literals int) Target { return literalsBox(s.Dim, literals, true) },
	RandomDoc: "its literals (`literals`, default 2) are on uniform bits, each negated with probability 1/2",
	Literals:  true,
	Weight: func(s Spec, literals int, i uint64) float64 {
		h := conjunctionAt(s.Dim, i)
		if h.Ones&h.Zeros != 0 || bits.OnesCount64(h.Ones|h.Zeros) != literals {
			return 0
		}
		return math.Ldexp(1/binomial(s.Dim, literals), -literals)
	},
	Uniform: func(s Spec, size uint64) Target {
		return wholeBox(s.Dim, 2).drawn(func(b *Box, r *rand.Rand) { b.require(conjunctionAt(s.Dim, r.Uint64N(size))) })
	},
	Middle: func(s Spec) Hypothesis {
		return Conjunction{Dim: s.Dim, Ones: 1, Zeros: uint64(min(s.Dim-1, 1) << 1)}
	},
	MiddleDoc: "the conjunction of the first bit and the negation of the second",
	Parse: func(s Spec, text string) (Hypothesis, error) {
		if text == Nowhere {
			return Conjunction{s.Dim, 1, 1}, nil
		}
		ones, zeros, err := parseMarks(text, s.Dim, "10x")
		return Conjunction{s.Dim, ones, zeros}, err
	},
	Write: func(_ Spec, h Hypothesis) string {
		c := h.(Conjunction)
		if c.Ones&c.Zeros != 0 {
			return Nowhere
		}
		return writeMarks(c.Dim, c.Ones, c.Zeros, "10x")
	},
	Notation: "a character for each bit, 1 for a literal, 0 for a negated one and x for none, such as 10xx, or nowhere",
}

// literalsBox returns a random conjunction of literals in dim bits. Each set of bits is equally
// likely; if negated is true, so is each choice of negations.
func literalsBox(dim, literals int, negated bool) *Box {
	return wholeBox(dim, 2).drawn(func(b *Box, r *rand.Rand) {
		for j := range b.Low {
			b.Low[j], b.High[j] = 0, 1
		}
		var signs uint64
		if negated {
			signs = r.Uint64()
		}
		for last := dim - literals; last < dim; last++ { // Floyd's way to draw a set: Bentley 1987
			j := r.IntN(last + 1)
			if b.Low[j] == b.High[j] { // drawn before
				j = last
			}
			negative := float64(signs & 1)
			b.Low[j], b.High[j] = 1-negative, 1-negative
			signs >>= 1
		}
	})
}

// binomial returns the number of sets of k of n things, rounded.
func binomial(n, k int) float64 {
	c, _ := new(big.Float).SetInt(new(big.Int).Binomial(int64(n), int64(k))).Float64()
	return c
}

// Conjunction labels a point of {0,1}^Dim +1 if every coordinate in Ones is 1 and every
// coordinate in Zeros is 0. Bit j of a set represents coordinate j. If a coordinate is in both
// sets, the label is -1 everywhere.
type Conjunction struct {
	Dim         int
	Ones, Zeros uint64
}

// Labels implements Hypothesis.
func (c Conjunction) Labels(x, out []float64) {
	for i := range out {
		out[i] = 1
		for j, bit := range x[i*c.Dim : (i+1)*c.Dim] {
			if (c.Ones>>j&1 == 1 && bit != 1) || (c.Zeros>>j&1 == 1 && bit != 0) {
				out[i] = -1
				break
			}
		}
	}
}

// conjunctions is the class of the 3^d conjunctions of literals and the function -1. Number i has
// the digits t_j in base 3, the lowest first: 0 puts coordinate j into Zeros, 1 into Ones, 2
// leaves it free. The last hypothesis is -1 everywhere.
type conjunctions struct {
	cube
	dim int
}

func newConjunctions(s Spec) (Class, error) {
	c, err := newBits(s, 14)
	if err != nil {
		return nil, err
	}
	literals := new(big.Int).Exp(big.NewInt(3), big.NewInt(int64(s.Dim)), nil)
	c.size = new(big.Int).Add(literals, big.NewInt(1))
	if s.Dim == 1 {
		c.vc = 2 // all four functions; for d >= 2 it is d (Natschlaeger and Schmitt 1996)
	}
	c.kind = conjunctions{dim: s.Dim}
	if c.limit == nil {
		c.hypotheses = int(c.size.Int64())
	}
	return c, nil
}

func (c conjunctions) member(i uint64) Hypothesis { return conjunctionAt(c.dim, i) }

// conjunctionAt returns number i of the conjunctions of dim bits.
func conjunctionAt(dim int, i uint64) Conjunction {
	h := Conjunction{Dim: dim}
	for j := range dim {
		switch i % 3 {
		case 0:
			h.Zeros |= 1 << j
		case 1:
			h.Ones |= 1 << j
		}
		i /= 3
	}
	if i > 0 { // i is 3^d, the last hypothesis
		h.Ones, h.Zeros = 1, 1
	}
	return h
}

func (conjunctions) counts(at, sums []int32)    { literalSums(at, sums) }
func (conjunctions) weights(at, sums []float64) { literalSums(at, sums) }

// literalSums fills sums for all conjunctions of literals and, last, for the function that is -1
// everywhere.
func literalSums[T number](at, sums []T) {
	last := len(sums) - 1
	ternary(at, sums[:last])
	sums[last] = 0
}

// ternary fills the 3^d sums of the 2^d numbers at, in 3^d - 2^d additions: if the highest digit
// is 2, the sum is the sum for 0 plus the sum for 1.
func ternary[T number](at, sums []T) {
	if len(at) == 1 {
		sums[0] = at[0]
		return
	}
	half, third := len(at)/2, len(sums)/3
	zero, one, free := sums[:third], sums[third:][:third], sums[2*third:][:third]
	ternary(at[:half], zero)
	ternary(at[half:], one)
	for i := range free {
		free[i] = zero[i] + one[i]
	}
}

// conjunctionsEverywhere separates by all points: a conjunction without free bits, true at a
// single point, and the function that is never true differ at that point only.
func conjunctionsEverywhere(c Finite, _ Spec) (*Separator, error) { return wholeDomain(c, 2) }

// ofConjunctions returns the Littlestone dimension of the conjunctions of literals, d+1.
//
// Upper bound: elimination starts with all 2d literals and errs only on points labeled +1. Its
// first mistake leaves d literals, and each later one removes another (Valiant 1984).
//
// Lower bound: an adversary presents d+1 different points and labels them -1, as the function -1
// does, until the learner predicts -1. Let y be that point after j mistakes; the adversary labels
// it +1. This leaves the subsets of the d literals true at y. For each earlier point, fix one
// literal that is false there. The other d-j or more literals may each be present or absent, and
// force as many more mistakes.
func ofConjunctions(c Class, _ Spec) Dimension { return exactly(c.Dim() + 1) }
