package estimate

import (
	"cmp"
	"math"
	"slices"
)

// Left gives the blocks (First is 0, N ascending) that the search will probably still read: it is played on to its end with the success
// rates that are expected, wherever MaxTrials may stop it. Without any outcome n* is taken to lie in the middle of the range on a logarithmic
// scale. Outcomes that were added but not read yet count as left; so does what Want gives. None when the search is done.
func (s *Search) Left() []Block {
	const most = 1 << 20 // trials; a search that would take more is not played further
	known, total := s.read(), int64(0)
	played := map[int]*imagined{}
	low, high := s.low, s.high
	for !s.Done() && low < s.grid.last() && high > 0 && !s.narrow(low, high) && total < most {
		first, second := s.pair(low, high)
		for _, index := range []int{first, second} {
			if played[index] == nil {
				played[index] = s.imagine(index, known)
				played[index].rate = s.anticipatedRate(played[index].N, known)
			}
		}
		sizes := []*imagined{played[first], played[second]}[:1+min(1, second-first)]
		total += s.playOut(sizes, most-total)
		leader := slices.MaxFunc(sizes, func(a, b *imagined) int { return cmp.Compare(math.Abs(a.lead), math.Abs(b.lead)) })
		if leader.lead < 0 {
			low = leader.index
		} else {
			high = leader.index
		}
	}
	var blocks []Block
	for _, p := range played {
		if p.end > p.Consumed {
			blocks = append(blocks, Block{N: p.N, Count: p.end - p.Consumed})
		}
	}
	slices.SortFunc(blocks, func(a, b Block) int { return cmp.Compare(a.N, b.N) })
	return blocks
}

// anticipatedRate is expectedRate with a prior for a search that knows nothing.
func (s *Search) anticipatedRate(n int64, known []Point) float64 {
	const slope = 3
	if len(known) > 0 {
		return expectedRate(n, known)
	}
	star := math.Sqrt(float64(s.find.From) * float64(s.find.To))
	return 1 / (1 + (1-s.find.Target)/s.find.Target*math.Pow(float64(n)/star, -slope))
}

// playOut carries the sizes on in step, until one is decided or most trials were played. It gives the number played.
func (s *Search) playOut(sizes []*imagined, most int64) (total int64) {
	for decided := false; !decided && total < most; {
		behind := slices.MinFunc(sizes, func(a, b *imagined) int { return a.end - b.end }).end
		for _, p := range sizes {
			if p.end == behind {
				p.end = checkpoint(behind)
				total += int64(p.end - behind)
			}
			successes := float64(p.Successes) + float64(p.rate*float64(p.end-p.Consumed))
			p.lead = math.Copysign(logWealth(successes, float64(p.end), s.find.Target), successes/float64(p.end)-s.find.Target)
			decided = decided || math.Abs(p.lead) >= s.wealth
		}
	}
	return total
}
