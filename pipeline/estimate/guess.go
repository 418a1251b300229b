package estimate

import "math"

// Guess gives up to k further blocks that will probably follow those of Want, most likely first, for slots that would idle. A guess
// that turns out wrong changes no result.
func (s *Search) Guess(k int) []Block {
	var blocks []Block
	if s.Done() {
		return nil
	}
	if s.doubles {
		n := s.open[len(s.open)-1].N
		for i := 0; i < 4 && n < s.find.To; i++ {
			n = s.find.doubled(n)
			blocks = s.ahead(blocks, n, 0, checkpoint(0))
		}
		return blocks[:min(k, len(blocks))]
	}
	// The sizes that are open go on in equal steps, as long as trials are expected to be missing.
	for step := 1; len(blocks) < k && step <= 8; step++ {
		for i, p := range s.open {
			size := p.until - p.Consumed
			first := p.until + (step-1)*size
			if i >= len(s.left) || float64(first-p.Consumed) < s.left[i].trials {
				blocks = s.ahead(blocks, p.N, first, int(min(int64(first+size), s.find.MaxTrials)))
			}
		}
	}
	return blocks[:min(k, len(blocks))]
}

// ahead appends the blocks of a size that are not known.
func (s *Search) ahead(blocks []Block, n int64, first, end int) []Block {
	if p := s.points[n]; p != nil {
		return p.ahead.missing(blocks, n, first, end)
	}
	return append(blocks, Block{N: n, First: first, Count: end - first})
}

// Left gives the trials that the search will probably still read, by sample size, for predictions of time: Count of them at N, those
// wanted now among them, and First is 0. None when it is done. The prediction is rough until a third of the trials are read: it
// rests on a slope and an n* that are hardly known.
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
	for _, l := range s.rest {
		add(l.n, math.Ceil(min(l.trials, limit)))
	}
	return blocks
}

// foresee says what is left after this round: what the sizes aimed at lack or, while these are further apart than a narrow
// bracket, what one around the middle of the belief would.
func (s *Search) foresee() []lack {
	if len(s.left) == 0 || !s.doubles && !s.wide {
		return s.left
	}
	const effort = 1.5 // what aiming wrongly costs, as a factor
	var rest []lack
	for side := range bothSides {
		x := s.belief.center + float64((float64(side)-0.5)*max(math.Log(s.find.Within), math.Exp(-s.belief.center)))
		n := min(max(int64(math.Exp(x)), s.find.From), s.find.To)
		rest = append(rest, lack{n, side, effort * (s.enough + 1) / s.belief.typical(x, s.find.Target)})
	}
	return rest
}
