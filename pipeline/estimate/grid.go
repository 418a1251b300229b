package estimate

import "math/bits"

// grid is the list of all sample sizes that a search can ever ask for. Like floating-point numbers it has octaves: octave j
// begins at a = from 2^j and holds the sizes a + floor(i a/parts), i = 0..parts-1, or every integer where a <= parts. It ends
// with to. parts is a power of two, so the grid of a smaller within contains that of a larger one, and all of it is integer
// arithmetic: any machine gets the same sizes.
//
// The grid is fixed before the first outcome, and that is what makes the confidence of the search hold. Trials at different
// sizes share their data: what is seen at one size tells about another, so the sizes along the way are not chosen independently of
// the errors there, and only a bound over all that might be chosen holds.
type grid struct {
	from, to int64
	parts    int64
	octaves  []int // octaves[j]: number of sizes before octave j; the last entry is the index of to
}

// maxSize is the largest sample size that can be asked for. An octave with that many parts holds every integer.
const maxSize = 1 << 40

func newGrid(from, to int64, within float64) grid {
	g := grid{from: from, to: to, parts: 1}
	// Neighbours are at most a ratio within^(1/3) apart, but for the rounding to integers.
	for step := 2.0; step*step*step > within && g.parts < maxSize; step = 1 + 1/float64(g.parts) {
		g.parts *= 2
	}
	count := 0
	for a := from; a < to; a *= 2 {
		g.octaves = append(g.octaves, count)
		count += int(g.position(a, min(2*a, to)))
	}
	g.octaves = append(g.octaves, count)
	return g
}

// last is the index of to; indexes run from 0 to last.
func (g *grid) last() int { return g.octaves[len(g.octaves)-1] }

// size gives the sample size at an index.
func (g *grid) size(index int) int64 {
	if index == g.last() {
		return g.to
	}
	j := g.octave(index)
	a := g.from << j
	high, low := bits.Mul64(uint64(index-g.octaves[j]), uint64(a))
	offset, _ := bits.Div64(high, low, uint64(min(a, g.parts)))
	return a + int64(offset)
}

// octave finds the octave that an index below last lies in.
func (g *grid) octave(index int) int {
	j := 0
	for g.octaves[j+1] <= index {
		j++
	}
	return j
}

// atLeast gives the index of the least size >= n, for n <= to.
func (g *grid) atLeast(n int64) int {
	if n <= g.from {
		return 0
	}
	j := 0
	for g.from<<(j+1) <= n && j+2 < len(g.octaves) {
		j++
	}
	a := g.from << j
	return min(g.octaves[j]+int(g.position(a, n)), g.last())
}

// position gives the least i with a + floor(i a/parts) >= n in the octave that begins at a, for a <= n <= 2 a.
func (g *grid) position(a, n int64) int64 {
	high, low := bits.Mul64(uint64(n-a), uint64(min(a, g.parts)))
	i, rest := bits.Div64(high, low, uint64(a))
	if rest > 0 {
		i++
	}
	return int64(i)
}

// doubled gives the index of the doubling point that follows that of an index: the start of the next octave, or to.
func (g *grid) doubled(index int) int {
	for _, start := range g.octaves {
		if start > index {
			return start
		}
	}
	return g.last()
}
