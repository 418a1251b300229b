package adversary

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var boundary = Adversary{
	Name: "boundary",
	Doc: "asks points at the target's edge. For halfspaces these are uniform unit vectors of the " +
		"hyperplane. On whole numbers it moves one coordinate of a uniform point of the target to the edge, " +
		"up to width to either side. By default a width is drawn for each query from domain/n, twice that, " +
		"four times, ... below domain/2: an algorithm that splits its sample of n has learned from parts of " +
		"these sizes",
	Reveals:    "the target: its edge lies within the range of the queries",
	Place:      3,
	Refuses:    noEdge,
	Width:      func(p *schemas.Problem) bool { return concept.ShapeOf(p.Class) != concept.Ball },
	Realizable: always,
	queries: func(g game, a schemas.Adversary, n int64) Queries {
		widths := []uint64{uint64(a.Width)}
		if a.Width == 0 {
			widths = scales(concept.Side(g.class), uint64(max(1, n)))
		}
		q := &boundaryQueries{blindQueries: blindQueries{g}}
		for _, width := range widths {
			q.next = append(q.next, g.edge(width))
		}
		return q
	},
}

// scales returns side/n, at least 1, and its doublings below side/2.
func scales(side, n uint64) []uint64 {
	widths := []uint64{max(1, side/n)}
	for w := 2 * widths[0]; w < side/2; w *= 2 {
		widths = append(widths, w)
	}
	return widths
}

type boundaryQueries struct {
	blindQueries
	next []func(r *rand.Rand, x []float64) // one function per width
}

func (q *boundaryQueries) Next(x []float64) float64 {
	next := q.next[0]
	if len(q.next) > 1 {
		next = q.next[q.r.IntN(len(q.next))]
	}
	next(q.r, x)
	return q.truth(x)
}
