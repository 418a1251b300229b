package estimate

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
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
	Success numeric.BitSet // repetitions that succeeded
	Values  []float64      // one value per repetition, NaN if it failed; replaces Success
}

// Resample draws the bootstrap of whole repetitions (Efron 1979) over cells that may share their
// data. For each Data and each sample size it draws the repetitions once with replacement. Each
// cell uses the repetitions of this draw that it consumed, which preserves the dependence between
// cells through their data. Resample returns the estimates by cell and resample. An estimate is
// n* by [FitModel] (or, if no curve fits the draw, the isotonic [Crossing]) or the mean, and NaN
// if the draw has no estimate.
//
// seed returns the two words of the generator for each use of randomness.
func Resample(
	cells []Repeated, resamples int, seed func(key [32]byte, n int64, resample int) (hi, lo uint64),
) [][]float64 {
	pools := poolsOf(cells)
	out := make([][]float64, len(cells))
	points, means := make([][]Point, len(cells)), make([]float64, len(cells))
	for i, c := range cells {
		out[i] = make([]float64, resamples)
		points[i] = make([]Point, len(c.Sizes))
	}
	var times []int32 // number of draws by repetition
	for resample := range resamples {
		for _, p := range pools {
			times = draw(times, p.count, rand.New(rand.NewPCG(seed(p.data, p.n, resample))))
			for _, u := range p.users {
				points[u.cell][u.size], means[u.cell] = cells[u.cell].Sizes[u.size].total(times)
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
}

// poolsOf returns the pools that the cells share, in the order of the cells.
func poolsOf(cells []Repeated) []*pool {
	type key struct {
		data [32]byte
		n    int64
	}
	known := map[key]*pool{}
	var pools []*pool
	for i, c := range cells {
		if c.High > 0 {
			continue
		}
		for j, r := range c.Sizes {
			k := key{c.Data, r.N}
			p := known[k]
			if p == nil {
				p = &pool{data: c.Data, n: r.N}
				known[k] = p
				pools = append(pools, p)
			}
			p.count = max(p.count, r.Count)
			p.users = append(p.users, struct{ cell, size int }{i, j})
		}
	}
	return pools
}

// draw draws count repetitions out of count, with replacement. It returns the number of draws of each, in the memory of
// times.
func draw(times []int32, count int, r *rand.Rand) []int32 {
	times = slices.Grow(times[:0], count)[:count]
	clear(times)
	for range count {
		times[r.Uint32N(uint32(count))]++
	}
	return times
}

// total counts drawn repetitions, and returns the mean of their values without NaNs.
func (r *Repetitions) total(times []int32) (p Point, mean float64) {
	p.N = r.N
	sum, n := 0.0, 0
	for i, drawn := range times[:r.Count] {
		p.Consumed += int(drawn)
		switch {
		case r.Values == nil && r.Success.Has(int64(i)):
			p.Successes += int(drawn)
		case r.Values != nil && r.Values[i] == r.Values[i]:
			sum += float64(float64(drawn) * r.Values[i])
			n += int(drawn)
		}
	}
	return p, sum / float64(n)
}
