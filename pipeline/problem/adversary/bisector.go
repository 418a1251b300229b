package adversary

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// bisector searches for the edge of the learner's answers along one coordinate, between a point
// outside of the target and a uniform point of it: a lower edge of the target if there is one,
// otherwise its upper edge, from the top down. An edge at t means +1 from t on. After finding it,
// the bisector alternates between the two points next to it. If it sees marks, every hypothesis
// must from then on agree with the label of a hard query. The bisector then restarts inside the
// remaining range.
type bisector struct {
	game
	marks     bool
	base      []float64 // the other coordinates of every query
	axis      int       // coordinate that it bisects
	downward  bool      // from the top down: low, high and asked count from the top
	top       float64   // upper end of the domain
	low, high float64   // according to the answers the edge lies in low..high
	least     float64   // according to the hard queries the edge lies in least..most
	most      float64
	asked     float64
	turn      bool
}

func newBisector(g game, target *concept.Box, marks bool) *bisector {
	q := &bisector{game: g, marks: marks, top: float64(concept.Side(g.class) - 1)}
	var cut []int // coordinates with an edge
	for j, low := range target.Low {
		high := target.High[j]
		q.base = append(q.base, within(q.r, low, high, q.top))
		if low > 0 || high < q.top {
			cut = append(cut, j)
		}
	}
	if len(cut) > 0 {
		q.axis = cut[q.r.IntN(len(cut))]
	}
	q.downward = target.Low[q.axis] <= 0 && target.High[q.axis] < q.top
	far := target.High[q.axis]
	if q.most = q.base[q.axis]; q.downward {
		q.most, far = q.top-q.most, q.top-target.Low[q.axis]
	}
	if far == q.top {
		q.most = q.top + 1 // it may be -1 everywhere
	}
	q.low, q.high = q.least, q.most
	return q
}

// Next implements Queries.
func (q *bisector) Next(x []float64) float64 {
	copy(x, q.base)
	if q.low < q.high {
		q.asked = math.Floor((q.low + q.high) / 2)
	} else {
		q.turn = !q.turn
		if q.asked = q.low; q.turn {
			q.asked--
		}
		q.asked = min(max(q.asked, 0), q.top)
	}
	if x[q.axis] = q.asked; q.downward {
		x[q.axis] = q.top - q.asked
	}
	return q.truth(x)
}

// Observe implements Queries.
func (q *bisector) Observe(label float64, hard bool) {
	if hard && q.marks {
		if label > 0 {
			q.most = min(q.most, max(q.asked, q.least))
		} else {
			q.least = max(q.least, min(q.asked+1, q.most))
		}
		q.low, q.high = q.least, q.most
		return
	}
	switch {
	case q.low >= q.high:
	case label > 0:
		q.high = q.asked
	default:
		q.low = q.asked + 1
	}
}
