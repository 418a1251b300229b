package estimate

import (
	"cmp"
	"math"
	"slices"
)

// Guess gives up to k further blocks that will probably follow those of Want, most likely first, for slots that would idle. It
// plays the search on with the success rates that are expected. A guess that turns out wrong changes no result.
func (s *Search) Guess(k int) []Block {
	var blocks []Block
	known, trials, limit := s.read(), s.trials, s.find.MaxTrials
	played := map[int]*imagined{}
	low, high := s.low, s.high
	for !s.Done() && low < s.grid.last() && high > 0 && !s.narrow(low, high) {
		first, second := s.pair(low, high)
		for _, index := range []int{first, second} {
			if played[index] == nil {
				played[index] = s.imagine(index, known)
			}
		}
		sizes := []*imagined{played[first], played[second]}[:1+min(1, second-first)]
		s.play(sizes)
		for _, p := range sizes {
			blocks = p.ahead.missing(blocks, p.N, p.from, int(min(int64(p.end), limit)))
			trials += int64(p.end - p.from)
			p.from = p.end
		}
		if len(blocks) >= k || trials >= limit {
			break
		}
		leader := slices.MaxFunc(sizes, func(a, b *imagined) int { return cmp.Compare(math.Abs(a.lead), math.Abs(b.lead)) })
		if leader.lead < 0 {
			low = leader.index
		} else {
			high = leader.index
		}
	}
	return blocks[:min(k, len(blocks))]
}

// imagined is a sample size as it is expected to go on.
type imagined struct {
	*point
	rate float64 // of success
	from int     // repetitions below are wanted or guessed already
	end  int     // played up to here
	lead float64 // logarithm of the e-process there; negative on the side of insufficient
}

func (s *Search) imagine(index int, known []Point) *imagined {
	n := s.grid.size(index)
	p := s.points[n]
	if p == nil {
		p = &point{Point: Point{N: n}, index: index}
	}
	return &imagined{point: p, rate: expectedRate(n, known), from: max(p.until, p.Consumed), end: p.Consumed}
}

// play carries the sizes on in step, until one is decided or has four times as many trials as now.
func (s *Search) play(sizes []*imagined) {
	for decided := false; !decided; {
		behind := slices.MinFunc(sizes, func(a, b *imagined) int { return a.end - b.end }).end
		for _, p := range sizes {
			if p.end == behind {
				p.end = checkpoint(behind)
			}
			successes := float64(p.Successes) + p.rate*float64(p.end-p.Consumed)
			p.lead = math.Copysign(logWealth(successes, float64(p.end), s.find.Target), successes/float64(p.end)-s.find.Target)
			decided = decided || math.Abs(p.lead) >= s.wealth || p.end >= 4*p.from+64
		}
	}
}

// expectedRate reads the success rate at n off the sizes already tried: the logit is taken as linear in ln n between neighbours,
// and with slope 3 beyond them.
func expectedRate(n int64, known []Point) float64 {
	const slope, unknown = 3, 0.05
	if len(known) == 0 {
		return unknown
	}
	logit := func(p Point) float64 {
		return math.Log((float64(p.Successes) + 0.5) / (float64(p.Consumed-p.Successes) + 0.5))
	}
	i, _ := slices.BinarySearchFunc(known, n, func(p Point, n int64) int { return cmp.Compare(p.N, n) })
	near := known[min(i, len(known)-1)]
	x := logit(near) + slope*math.Log(float64(n)/float64(near.N))
	if 0 < i && i < len(known) {
		before := known[i-1]
		share := math.Log(float64(n)/float64(before.N)) / math.Log(float64(near.N)/float64(before.N))
		x = logit(before) + share*(logit(near)-logit(before))
	}
	return 1 / (1 + math.Exp(-x))
}
