package schemas

// The tasks that sweeps may have.
const (
	TaskLearn   = "learn"
	TaskPredict = "predict"
	TaskOnline  = "online"
)

// BaselineQueries is the algorithm whose success rate shows how much the queries of task predict
// give away.
const BaselineQueries = "baseline/queries"

// The metrics that workers add to those of an algorithm in the task predict. Disagreement is not
// reported where the final state alone counts.
const (
	HardQueries  = "hard_queries"  // queries marked as hard
	QueryError   = "query_error"   // share of the queries whose answer is not the clean label
	FinalError   = "final_error"   // error of the state after the last query
	Disagreement = "disagreement"  // share of the compared queries that the state before them answers otherwise
	StatesProbed = "states_probed" // states whose error was measured, the final one among them
)

// The metrics that workers add in the task online, over all rounds of a trial. The loss of an
// answer a to the truth y is (1 - y a)/2.
const (
	Mistakes = "mistakes"  // labels that were not the truth; where the answer was a mean the worker drew the label
	Loss     = "loss"      // of the answers
	BestLoss = "best_loss" // least loss of a hypothesis of the class in hindsight, L*
	Regret   = "regret"    // the difference: negative where the learner did better
)

// ProvedRegret and PrintedRegret are metrics by which a learner says what the theory gives for the
// sequence that was played.
const (
	ProvedRegret  = "proved_regret"
	PrintedRegret = "printed_regret"
)

// TaskMetrics returns the metrics that workers measure in a task.
func TaskMetrics(task string) []string {
	switch task {
	case TaskPredict:
		return []string{HardQueries, QueryError, FinalError, Disagreement, StatesProbed}
	case TaskOnline:
		return []string{Mistakes, Loss, BestLoss, Regret}
	}
	return nil
}
