package adversary

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

var boundary = Adversary{
	Name: "boundary",
	Doc: "asks points at the target's edge: on a hyperplane uniform unit vectors of it; on whole numbers a uniform " +
		"point of the target, one coordinate of which is moved to the edge, up to width to either side (by default " +
		"domain/n, about as far as two samples differ)",
	Task:       schemas.TaskPredict,
	Place:      3,
	Refuses:    noEdge,
	Width:      func(p *schemas.Problem) bool { return concept.ShapeOf(p.Class) != concept.Ball },
	Realizable: always,
	queries: func(g game, a schemas.Adversary, n int64) Queries {
		width := uint64(a.Width)
		if width == 0 {
			width = max(1, concept.Side(g.class)/uint64(max(1, n)))
		}
		return &boundaryQueries{blindQueries{g}, g.edge(width)}
	},
}

type boundaryQueries struct {
	blindQueries
	next func(r *rand.Rand, x []float64)
}

func (q *boundaryQueries) Next(x []float64) float64 {
	q.next(q.r, x)
	return q.truth(x)
}
