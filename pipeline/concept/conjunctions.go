package concept

import "math/big"

// Conjunction labels a point of {0,1}^Dim +1 where every coordinate in Ones is 1 and every one in Zeros is 0: coordinate j is in a set
// where bit j is. With a coordinate in both it is -1 everywhere.
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

// monotone is the class of the 2^d conjunctions of coordinates, the one of Ones s being number s.
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

// supersetSums turns a into the sums over the points v that have all bits of s, for all s, in place: len(a) log2(len(a)) / 2 additions.
// The order is that of walsh.
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

// conjunctions is the class of the 3^d conjunctions of literals and the function -1. Number i has the digits t_j in base 3, the lowest first:
// 0 puts coordinate j into Zeros, 1 into Ones, 2 leaves it free. The last one is -1 everywhere.
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

func (c conjunctions) member(i uint64) Hypothesis {
	h := Conjunction{Dim: c.dim}
	for j := range c.dim {
		switch i % 3 {
		case 0:
			h.Zeros |= 1 << j
		case 1:
			h.Ones |= 1 << j
		}
		i /= 3
	}
	if i > 0 { // 3^d, the last one
		h.Ones, h.Zeros = 1, 1
	}
	return h
}

func (conjunctions) counts(at, sums []int32)    { literalSums(at, sums) }
func (conjunctions) weights(at, sums []float64) { literalSums(at, sums) }

// literalSums fills sums for all conjunctions of literals and, last, the function that is -1 everywhere.
func literalSums[T number](at, sums []T) {
	last := len(sums) - 1
	ternary(at, sums[:last])
	sums[last] = 0
}

// ternary fills the 3^d sums of the 2^d numbers at, in 3^d - 2^d additions: where the highest digit is 2, the sum is that for 0 plus that for 1.
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
