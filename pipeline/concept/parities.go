package concept

import (
	"math"
	"math/big"
	"math/bits"
)

// Parities names the class of the parities of Dim bits.
const Parities = "parities"

var paritiesDefinition = Definition{
	Name:  Parities,
	Doc:   "+1 where an odd number of some bits are 1",
	Shape: Bits,
	Column: func(x []float64, out []uint8) {
		out[0] = 0
		for j, bit := range x {
			low, high := out[:1<<j], out[1<<j:2<<j]
			copy(high, low)
			if bit == 1 {
				for i := range high {
					high[i] ^= 1
				}
			}
		}
	},
	New: newParities,
	VC:  exactVC,
	// VC <= Ldim <= log2 |H|, and all three are d.
	Littlestone: func(c Class, _ Spec) Dimension { return exactly(c.Dim()) },
	Standard:    func(c Finite, _ Spec) (*Separator, error) { return unitPoints(c.Dim(), 0) },
	WholeDomain: paritiesEverywhere,
	Code:        code,
	At:          paritiesAt,
	Targets:     parityTargets,
	Examples:    []Spec{{Name: Parities, Dim: 5}},
}

var parityTargets = Targets{
	Random:    func(s Spec, _ int) Target { return &parityTarget{Parity{Dim: s.Dim}, true} },
	RandomDoc: "each bit belongs to it with probability 1/2",
	Prior:     parityPrior,
	Weight:    func(s Spec, _ int, _ uint64) float64 { return math.Ldexp(1, -s.Dim) },
	Parse: func(s Spec, text string) (Hypothesis, error) {
		set, _, err := parseMarks(text, s.Dim, "10")
		return Parity{s.Dim, set}, err
	},
	Write: func(_ Spec, h Hypothesis) string {
		p := h.(Parity)
		return writeMarks(p.Dim, p.Set, 0, "10")
	},
	Notation: "a character for each bit, 1 for one that belongs to the parity and 0 for any other, such as 0110",
}

// Parity labels a point of {0,1}^Dim +1 if an odd number of the coordinates in Set are 1. Bit j
// of Set represents coordinate j.
type Parity struct {
	Dim int
	Set uint64
}

// Labels implements Hypothesis.
func (p Parity) Labels(x, out []float64) {
	var set [maxBits]uint8
	size := 0
	for left := p.Set; left != 0; left &= left - 1 {
		set[size] = uint8(bits.TrailingZeros64(left))
		size++
	}
	for i := range out {
		point, odd := x[i*p.Dim:(i+1)*p.Dim], uint64(0)
		for _, j := range set[:size] {
			odd ^= math.Float64bits(point[j]) // bits of the coordinate: 1 (plus) or 0
		}
		out[i] = math.Float64frombits(plus | (^odd&(1<<52))<<11)
	}
}

// maxParities is the largest dimension with exact methods.
const maxParities = 24

// parities is the class of all 2^d parities; the parity of Set s is number s.
type parities struct {
	cube
	dim int
}

func newParities(s Spec) (Class, error) {
	c, err := newBits(s, maxParities)
	if err != nil {
		return nil, err
	}
	c.size = new(big.Int).Lsh(big.NewInt(1), uint(s.Dim))
	c.kind, c.hypotheses, c.inPlace = parities{dim: s.Dim}, c.points, true
	return c, nil
}

func (c parities) member(i uint64) Hypothesis { return Parity{c.dim, i} }
func (parities) counts(_, sums []int32)       { oddSums(sums) }
func (parities) weights(_, sums []float64)    { oddSums(sums) }

// oddSums replaces a by the sums over the points v that share an odd number of bits with s, for
// all s. The Walsh-Hadamard transform adds a[v] if the number is even, and subtracts a[v] if it
// is odd.
func oddSums[T number](a []T) {
	WalshHadamard(a)
	total := a[0]
	for s, even := range a {
		a[s] = (total - even) / 2
	}
}

// WalshHadamard applies the Walsh-Hadamard transform, in place, to 2^d numbers: len(a)
// log2(len(a)) additions. It processes two of the d bits at a time and then each quarter
// separately, so that data that fit into a cache are read into it once.
func WalshHadamard[T number](a []T) {
	switch len(a) {
	case 1:
		return
	case 2:
		a[0], a[1] = a[0]+a[1], a[0]-a[1]
		return
	}
	a0, a1, a2, a3 := quarters(a)
	for i := range a0 {
		s, t := a0[i]+a1[i], a0[i]-a1[i]
		u, v := a2[i]+a3[i], a2[i]-a3[i]
		a0[i], a1[i], a2[i], a3[i] = s+u, t+v, s-u, t-v
	}
	if len(a0) > 1 {
		WalshHadamard(a0)
		WalshHadamard(a1)
		WalshHadamard(a2)
		WalshHadamard(a3)
	}
}

// quarters returns the four quarters of a, with lengths that the compiler can prove equal.
func quarters[T any](a []T) (a0, a1, a2, a3 []T) {
	q := len(a) / 4
	a0 = a[:q]
	return a0, a[q:][:len(a0)], a[2*q:][:len(a0)], a[3*q:][:len(a0)]
}

// paritiesEverywhere separates by all points. The sum of two parities is a parity other than 0,
// which is odd at half of the points: <s_f, s_g> = 0. From 21 dimensions on the points are not
// listed.
func paritiesEverywhere(c Finite, _ Spec) (*Separator, error) {
	w := &Separator{Dim: c.Dim(), unlisted: 1 << c.Dim()}
	if c.Dim() <= maxListedBits || c.Dim() > maxParities {
		listed, err := wholeDomain(c, 2)
		if err != nil {
			return nil, err
		}
		w = listed
	}
	w.Hamming, w.Spread, w.Orthonormal = w.Len()/2, 2, true
	w.margin = simplex(c, 2)
	return w, nil
}
