package estimate

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Repeated holds the trials of one cell for [Resample].
type Repeated struct {
	Data   [32]byte // shared data: cells with equal Data use the same data for equal sizes and repetitions
	Own    [32]byte // identity of this cell
	Target float64  // success probability that defines n*; 0: Resample estimates the mean of Values instead
	Sizes  []Repetitions

	// Low and High, if High is not 0, are a bracket of n* without an estimate. Each resample
	// draws a size in the bracket, uniformly in ln n.
	Low, High int64
}

// Repetitions are the trials 0..Count-1 of one sample size.
type Repetitions struct {
	N       int64
	Count   int
	Success []uint64  // bit r%64 of word r/64: repetition r succeeded; bits from Count on are 0
	Values  []float64 // one value per repetition, NaN if it failed; replaces Success
}

// Resample draws the bootstrap of whole repetitions (Efron 1979) over cells that may share their
// data. For each Data and each sample size it draws the repetitions once with replacement. Each
// cell uses the repetitions of this draw that it consumed, which preserves the dependence between
// cells through their data. Resample returns the estimates by cell and resample. An estimate is
// n* by [FitModel] (or, if no curve fits the draw, the isotonic [Crossing]) or the mean, and NaN
// if the draw has no estimate.
//
// seed returns the two words of the generator for each use of randomness. A resample draws each
// shared trial once, which takes a few nanoseconds, and counts 64 trials of a cell at a time.
func Resample(
	cells []Repeated, times int, seed func(key [32]byte, n int64, resample int) (hi, lo uint64),
) [][]float64 {
	pools := poolsOf(cells)
	out := make([][]float64, len(cells))
	points, means := make([][]Point, len(cells)), make([]float64, len(cells))
	for i, c := range cells {
		out[i] = make([]float64, times)
		points[i] = make([]Point, len(c.Sizes))
	}
	for resample := range times {
		for _, p := range pools {
			p.drawn.draw(p.count, rand.New(rand.NewPCG(seed(p.data, p.n, resample))))
			for _, u := range p.users {
				r := &cells[u.cell].Sizes[u.size]
				if r.Values != nil {
					means[u.cell] = p.drawn.mean(r.Values)
					continue
				}
				drawn, successes := p.drawn.total(r.Count), p.drawn.count(r.Success)
				points[u.cell][u.size] = Point{N: r.N, Consumed: drawn, Successes: successes}
			}
		}
		for i, c := range cells {
			switch {
			case c.High > 0:
				u := rand.New(rand.NewPCG(seed(c.Own, 0, resample))).Float64()
				out[i][resample] = float64(c.Low) * math.Pow(float64(c.High)/float64(c.Low), u)
			case c.Target == 0:
				out[i][resample] = means[i]
			default:
				out[i][resample] = estimateAgain(points[i], c.Target)
			}
		}
	}
	return out
}

// estimateAgain returns n* from a resample.
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

// A pool holds the repetitions of one sample size of shared data.
type pool struct {
	data  [32]byte
	n     int64
	count int // largest number of repetitions that a cell consumed
	users []struct{ cell, size int }
	drawn *multiset
}

// poolsOf returns the pools that the cells share, in the order of the cells.
func poolsOf(cells []Repeated) []*pool {
	type key struct {
		data [32]byte
		n    int64
	}
	known := map[key]*pool{}
	var pools []*pool
	drawn := new(multiset)
	for i, c := range cells {
		if c.High > 0 {
			continue
		}
		for j, r := range c.Sizes {
			k := key{c.Data, r.N}
			p := known[k]
			if p == nil {
				p = &pool{data: c.Data, n: r.N, drawn: drawn}
				known[k] = p
				pools = append(pools, p)
			}
			p.count = max(p.count, r.Count)
			p.users = append(p.users, struct{ cell, size int }{i, j})
		}
	}
	return pools
}

// A multiset counts how often each repetition was drawn. Bits j of the counts of 64 repetitions
// form element j of their word.
type multiset struct{ words [][8]uint64 }

// draw draws count repetitions out of count, with replacement.
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

// count returns the number of draws of members of a set.
func (m *multiset) count(set []uint64) (n int) {
	for i, members := range set {
		n += m.among(i, members)
	}
	return n
}

// total returns the number of draws of repetitions below end.
func (m *multiset) total(end int) (n int) {
	for i := 0; 64*i < end; i++ {
		members := ^uint64(0)
		if left := end - 64*i; left < 64 {
			members = 1<<left - 1
		}
		n += m.among(i, members)
	}
	return n
}

// among returns the number of draws of the given members of word i.
func (m *multiset) among(i int, members uint64) (n int) {
	for j, bit := range m.words[i] {
		n += bits.OnesCount64(bit&members) << j
	}
	return n
}

// mean returns the mean of the drawn values, without NaNs.
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
