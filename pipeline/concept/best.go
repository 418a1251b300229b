package concept

import "math"

// The three minimisations below walk over the values in order and keep the least error so far of
// the hypotheses whose +1 part has not begun (below), lasts (inside) or has ended (above). Weights
// are only ever added, never subtracted: an error of 0 comes out as 0.

// thresholds returns the error of the thresholds above all values, and the least error of the
// others.
func (s *weighted) thresholds() (above, others float64) {
	others = math.Inf(1)
	for i, pos := range s.pos {
		above, others = above+pos, min(above, others)+s.neg[i]
	}
	return above, others
}

// leastInterval returns the least weight that an interval labels wrongly, given the weights
// labelled +1 and -1 at each value.
func leastInterval(pos, neg []float64) float64 {
	below, inside, above := 0.0, math.Inf(1), math.Inf(1)
	for i, p := range pos {
		below, inside, above = below+p, min(below, inside)+neg[i], min(inside, above)+p
	}
	return min(below, inside, above)
}
