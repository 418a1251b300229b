package estimate

import (
	"cmp"
	"math"
	"slices"
)

// lack is what is missing to show that a size lies on one side: that many further trials, as expected.
type lack struct {
	n      int64
	side   side
	trials float64
}

// aim chooses the sizes to show insufficient and sufficient: those that are expected to bring a narrow bracket with the fewest
// trials. While n* is known badly the bracket aimed at is as wide as that, but at most the square root of the present one.
func (s *Search) aim() []lack {
	width := math.Log(s.find.Within)
	if wide := 3 * s.belief.spread; wide > width {
		if s.low > 0 && s.high <= s.find.To {
			wide = min(wide, math.Log(float64(s.high)/float64(s.low))/2)
		}
		width = max(width, wide)
	}
	sizes := s.candidates(width)
	costs := [2][]float64{s.costs(sizes, insufficient), s.costs(sizes, sufficient)}
	best, first, second := math.Inf(1), -1, -1
	try := func(cost float64, i, j int) {
		if cost < best*(1-1e-9) { // the last bits of a sum do not choose
			best, first, second = cost, i, j
		}
	}
	reach := math.Exp(coarse(width))
	for i, a := range sizes {
		for j := i + 1; j < len(sizes) && (s.find.narrow(a, sizes[j]) || float64(sizes[j]) <= reach*float64(a)); j++ {
			if a > s.low || sizes[j] < s.high {
				try(costs[insufficient][i]+costs[sufficient][j], i, j)
			}
		}
	}
	if s.low == 0 {
		try(costs[sufficient][0], -1, 0)
	}
	if last := len(sizes) - 1; s.high > s.find.To {
		try(costs[insufficient][last], last, -1)
	}
	s.wide = first >= 0 && second >= 0 && !s.find.narrow(sizes[first], sizes[second])
	var lacks []lack
	if first >= 0 && sizes[first] > s.low {
		lacks = append(lacks, lack{sizes[first], insufficient, costs[insufficient][first]})
	}
	if second >= 0 && sizes[second] < s.high {
		lacks = append(lacks, lack{sizes[second], sufficient, costs[sufficient][second]})
	}
	return lacks
}

// candidates gives sizes around where n* is believed to be, ascending, with the ends of the bracket and the sizes read inside it.
func (s *Search) candidates(width float64) []int64 {
	low, high := max(s.low, s.find.From), min(s.high, s.find.To)
	middle := low + (high-low)/2
	sizes := []int64{low, middle, min(middle+1, high), high} // with a narrow bracket among them, wherever the belief may be
	for _, p := range s.read {
		if low < p.N && p.N < high {
			sizes = append(sizes, p.N)
		}
	}
	digits := digitsFor(width / 20)
	n := max(low, round(int64(math.Exp(s.belief.center-float64(0.9*width))), digits)-1)
	end := min(float64(high), math.Exp(s.belief.center+float64(0.9*width))+2)
	for n = after(n, digits); float64(n) < end; n = after(n, digits) {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// costs gives the trials that are expected to be missing to show each of the sizes, ascending, to be on that side.
func (s *Search) costs(sizes []int64, side side) []float64 {
	const opening = 1 // what it costs in evidence to begin with a size
	logs, costs := s.against(), make([]float64, len(sizes))
	for i, n := range sizes {
		if side == insufficient && n <= s.low || side == sufficient && n >= s.high {
			continue
		}
		gap, ok := slices.BinarySearchFunc(s.read, n, func(p *point, n int64) int { return cmp.Compare(p.N, n) })
		var have, more float64
		switch {
		case side == insufficient: // what lies up to n is to be refuted, as far as it is not
			have = slices.Min(logs[:gap+1])
		case ok:
			have = slices.Min(logs[gap+1:])
		default:
			have = slices.Min(logs[gap:])
		}
		if !ok {
			more = opening
		}
		costs[i] = min(1e15, max(0.1, s.enough-have+more)/s.belief.gain(math.Log(float64(n)), s.find.Target, side))
	}
	return costs
}
