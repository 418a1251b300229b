package estimate

import "math"

// Checking reports whether the bracket is narrow enough, and spot checks outside of it are what is
// left.
func (s *Search) Checking() bool { return s.spots != nil }

// Left predicts the trials that the search will still read, for predictions of time: Count of them
// at sample size N, including those wanted now; First is 0. There are none when the search is done.
// The prediction is rough until a third of the trials are read, because it rests on a slope and an
// n* that are hardly known before.
func (s *Search) Left() []Block {
	var blocks []Block
	add := func(n int64, trials float64) {
		for i := range blocks {
			if blocks[i].N == n {
				blocks[i].Count = max(blocks[i].Count, int(trials))
				return
			}
		}
		blocks = append(blocks, Block{N: n, Count: int(trials)})
	}
	for _, p := range s.open {
		if p.waiting > 0 {
			add(p.N, float64(p.waiting))
		}
	}
	limit := float64(s.find.MaxTrials - s.trials)
	for _, c := range s.remaining {
		add(c.n, math.Ceil(min(c.trials, limit)))
	}
	return blocks
}

// predictRemaining returns what is left after this round: the present claims or, while their sizes
// are further apart than a narrow bracket, those of a narrow bracket around the middle of the
// belief.
func (s *Search) predictRemaining() []claim {
	if len(s.claims) == 0 || !s.doubling && !s.wide {
		return s.claims
	}
	const effort = 1.5 // factor that aiming wrongly costs
	width := max(math.Log(s.find.Within), math.Exp(-s.belief.center))
	var remaining []claim
	for side := range bothSides {
		x := s.belief.center + float64((float64(side)-0.5)*width)
		n := min(max(int64(math.Exp(x)), s.find.From), s.find.To)
		trials := effort * (s.threshold + 1) / s.belief.typical(x, s.find.Target)
		remaining = append(remaining, claim{n, side, trials})
	}
	return remaining
}
