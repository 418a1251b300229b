package estimate

import "math"

// A typical search reads (threshold + 1)(findTrials + narrowTrials/width^2) trials, for the logarithm
// width of the ratio of a bracket's ends. They are near an n* after typicalShare of the octaves of its
// range. Means of four sweeps, whose brackets have a ratio of 1.2 to 2 and which have 20 to 10,000
// cells, are 0.5 to 1.5 times as much.
const (
	findTrials   = 55
	narrowTrials = 35
	typicalShare = 1.0 / 3
)

// Left predicts the trials that the search will still read, including those wanted now: Count of
// them at sample size N; First is 0. There are none when the search is done. The prediction is
// rough until a third of the trials are read, because it depends on a slope and an n* that are
// uncertain until then. Before the first trial it describes a typical search.
func (s *Search) Left() []Block {
	if s.trials == 0 && !s.Done() {
		from, to := math.Log(float64(s.find.From)), math.Log(float64(s.find.To))
		star := math.Exp(from + typicalShare*(to-from))
		width := max(math.Log(s.find.Within), 1/star)
		trials := (s.threshold + 1) * (findTrials + narrowTrials/(width*width))
		return []Block{{N: int64(math.Round(star)), Count: int(min(float64(s.find.MaxTrials), trials))}}
	}
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

// narrowClaims returns the claims of a narrow bracket around the center of the belief.
func (k *knowledge) narrowClaims() (remaining []claim) {
	const effort = 1.5 // extra cost of aiming at wrong sizes
	width := max(math.Log(k.find.Within), math.Exp(-k.belief.center))
	for side := range bothSides {
		x := k.belief.center + float64((float64(side)-0.5)*width)
		n := min(max(int64(math.Exp(x)), k.find.From), k.find.To)
		trials := effort * (k.threshold + 1) / k.belief.typical(x, k.find.Target)
		remaining = append(remaining, claim{n, side, trials})
	}
	return remaining
}
