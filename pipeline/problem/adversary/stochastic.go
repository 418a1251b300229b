package adversary

import "github.com/shatterlab/shatter/schemas"

var stochastic = Adversary{
	Name:       "stochastic",
	Doc:        "asks new points of the distribution",
	Reveals:    "nothing: the queries are more points of the distribution, without labels",
	Place:      1,
	Refuses:    noDistribution,
	Realizable: always,
	queries: func(g game, _ schemas.Adversary, _ int64) Queries {
		return &stochasticQueries{blindQueries{g}}
	},
}

type stochasticQueries struct{ blindQueries }

func (q *stochasticQueries) Next(x []float64) float64 { return q.draw(x) }
