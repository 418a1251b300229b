package adversary

import (
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// bisector looks for the edge that the answers show, between a point outside the target and its
// middle, along the first coordinate that has a lower edge, or else an upper one: an edge at t means
// +1 from t on. Once it is found, it asks the two points beside it in turns. If it sees marks, a
// hard query shows what every hypothesis must now agree with, and it begins anew inside what
// remains.
type bisector struct {
	game
	marks     bool
	base      []float64 // the other coordinates of every query
	axis      int       // the coordinate that it bisects
	downward  bool      // from the top down: low, high and asked count from there
	top       float64   // of the domain
	low, high float64   // the edge by the answers lies in low..high
	least     float64   // the edge by the hard queries lies in least..most
	most      float64
	asked     float64
	turn      bool
}

func newBisector(g game, target *concept.Box, marks bool) *bisector {
	q := &bisector{game: g, marks: marks, top: float64(concept.Side(g.class) - 1)}
	for j, low := range target.Low {
		q.base = append(q.base, math.Floor((low+target.High[j])/2))
	}
	q.axis = slices.IndexFunc(target.Low, func(v float64) bool { return v > 0 })
	if q.axis < 0 {
		q.axis = slices.IndexFunc(target.High, func(v float64) bool { return v < q.top })
		q.downward = q.axis >= 0
		q.axis = max(q.axis, 0) // where it is +1 everywhere
	}
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
