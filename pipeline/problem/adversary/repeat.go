package adversary

import "github.com/shatterlab/shatter/schemas"

var repeat = Adversary{
	Name: "repeat",
	Doc: "asks one point all the time: one at the very edge of the target, or a point of the distribution where the " +
		"target has no edge",
	Reveals:    "a point at the target's edge, and so nearly all of a target on one line",
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
