package adversary

import "github.com/shatterlab/shatter/schemas"

var repeat = Adversary{
	Name: "repeat",
	Doc: "always asks the same point: one exactly at the target's edge, or a point of the distribution if " +
		"the target has no edge",
	Reveals:    "a point at the target's edge, which determines nearly all of a target on one line",
	Place:      2,
	Refuses:    noTarget,
	Realizable: always,
	queries: func(g game, _ schemas.Adversary, _ int64) Queries {
		q := &repeatQueries{blindQueries: blindQueries{g}, point: make([]float64, g.class.Dim)}
		g.edge(0)(g.r, q.point)
		return q
	},
}

type repeatQueries struct {
	blindQueries
	point []float64
}

func (q *repeatQueries) Next(x []float64) float64 {
	copy(x, q.point)
	return q.truth(x)
}
