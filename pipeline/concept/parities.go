package concept

import (
	"fmt"
	"math/big"
)

// number is what the transforms of the enumerated classes add up: counts or weights.
type number interface{ int32 | float64 }

// maxBits is the largest dimension of the classes over {0,1}^d: a set of coordinates is a uint64.
const maxBits = 64

// newBits is what the classes over {0,1}^d share. name is that of the class, limit the largest dimension with exact methods.
func newBits(s Spec, limit int) (*enumerated, error) {
	if s.Domain != 0 {
		return nil, fmt.Errorf("domain %d of class %q: its points are vectors of bits, leave the domain out", s.Domain, s.Name)
	}
	if s.Dim < 1 || s.Dim > maxBits {
		return nil, fmt.Errorf("dimension %d of class %q: use 1 to %d", s.Dim, s.Name, maxBits)
	}
	c := &enumerated{name: s.Name, dim: s.Dim, vc: s.Dim, domain: "the numbers 0 and 1"}
	if s.Dim > limit {
		c.limit = fmt.Errorf("%s in %d dimensions: %w: only up to %d dimensions do numbers for all hypotheses fit into memory",
			s.Name, s.Dim, ErrNoExactMethod, limit)
		return c, nil
	}
	c.points = 1 << s.Dim
	return c, nil
}

// cube numbers the points of {0,1}^d: coordinate j is bit j.
type cube struct{}

func (cube) point(row []float64) (v, stray int) {
	for j, bit := range row {
		b := int(bit) // no branch on it: random bits would mispredict
		if float64(b) != bit || uint(b) > 1 {
			return 0, j
		}
		v |= b << j
	}
	return v, -1
}

// Parity labels a point of {0,1}^Dim +1 where an odd number of the coordinates in Set are 1: coordinate j is in Set where bit j is.
type Parity struct {
	Dim int
	Set uint64
}

// Labels implements Hypothesis.
func (p Parity) Labels(x, out []float64) {
	for i := range out {
		odd := uint64(0) // in its lowest bit
		for j, bit := range x[i*p.Dim : (i+1)*p.Dim] {
			odd ^= p.Set >> j & uint64(bit)
		}
		out[i] = float64(2*int(odd&1) - 1)
	}
}

// maxParities is the largest dimension with exact methods.
const maxParities = 24

// parities is the class of all 2^d parities, the one of Set s being number s.
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

// oddSums turns a into the sums over the points v where v and s have an odd number of common bits, for all s. Where the number is even the
// Walsh-Hadamard transform adds a[v], and where it is odd it subtracts a[v].
func oddSums[T number](a []T) {
	walsh(a)
	total := a[0]
	for s, even := range a {
		a[s] = (total - even) / 2
	}
}

// walsh is the Walsh-Hadamard transform, in place, of a power of two of numbers: len(a) log2(len(a)) additions. It takes two of the d bits
// at a time and then each quarter by itself, so that what fits into a cache is read into it once.
func walsh[T number](a []T) {
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
		walsh(a0)
		walsh(a1)
		walsh(a2)
		walsh(a3)
	}
}

// quarters are the four quarters of a, all known to the compiler to be as long as the first.
func quarters[T any](a []T) (a0, a1, a2, a3 []T) {
	q := len(a) / 4
	a0 = a[:q]
	return a0, a[q:][:len(a0)], a[2*q:][:len(a0)], a[3*q:][:len(a0)]
}
