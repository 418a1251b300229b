package schemas

// ResultVersion is the version of the columns below. It stands in the metadata of each Parquet file of a result, under the key
// "shatter.result", and rises when a column changes its meaning or goes away.
const ResultVersion = "1"

// OutcomeVersion is the version of the messages in which workers send outcomes and in which the ledger keeps them.
const OutcomeVersion = "1"

// ColumnType is the type of a column of a result file.
type ColumnType string

// The types of columns. Any column may hold nulls.
const (
	TextColumn  ColumnType = "string"
	IntColumn   ColumnType = "int64"
	FloatColumn ColumnType = "float64"
	BoolColumn  ColumnType = "bool"
)

// Column is one column of a result file.
type Column struct {
	Name  string
	Type  ColumnType
	Label bool // few values, often repeated: dictionary-encoded
	Doc   string
}

// Prefixes of the columns whose names come from algorithms.
const (
	ParamPrefix  = "p_" // parameters, as resolved: int64, float64, bool or string
	MetricPrefix = "m_" // metrics that the algorithm reports: float64
	WithPrefix   = "w_" // intermediate values of a bound: float64
)

// KeyColumns say what a cell is. They stand first in table and curve, and the columns p_<parameter> follow them.
func KeyColumns() []Column {
	return []Column{
		{"cell", TextColumn, true, "first 10 hex digits of the cell's key; joins the files of a result"},
		{"task", TextColumn, true, "learn, predict or online"},
		{"algorithm", TextColumn, true, "the algorithm's name in the sweep file"},
		{"class", TextColumn, true, "concept class"},
		{"file", TextColumn, true, "the file of the class matrix"},
		{"d", IntColumn, false, "numbers per point; null where a point is one number"},
		{"domain", IntColumn, false, "X: the numbers of a point are 0..X-1"},
		{"distribution", TextColumn, true, "the law of the points; null where the population is a file"},
		{"mass", FloatColumn, false, "needle: the weight a of each of its points"},
		{"minority", FloatColumn, false, "skew: the share of the minority"},
		{"margin", FloatColumn, false, "the law's margin"},
		{"noise", TextColumn, true, "label noise: none, random or adversarial"},
		{"noise_rate", FloatColumn, false, "its rate; null without noise"},
		{"data", TextColumn, true, "the file whose rows are the population"},
		{"queries", IntColumn, false, "task predict: queries of each game"},
		{"adversary", TextColumn, true, "who asks them, or plays the rounds"},
		{"epsilon", FloatColumn, false, "privacy budget; null where the algorithm states no guarantee"},
		{"delta", FloatColumn, false, "the same; null also where the guarantee is pure"},
		{"privacy", TextColumn, true, "what is proved of the budget: pure, approximate, or not certified; null as for epsilon"},
		{"alpha", FloatColumn, false, "a trial succeeds when its error is at most above + alpha"},
		{"beta", FloatColumn, false, "n suffices when trials succeed with probability at least 1 - beta"},
		{"above", FloatColumn, false, "the reference error"},
		{"replica", IntColumn, false, "copies of one setting with independent noise: 0, 1, ..."},
		{"sample", TextColumn, true, "first 10 hex digits of the key of seed and problem: cells that share it have the same data in trials of equal n and repetition"},
	}
}

// TableColumns follow the key in table: one row per cell.
func TableColumns() []Column {
	return []Column{
		{"n_low", IntColumn, false, "largest sample size shown insufficient"},
		{"n_high", IntColumn, false, "smallest sample size shown sufficient"},
		{"n_star", IntColumn, false, "n_high where the cell is decided"},
		{"n_model", FloatColumn, false, "point estimate of n* from curves through all trials, a model: never in place of the bracket; null where none fits well"},
		{"n_model_low", FloatColumn, false, "lower end of its 95 % confidence interval, which holds as far as the curves do"},
		{"n_model_high", FloatColumn, false, "upper end"},
		{"status", TextColumn, true, "decided, undecided, above_range, below_range, infeasible or failed"},
		{"reason", TextColumn, false, "why the cell is not decided"},
		{"theory_n", FloatColumn, false, "least proved bound; null where none is finite"},
		{"theory_source", TextColumn, true, "its theorem"},
		{"paper_n", FloatColumn, false, "first bound that is only printed in a paper; null where none is finite"},
		{"paper_source", TextColumn, true, "its theorem"},
		{"ratio", FloatColumn, false, "n_star over theory_n"},
		{"trials", IntColumn, false, "trials that the search consumed"},
		{"fixed", BoolColumn, false, "the sample sizes and their numbers of trials were given, not chosen by a search that looks at outcomes"},
		{"failed", IntColumn, false, "of these, those that failed"},
		{"mean_error", FloatColumn, false, "mean error of the ok trials at n_high, or at the largest sample size where there is no n_high"},
		{"evaluation", TextColumn, true, "exact, or the number of fresh points that an error is measured on"},
	}
}

// GameColumns follow the key in the table of task online: one row per cell and number of rounds.
func GameColumns() []Column {
	return []Column{
		{"rounds", IntColumn, false, "rounds of a sequence"},
		{"trials", IntColumn, false, "sequences"},
		{"failed", IntColumn, false, "of these, those that failed; the other columns are about the rest"},
		{"mistakes_mean", FloatColumn, false, "labels that were not the truth, mean over sequences"},
		{"mistakes_max", FloatColumn, false, "the same, most of any sequence"},
		{"best_loss", FloatColumn, false, "least loss of a hypothesis in hindsight, mean"},
		{"regret_mean", FloatColumn, false, "loss less best_loss, mean; it may be negative"},
		{"regret_low", FloatColumn, false, "lower end of its 95 % confidence interval over sequences (Student)"},
		{"regret_high", FloatColumn, false, "upper end"},
		{"theory_regret", FloatColumn, false, "proved bound for the sequences that were played, mean"},
		{"theory_source", TextColumn, true, "what the algorithm says of it"},
		{"paper_regret", FloatColumn, false, "bound that is only printed in a paper, mean"},
		{"paper_source", TextColumn, true, "what the algorithm says of it"},
		{"ratio", FloatColumn, false, "regret_mean over theory_regret"},
	}
}

// CurveColumns follow the key in curve: one row per cell and sample size. The columns m_<metric>, means over the trials that
// reported them, follow.
func CurveColumns() []Column {
	return []Column{
		{"n", IntColumn, false, "sample size"},
		{"trials", IntColumn, false, "trials that the search consumed: repetitions 0 to trials-1"},
		{"ok", IntColumn, false, "of these, those with an error"},
		{"failed", IntColumn, false, "of these, those that failed"},
		{"successes", IntColumn, false, "ok trials whose error is at most above + alpha"},
		{"rate", FloatColumn, false, "successes / trials"},
		{"rate_low", FloatColumn, false, "lower end of its confidence interval"},
		{"rate_high", FloatColumn, false, "upper end"},
		{"error_mean", FloatColumn, false, "mean error of the ok trials, summed in the order of repetitions"},
		{"error_p90", FloatColumn, false, "least error that at least 90 % of the ok trials do not exceed"},
	}
}

// BoundColumns are those of bounds: one row per cell and bound. The columns w_<intermediate value> follow.
func BoundColumns() []Column {
	return []Column{
		KeyColumns()[0],
		{"name", TextColumn, true, "the bound"},
		{"value", FloatColumn, false, "sample size; null where the bound is not finite"},
		{"proved", BoolColumn, false, "false: only printed in a paper"},
		{"source", TextColumn, true, "the theorem and its text"},
	}
}

// FitColumns are those of fits: one row per item of the sweep file's fits and group of cells that agree in all but x.
func FitColumns() []Column {
	return []Column{
		{"fit", IntColumn, false, "index of the item in fits, from 0"},
		{"group", TextColumn, true, "what is fixed in this group and differs in others; null where nothing does"},
		{"algorithm", TextColumn, true, "the algorithm's name in the sweep file"},
		{"x", TextColumn, true, "what y is fitted against"},
		{"scale", TextColumn, true, "linear: y on x; log: y on ln x; log-log: ln y on ln x"},
		{"cells", IntColumn, false, "cells that count: those that are decided; in task online those with a mean regret"},
		{"y", TextColumn, true, "n_model; bracket, its geometric middle, where there is no n_model; both where some cells have one; or regret_mean"},
		{"slope", FloatColumn, false, "of y against x on this scale, weighted least squares; null where fewer than two places are left"},
		{"slope_se", FloatColumn, false, "its standard error, from drawing whole repetitions again; null with two places"},
		{"slope_low", FloatColumn, false, "lower end of the slope's 95 % confidence interval, slope_se times inflation wide; right if the line is"},
		{"slope_high", FloatColumn, false, "upper end"},
		{"intercept", FloatColumn, false, "of the line, on this scale"},
		{"theory_slope", FloatColumn, false, "the same slope through theory_n (theory_regret) of the same cells; null where one of them has none"},
		{"claimed", FloatColumn, false, "exponent, as the sweep file claims it"},
		{"claimed_source", TextColumn, true, "who claims it"},
		{"chi_square", FloatColumn, false, "sum of squared residuals, each over its cell's standard error; null with two places"},
		{"inflation", FloatColumn, false, "sqrt(max(1, chi_square/(cells-2))): above 1 the cells scatter more than their trials explain, or the line is bent"},
		{"resamples", IntColumn, false, "draws in which each cell had an estimate, of 200"},
		{"reason", TextColumn, false, "what is missing or left out, and why"},
	}
}

// TrialColumns are those of trials: one row per trial that entered the result, in the order of cells, n, repetition. A trial's
// id is cell/n/repetition. The columns m_<metric> follow.
func TrialColumns() []Column {
	return []Column{
		KeyColumns()[0],
		{"n", IntColumn, false, "sample size"},
		{"repetition", IntColumn, false, "0, 1, ..."},
		{"status", TextColumn, true, "ok or failed"},
		{"kind", TextColumn, true, "failed: crash, error, panic, answer, ..."},
		{"error", FloatColumn, false, "population error against the clean label; null where the trial failed"},
		{"success", BoolColumn, false, "ok, and error at most above + alpha; null in task online"},
	}
}

// TimingColumns are those of timing, which is no part of the result and may differ between runs: one row per message of a worker.
func TimingColumns() []Column {
	return []Column{
		KeyColumns()[0],
		{"n", IntColumn, false, "sample size"},
		{"first", IntColumn, false, "first repetition"},
		{"rows", IntColumn, false, "trials"},
		{"seconds", FloatColumn, false, "time that they took"},
		{"worker", TextColumn, true, "the worker that ran them"},
		{"digest", TextColumn, true, "SHA-256 of the plugin file"},
		{"profile", TextColumn, true, "float profile of the worker"},
	}
}
