package estimate

import (
	"cmp"
	"math"
	"slices"
)

// A claim is a statement that a sample size lies on one side of Target, with the expected number
// of further trials needed to show it.
type claim struct {
	n      int64
	side   side
	trials float64
}

// aim chooses the sizes to show insufficient and sufficient: the pair that is expected to give a
// narrow bracket with the fewest trials. While n* is uncertain, the target bracket is as wide as
// the uncertainty, but at most the square root of the present bracket. wide reports whether the
// chosen bracket is wider than the final bracket may be. An end of the present bracket that can
// stay needs no claim.
func (k *knowledge) aim() (claims []claim, wide bool) {
	width := k.aimedWidth()
	sizes := k.candidates(width)
	costs := [2][]float64{k.expectedTrials(sizes, insufficient), k.expectedTrials(sizes, sufficient)}
	best, first, second := math.Inf(1), -1, -1
	try := func(cost float64, i, j int) {
		if cost < best*(1-1e-9) { // rounding of a sum must not affect the choice
			best, first, second = cost, i, j
		}
	}
	reach := math.Exp(coarse(width))
	for i, a := range sizes {
		for j := i + 1; j < len(sizes) && (k.find.narrow(a, sizes[j]) || float64(sizes[j]) <= reach*float64(a)); j++ {
			if a > k.low || sizes[j] < k.high {
				try(costs[insufficient][i]+costs[sufficient][j], i, j)
			}
		}
	}
	if k.low == 0 {
		try(costs[sufficient][0], -1, 0)
	}
	if last := len(sizes) - 1; k.high > k.find.To {
		try(costs[insufficient][last], last, -1)
	}
	if first >= 0 && sizes[first] > k.low {
		claims = append(claims, claim{sizes[first], insufficient, costs[insufficient][first]})
	}
	if second >= 0 && sizes[second] < k.high {
		claims = append(claims, claim{sizes[second], sufficient, costs[sufficient][second]})
	}
	if slices.ContainsFunc(claims, k.spent) {
		if cheap := k.cheapClaims(sizes, costs); len(cheap) > 0 {
			return cheap, true
		}
	}
	return claims, first >= 0 && second >= 0 && !k.find.narrow(sizes[first], sizes[second])
}

// spent reports whether a claim deserves no more trials: its size has taken a third of the limit,
// and the claim is expected to take more than half of the rest. A size whose success rate is
// nearly Target would take all trials, and still not be decided.
func (k *knowledge) spent(c claim) bool {
	i, ok := slices.BinarySearchFunc(k.read, c.n, bySize)
	return ok && int64(k.read[i].Consumed) > k.find.MaxTrials/3 && c.trials > float64(k.find.MaxTrials-k.trials)/2
}

// cheapClaims returns the claims that narrow the bracket most, without sizes whose trials are
// spent or which need more than half of the rest. There may be none.
func (k *knowledge) cheapClaims(sizes []int64, costs [2][]float64) (claims []claim) {
	most := float64(k.find.MaxTrials-k.trials) / 2
	for i := len(sizes) - 1; i >= 0; i-- {
		if cost := costs[insufficient][i]; sizes[i] > k.low && cost <= most {
			claims = append(claims, claim{sizes[i], insufficient, cost})
			break
		}
	}
	for i, n := range sizes {
		if cost := costs[sufficient][i]; n < k.high && cost <= most {
			return append(claims, claim{n, sufficient, cost})
		}
	}
	return claims
}

// aimedWidth returns the width in ln n of the target bracket.
func (k *knowledge) aimedWidth() float64 {
	width := math.Log(k.find.Within)
	if wide := 3 * k.belief.spread; wide > width {
		if k.low > 0 && k.high <= k.find.To {
			wide = min(wide, math.Log(float64(k.high)/float64(k.low))/2)
		}
		width = max(width, wide)
	}
	return width
}

// candidates returns sizes around the probable n*, ascending, with the ends of the bracket and
// the sizes read inside it.
func (k *knowledge) candidates(width float64) []int64 {
	low, high := max(k.low, k.find.From), min(k.high, k.find.To)
	middle := k.find.floor(low + (high-low)/2)
	// These include a narrow bracket, regardless of the belief.
	sizes := []int64{low, middle, min(middle+max(k.find.Step, k.find.Gap), high), high}
	for _, p := range k.read {
		if low < p.N && p.N < high {
			sizes = append(sizes, p.N)
		}
	}
	digits := digitsFor(width / 20)
	n := max(low, roundDown(int64(math.Exp(k.belief.center-float64(0.9*width))), digits)-1)
	end := min(float64(high), math.Exp(k.belief.center+float64(0.9*width))+2)
	for n = roundAbove(n, digits); float64(n) < end; n = roundAbove(n, digits) {
		if size := k.find.floor(n); size >= low {
			sizes = append(sizes, size)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

func bySize(p *point, n int64) int { return cmp.Compare(p.N, n) }

// expectedTrials returns, for each of the ascending sizes, the expected number of further trials
// needed to show that it lies on that side.
func (k *knowledge) expectedTrials(sizes []int64, side side) []float64 {
	const opening = 1 // cost, in evidence, of starting a new size
	logs, costs := k.evidence(), make([]float64, len(sizes))
	for i, n := range sizes {
		if side == insufficient && n <= k.low || side == sufficient && n >= k.high {
			continue
		}
		gap, ok := slices.BinarySearchFunc(k.read, n, bySize)
		var have, more float64
		switch {
		case side == insufficient: // every gap up to n must be refuted
			have = slices.Min(logs[:gap+1])
		case ok: // every gap above n must be refuted
			have = slices.Min(logs[gap+1:])
		default:
			have = slices.Min(logs[gap:])
		}
		if !ok {
			more = opening
		}
		gain := k.belief.gain(math.Log(float64(n)), k.find.Target, side)
		costs[i] = min(1e15, max(0.1, k.threshold-have+more)/gain)
	}
	return costs
}
