package audit

import (
	"cmp"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A ranked trial has a pseudo-random rank under its cell's NoiseKey, which plugins cannot learn.
type ranked struct {
	rank   uint64
	n, rep int64
}

func (a ranked) compare(b ranked) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.n, b.n), cmp.Compare(a.rep, b.rep))
}

// choose returns count of the trials that a table counts at each of the points and that have an outcome, at some of the
// points: those of least rank at the sizes of least rank.
func choose(key trial.Key, points []estimate.Point, has func(ranked) bool, count, sizes int) (chosen []ranked) {
	best := leastRanks(key, points, has, count)
	var order []int64
	for _, t := range best {
		if !slices.Contains(order, t.n) {
			order = append(order, t.n)
		}
	}
	if len(order) <= sizes {
		return best
	}
	for part := range slices.Chunk(order, max(sizes, 1)) {
		some := slices.DeleteFunc(slices.Clone(points), func(p estimate.Point) bool { return !slices.Contains(part, p.N) })
		if chosen = append(chosen, leastRanks(key, some, has, count-len(chosen))...); len(chosen) == count {
			break
		}
	}
	return chosen
}

// leastRanks returns the count trials of least rank that have an outcome.
func leastRanks(key trial.Key, points []estimate.Point, has func(ranked) bool, count int) []ranked {
	total := 0.0
	for _, p := range points {
		total += float64(p.Consumed)
	}
	// Ranks are uniform: rarely are fewer than count so low, unless trials have no outcome.
	if share := (float64(count) + 8*math.Sqrt(float64(count)) + 8) / total; share < 0.5 {
		if best := ranksUpTo(uint64(math.Ldexp(share, 64)), key, points, has, count); len(best) == count {
			return best
		}
	}
	return ranksUpTo(math.MaxUint64, key, points, has, count)
}

// ranksUpTo returns the count trials of least rank that have an outcome, or all up to the limit.
func ranksUpTo(limit uint64, key trial.Key, points []estimate.Point, has func(ranked) bool, count int) []ranked {
	var best []ranked
	for _, p := range points {
		for rep := range p.Consumed {
			rank, _ := trial.Seed(key, trial.Rechecks, uint64(p.N), uint32(rep))
			if t := (ranked{rank, p.N, int64(rep)}); t.rank <= limit && has(t) {
				best = append(best, t)
			}
		}
	}
	slices.SortFunc(best, ranked.compare)
	return slices.Clone(best[:min(len(best), count)])
}
