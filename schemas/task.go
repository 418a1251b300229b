package schemas

import (
	"fmt"
	"regexp"
)

// The tasks that sweeps may have.
const (
	TaskLearn   = "learn"
	TaskPredict = "predict"
	TaskOnline  = "online"
)

// BaselineQueries is the algorithm whose success rate shows how much the queries of task predict
// give away.
const BaselineQueries = "baseline/queries"

// The metrics that workers add to those of an algorithm: see Metrics.
const (
	HardQueries  = "hard_queries"
	QueryError   = "query_error"
	FinalError   = "final_error"
	Disagreement = "disagreement"
	StatesProbed = "states_probed"

	FirstError = "first_error"
	PointsRead = "points_read"

	Mistakes = "mistakes"
	Loss     = "loss"
	BestLoss = "best_loss"
	Regret   = "regret"
)

// HardCounts are the numbers of queries marked as hard after which goal.states hard reports the error.
var HardCounts = []int{0, 1, 2, 4, 8, 16, 32, 64}

// ErrorAfterHard returns the name of the metric that is the error after c queries marked as hard.
func ErrorAfterHard(c int) string { return fmt.Sprintf("error_after_hard_%02d", c) }

// Metric is a number that workers measure in every trial of a task, or that algorithms report.
type Metric struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	Unit string `json:"unit,omitempty"`
}

// endsInUnit matches "time [seconds]", and not "lies in [0, 1]".
var endsInUnit = regexp.MustCompile(`^(.*\S)\s+\[(\pL[^\[\],]*)\]\s*$`)

// DeclaredMetric returns the metric of an algorithm whose doc may end in a unit: "time [seconds]".
func DeclaredMetric(name, doc string) Metric {
	if m := endsInUnit.FindStringSubmatch(doc); m != nil {
		return Metric{name, m[1], m[2]}
	}
	return Metric{Name: name, Doc: doc}
}

// Meaning returns what the metric is, with its unit, or its name alone where nothing is known.
func (m Metric) Meaning() string {
	switch {
	case m.Doc == "":
		return "metric " + m.Name
	case m.Unit == "":
		return m.Doc
	}
	return m.Doc + " [" + m.Unit + "]"
}

// Metrics returns the metrics that workers measure in a task. Disagreement is not reported where the
// final state alone counts. The loss of an answer a to the truth y is (1 - y a)/2. more says that
// the sequential rule decides how many points a trial of task learn is asked about, or that goal.states is
// hard in task predict.
func Metrics(task string, more bool) []Metric {
	switch task {
	case TaskLearn:
		if more {
			return []Metric{
				{FirstError, "error on the first points of a trial, which are read in any case: an unbiased estimate, unlike the " +
					"error at which it became clear whether the trial succeeds", "share of points"},
				{PointsRead, "points on which the error of a trial was measured", "points"},
			}
		}
	case TaskPredict:
		metrics := []Metric{
			{HardQueries, "queries marked as hard", "queries"},
			{QueryError, "share of the queries whose answer is not the clean label", ""},
			{FinalError, "error of the state after the last query", "share of points"},
			{Disagreement, "share of the compared queries that the state before them answers otherwise", ""},
			{StatesProbed, "states whose error was measured, the final one among them", "states"},
		}
		if !more {
			return metrics
		}
		for _, c := range HardCounts {
			metrics = append(metrics, Metric{ErrorAfterHard(c), fmt.Sprintf("error of the state between the query that "+
				"the algorithm marked as hard as number %d (0: before any query) and the next query, with goal.states: "+
				"hard; null in trials without such a state", c), "share of points"})
		}
		return metrics
	case TaskOnline:
		return []Metric{
			{Mistakes, "labels that were not the truth, over all rounds; where the answer was a mean the worker drew the label",
				"rounds"},
			{Loss, "loss of the answers, over all rounds", "mistakes"},
			{BestLoss, "least loss of a hypothesis of the class in hindsight, L*", "mistakes"},
			{Regret, "loss less best_loss: negative where the learner did better", "mistakes"},
		}
	}
	return nil
}

// TaskMetrics returns the names of the metrics that Metrics describes.
func TaskMetrics(task string, more bool) (names []string) {
	for _, m := range Metrics(task, more) {
		names = append(names, m.Name)
	}
	return names
}
