package concept

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// maxCodeDim is the largest dimension of a random code. The code's least weight is searched among
// all 2^d codewords.
const maxCodeDim = maxParities

// codeLength is the length of a random code divided by its dimension. By Gilbert and Varshamov
// such codes typically have h/m of about 0.3 in every dimension, whereas a basis has 1/d.
const codeLength = 10

// code separates the parities by the columns of a random generator matrix: parity s labels them by
// codeword s, so that the least distance is the least weight of a codeword other than 0. A matrix
// of deficient rank has weight 0 and is drawn again.
func code(d int, seed uint64) (*Separator, error) {
	if d > maxCodeDim {
		return nil, fmt.Errorf("separate parities in dimension %d by a code: use at most %d, or kind %q",
			d, maxCodeDim, "standard")
	}
	for ; ; seed++ {
		g := newGenerator(d, codeLength*d, rand.New(rand.NewPCG(seed, 0)))
		least, most := g.weights()
		if least == 0 {
			continue
		}
		return &Separator{Points: g.columns(), Dim: d, Hamming: least, Spread: spread(most, g.m)}, nil
	}
}

// generator is a generator matrix of a binary linear code, d rows of m bits.
type generator struct {
	d, m  int
	words int // per row
	rows  []uint64
}

// newGenerator draws a generator matrix, each bit a fair coin.
func newGenerator(d, m int, r *rand.Rand) *generator {
	g := &generator{d: d, m: m, words: (m + 63) / 64}
	g.rows = make([]uint64, d*g.words)
	for i := range g.rows {
		g.rows[i] = r.Uint64()
		if tail := m % 64; tail > 0 && i%g.words == g.words-1 {
			g.rows[i] &= 1<<tail - 1
		}
	}
	return g
}

// weights returns the least and the largest weight of the codewords other than the empty sum. It
// visits them in the order of the Gray code, one row addition per codeword: O(2^d m/64).
func (g *generator) weights() (least, most int) {
	word := make([]uint64, g.words)
	least = g.m
	for i := uint64(1); i < 1<<g.d; i++ {
		row := g.rows[bits.TrailingZeros64(i)*g.words:]
		weight := 0
		for k := range word {
			word[k] ^= row[k]
			weight += bits.OnesCount64(word[k])
		}
		least, most = min(least, weight), max(most, weight)
	}
	return least, most
}

// columns returns the columns as points, row-major: m points of d coordinates.
func (g *generator) columns() []float64 {
	z := make([]float64, g.m*g.d)
	for j := range g.m {
		for i := range g.d {
			z[j*g.d+i] = float64(g.rows[i*g.words+j/64] >> (j % 64) & 1)
		}
	}
	return z
}
