package law

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// maxArrayDim is the largest number of numbers of a point for which the design Array is used: with
// many more, its points are more than it saves.
const maxArrayDim = 32

// array draws the points of the design Array, s^2 of them for a prime s. Every number of a point lies
// in one of s levels, parts of equal mass. Points u s + v, for u and v of 0..s-1, have u + j v modulo s
// as their level of number j, so that each pair of levels of two numbers occurs once: for j != k, u and
// v follow from u + j v and u + k v. The levels of each number are then permuted at random, and each
// number is drawn from its level, independently of all others.
//
// Each point by itself has the law of independent points, because its levels are uniform and
// independent. For any loss g, the variance of the mean loss on the s^2 points is at most 1 + (2s-1)/(s-1)^2
// times that on as many independent ones, for s of 3 and more (Owen 1994, Lattice sampling revisited).
// Of the part of g that depends on the levels of k numbers, and has mean 0 over those of any one of
// them, it is 1 + (ks-s-1) / (1-s)^(k-1) times that: 0 for k = 1 and 2.
type array struct {
	s      int
	parts  parts
	levels []int32 // the permuted level of number j that stands for l at j*s + l
	at     []int32 // u + j v modulo s, of the next point
	v      int32
	few    fewBits
	word   uint64 // what is left of it, and how many numbers that is
	left   int
}

// begin draws the permutations for points of dim numbers 0..side-1, m = s^2 points in all.
func (a *array) begin(r *rand.Rand, side uint64, dim, m int) {
	a.s, a.v = gridSide(m), 0
	a.parts, a.few, a.left = newParts(side, a.s), newFewBits(side), 0
	a.levels = slices.Grow(a.levels[:0], dim*a.s)[:dim*a.s]
	a.at = append(a.at[:0], make([]int32, dim)...)
	for j := range dim {
		of := a.levels[j*a.s:][:a.s]
		for i := range of {
			k := r.IntN(i + 1)
			of[i] = of[k]
			of[k] = int32(i)
		}
	}
}

// draw fills x with the next points.
func (a *array) draw(r *rand.Rand, x []float64) {
	s, dim := int32(a.s), len(a.at)
	few, left, word := a.few, a.left, a.word
	for ; len(x) > 0; x = x[dim:] {
		point, levels := x[:dim], a.levels
		for j, l := range a.at {
			if left == 0 {
				left, word = few.most, few.draw(r)
			}
			point[j] = a.parts.number(int(levels[l]), word&few.mask)
			levels, word, left = levels[s:], word>>few.bits, left-1
		}
		a.step(s)
	}
	a.left, a.word = left, word
}

// step goes to the next point.
func (a *array) step(s int32) {
	if a.v++; a.v < s {
		for j := range a.at {
			if a.at[j] += int32(j); a.at[j] >= s {
				a.at[j] -= s
			}
		}
		return
	}
	a.v = 0
	// All levels are those of v = s-1 now, u + j s - j.
	for j := range a.at {
		a.at[j] = (a.at[j] + int32(j) + 1) % s
	}
}

// fewBits draws uniform numbers below side, several of them in one word where side is a small power
// of two.
type fewBits struct {
	side uint64
	bits uint   // of a number
	mask uint64 // its bits
	most int    // numbers in a word
}

func newFewBits(side uint64) fewBits {
	if b := max(1, bits.TrailingZeros64(side)); b <= 32 && side&(side-1) == 0 {
		return fewBits{side, uint(b), side - 1, 64 / b}
	}
	return fewBits{side, 64, math.MaxUint64, 1}
}

// draw returns a word, whose first number is in its lowest bits.
func (f *fewBits) draw(r *rand.Rand) uint64 {
	if f.most == 1 {
		return below(r, f.side)
	}
	return r.Uint64()
}

// primeFrom returns the least prime from n on.
func primeFrom(n int) int {
	for !big.NewInt(int64(n)).ProbablyPrime(0) {
		n++
	}
	return n
}
