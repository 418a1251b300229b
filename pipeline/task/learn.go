package task

import (
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Metrics of trials whose points are read by the sequential rule.
const (
	FirstError = "first_error"
	PointsRead = "points_read"
)

var learn = Task{
	Name: "learn",
	Wire: pluginv1.Task_TASK_LEARN,
	Doc:  "labelled sample in, predictions on fresh points out",
	Keys: append([]Key{
		{Path: "goal.evaluation", Note: "where a trial has one error; leave it out"},
	}, sampled...),
	Success: "excess error",
	Optional: []schemas.Metric{
		{Name: FirstError, Doc: "error on the first points of a trial, which are read in any case: an unbiased estimate, " +
			"unlike the error at which it became clear whether the trial succeeds", Unit: "share of points"},
		{Name: PointsRead, Doc: "points on which the error of a trial was measured", Unit: "points"},
	},
	Play: Player.Evaluate,
}

// sampled are the keys of tasks whose learners get a sample and whose models have an error.
var sampled = []Key{
	{Path: "n", Need: ": a list of sample sizes, or {from: 16, to: 1e6} to search n*"},
	{Path: "goal", Need: " to search: {alpha: 0.1, beta: 0.05} makes an excess error of at most 0.1 a success"},
	{Path: "goal.reference"},
	{Path: "goal.answers"},
	{Path: "problem.test"},
}
