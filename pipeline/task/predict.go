package task

import (
	"fmt"

	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Metrics of trials that are asked queries.
const (
	HardQueries  = "hard_queries"
	QueryError   = "query_error"
	FinalError   = "final_error"
	Disagreement = "disagreement"
	StatesProbed = "states_probed"
)

// HardCounts are the numbers of queries marked as hard after which goal.states hard reports the error.
var HardCounts = []int{0, 1, 2, 4, 8, 16, 32, 64}

// ErrorAfterHard returns the name of the metric that is the error after c queries marked as hard.
func ErrorAfterHard(c int) string { return fmt.Sprintf("error_after_hard_%02d", c) }

var predict = Task{
	Name: "predict",
	Wire: pluginv1.Task_TASK_PREDICT,
	Doc:  "labelled sample in, then answers to the queries of an adversary, one by one",
	Keys: append([]Key{
		{Path: "queries", Need: " in task predict: how many are asked"},
		{Path: "adversary", Need: " in task predict: {kind: stochastic} asks fresh points of the distribution"},
		{Path: "goal.states", Note: "where the state changes with each answer; leave it out"},
	}, sampled...),
	Adversary: true,
	Success:   learn.Success,
	// Disagreement is not reported if the final state alone counts.
	Metrics: []schemas.Metric{
		{Name: HardQueries, Doc: "queries marked as hard", Unit: "queries"},
		{Name: QueryError, Doc: "share of the queries whose answer is not the clean label"},
		{Name: FinalError, Doc: "error of the state after the last query", Unit: "share of points"},
		{Name: Disagreement, Doc: "share of the compared queries that the state before them answers otherwise"},
		{Name: StatesProbed, Doc: "states whose error was measured, the final one among them", Unit: "states"},
	},
	Optional: errorsAfterHard(),
	Trips:    func(_ int64, queries int) int64 { return int64(queries) },
	Play:     Player.AskQueries,
}

func errorsAfterHard() (metrics []schemas.Metric) {
	for _, c := range HardCounts {
		metrics = append(metrics, schemas.Metric{
			Name: ErrorAfterHard(c),
			Doc: fmt.Sprintf("error of the state between the query that the algorithm marked as hard as number %d "+
				"(0: before any query) and the next query, with goal.states: hard; null in trials without such a state", c),
			Unit: "share of points",
		})
	}
	return metrics
}
