package estimate

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Repeated is a cell's trials, for [Resample].
type Repeated struct {
	Data   [32]byte // cells with the same Data share the data of equal sizes and repetitions
	Own    [32]byte // of this cell alone
	Target float64  // n* is the success probability's crossing of it; 0: the mean of Values is estimated instead
	Sizes  []Repetitions

	// Low and High, where they are given, are a bracket of n* without an estimate: each resample draws a place in it, uniformly in ln n.
	Low, High int64
}

// Repetitions are the trials 0..Count-1 of one sample size.
type Repetitions struct {
	N       int64
	Count   int
	Success []uint64  // bit r%64 of word r/64; bits from Count on are 0
	Values  []float64 // of each repetition, NaN where it failed; in place of Success
}

// Resample is the bootstrap of whole repetitions (Efron 1979) over cells that may share their data: for each Data and each sample
// size the repetitions are drawn once with replacement, and each cell takes from this draw those that it consumed. The estimates of
// the cells, n* as [FitModel] has it (or, where no curve fits the draw, the isotonic [Crossing]) or the mean, come out by cell and
// resample: NaN where a draw gives none. Dependence between cells through their data is so kept.
//
// seed gives the two words of the generator for each use of randomness. Cost: a resample draws each shared trial once, a few
// nanoseconds, and counts 64 trials of a cell at a time.
func Resample(cells []Repeated, times int, seed func(key [32]byte, n int64, resample int) (hi, lo uint64)) [][]float64 {
	blocks := blocksOf(cells)
	out := make([][]float64, len(cells))
	points, means := make([][]Point, len(cells)), make([]float64, len(cells))
	for i, c := range cells {
		out[i] = make([]float64, times)
		points[i] = make([]Point, len(c.Sizes))
	}
	for again := range times {
		for _, b := range blocks {
			b.drawn.draw(b.count, rand.New(rand.NewPCG(seed(b.data, b.n, again))))
			for _, u := range b.users {
				r := &cells[u.cell].Sizes[u.size]
				if r.Values != nil {
					means[u.cell] = b.drawn.mean(r.Values)
					continue
				}
				points[u.cell][u.size] = Point{N: r.N, Consumed: b.drawn.total(r.Count), Successes: b.drawn.count(r.Success)}
			}
		}
		for i, c := range cells {
			switch {
			case c.High > 0:
				u := rand.New(rand.NewPCG(seed(c.Own, 0, again))).Float64()
				out[i][again] = float64(c.Low) * math.Pow(float64(c.High)/float64(c.Low), u)
			case c.Target == 0:
				out[i][again] = means[i]
			default:
				out[i][again] = estimateAgain(points[i], c.Target)
			}
		}
	}
	return out
}

// estimateAgain is n* from a resample.
func estimateAgain(points []Point, target float64) float64 {
	var drawn []Point
	for _, p := range points {
		if p.Consumed > 0 {
			drawn = append(drawn, p)
		}
	}
	if f, reason := fitBoth(drawn, target); reason == "" {
		return f.estimate()
	}
	return Crossing(drawn, target)
}

// block is the repetitions of one sample size of shared data.
type block struct {
	data  [32]byte
	n     int64
	count int // the most that a cell consumed
	users []struct{ cell, size int }
	drawn *multiset
}

// blocksOf finds who shares what, in the order of the cells.
func blocksOf(cells []Repeated) []*block {
	type key struct {
		data [32]byte
		n    int64
	}
	known := map[key]*block{}
	var blocks []*block
	drawn := new(multiset)
	for i, c := range cells {
		if c.High > 0 {
			continue
		}
		for j, r := range c.Sizes {
			k := key{c.Data, r.N}
			b := known[k]
			if b == nil {
				b = &block{data: c.Data, n: r.N, drawn: drawn}
				known[k] = b
				blocks = append(blocks, b)
			}
			b.count = max(b.count, r.Count)
			b.users = append(b.users, struct{ cell, size int }{i, j})
		}
	}
	return blocks
}

// multiset says how often each repetition was drawn: bit j of the numbers of 64 repetitions stands in element j of their word.
type multiset struct{ words [][8]uint64 }

// draw draws as many repetitions as there are, with replacement.
func (m *multiset) draw(count int, r *rand.Rand) {
	words := (count + 63) / 64
	m.words = slices.Grow(m.words[:0], words)[:words]
	clear(m.words)
	for range count {
		i := r.Uint32N(uint32(count))
		word, carry := &m.words[i/64], uint64(1)<<(i%64)
		for j := range word {
			old := word[j]
			word[j] = old ^ carry
			if carry &= old; carry == 0 {
				break
			}
		}
	}
}

// count counts the draws of members of a set.
func (m *multiset) count(set []uint64) (n int) {
	for i, members := range set {
		n += m.among(i, members)
	}
	return n
}

// total counts the draws of repetitions below end.
func (m *multiset) total(end int) (n int) {
	for i := 0; 64*i < end; i++ {
		members := ^uint64(0)
		if rest := end - 64*i; rest < 64 {
			members = 1<<rest - 1
		}
		n += m.among(i, members)
	}
	return n
}

// among counts the draws of some of the repetitions of one word.
func (m *multiset) among(i int, members uint64) (n int) {
	for j, bit := range m.words[i] {
		n += bits.OnesCount64(bit&members) << j
	}
	return n
}

// mean is the mean value of the draws that have one.
func (m *multiset) mean(values []float64) float64 {
	sum, n := 0.0, 0
	for i, v := range values {
		if times := m.among(i/64, 1<<(i%64)); times > 0 && v == v {
			sum += float64(float64(times) * v)
			n += times
		}
	}
	return sum / float64(n)
}
