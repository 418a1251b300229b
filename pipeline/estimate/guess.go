package estimate

import "math"

// Guess returns up to k further blocks that will probably follow those of Want, most likely first,
// for slots that would be idle otherwise. A guess that turns out wrong changes no result.
func (s *Search) Guess(k int) []Block {
	var blocks []Block
	if s.Done() || s.spots != nil {
		return nil
	}
	if s.doubling {
		n := s.open[len(s.open)-1].N
		for i := 0; i < 4 && n < s.find.To; i++ {
			n = s.find.doubled(n)
			blocks = s.appendUnknown(blocks, n, 0, checkpoint(0))
		}
		return blocks[:min(k, len(blocks))]
	}
	// The open sizes go on in equal steps, as long as trials are expected to be missing.
	for step := 1; len(blocks) < k && step <= 8; step++ {
		for i, p := range s.open {
			size := p.until - p.Consumed
			first := p.until + (step-1)*size
			if i >= len(s.claims) || float64(first-p.Consumed) < s.claims[i].trials {
				blocks = s.appendUnknown(blocks, p.N, first, int(min(int64(first+size), s.find.MaxTrials)))
			}
		}
	}
	return blocks[:min(k, len(blocks))]
}

// appendUnknown appends the blocks of repetitions first..end-1 of a size whose outcomes are not
// known.
func (s *Search) appendUnknown(blocks []Block, n int64, first, end int) []Block {
	if p := s.points[n]; p != nil {
		return p.unread.missing(blocks, n, first, end)
	}
	return append(blocks, Block{N: n, First: first, Count: end - first})
}

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
