package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Files returns the names of the files of a result, as [Columns] accepts them.
func Files() []string {
	return []string{"table", "games", "curve", "bounds", "fits", "trials", "timing", "failures"}
}

// Sheets returns the names of the files of a result that [Result.Sheet] returns and sheet.ReadTable
// reads.
func Sheets() []string { return []string{"table", "curve", "bounds", "fits", "timing", "failures"} }

// Columns returns the columns that a file of a result may have, except columns named by algorithms.
// name is a name in [Files]; "games" is the table in task online. Columns panics for other names.
func Columns(name string) []schemas.Column {
	switch name {
	case "table":
		return slices.Concat(keyColumns(), schemas.Plain(tableColumns))
	case "games":
		return slices.Concat(keyColumns(), schemas.Plain(gameColumns))
	case "curve":
		return slices.Concat(keyColumns(), schemas.Plain(curveColumns))
	case "bounds":
		return schemas.Plain(boundColumns)
	case "fits":
		return schemas.Plain(fitColumns)
	case "trials":
		return schemas.Plain(trialColumns)
	case "timing":
		return schemas.Plain(timingColumns)
	case "failures":
		return schemas.Plain(failureColumns)
	}
	panic(fmt.Sprintf("result: a result has no file %q", name))
}

// keyColumns returns the columns that identify a cell.
func keyColumns() []schemas.Column {
	var plain []schemas.Column
	for _, k := range trial.KeyColumns() {
		plain = append(plain, k.Column)
	}
	return plain
}

// tableColumns holds the columns of the table after the key: one row per cell.
var tableColumns = slices.Concat(populationColumns((*TableRow).cell), []schemas.ColumnOf[TableRow]{
	size("n_low", "largest sample size shown insufficient", func(r *TableRow) int64 { return r.NLow }),
	size("n_high", "smallest sample size shown sufficient", func(r *TableRow) int64 { return r.NHigh }),
	size("n_star", "n_high if the cell is decided: a number of examples that suffices; n* itself may be any number above "+
		"n_low, and n_model estimates it", func(r *TableRow) int64 { return r.NStar }),
	float("n_model", "point estimate of n* from curves fitted to all trials: a model, which does not "+
		"replace the bracket; null if no curve fits well", func(r *TableRow) float64 { return nonzero(r.NModel) }),
	float("n_model_low", "lower end of its 95 % confidence interval, valid as far as the curves fit; if "+
		"the fit is in doubt, as wide as a bracket at the same level",
		func(r *TableRow) float64 { return nonzero(r.NModelLow) }),
	float("n_model_high", "upper end of that interval",
		func(r *TableRow) float64 { return nonzero(r.NModelHigh) }),
	label("status", "decided, measured, undecided, above_range, below_range, infeasible, trivial, failed or "+
		"not_monotone; shatter explain describes each",
		func(r *TableRow) string { return r.Status }),
	label("reason", "why the cell is not decided", func(r *TableRow) string { return r.Reason }),
	float("prior_success", priorDoc, func(r *TableRow) float64 { return priorSuccess(r.Cell) }),
	float("theory_n", "least bound that is proved or declared and whose premises hold; null if none is "+
		"finite", func(r *TableRow) float64 { return nonzero(r.Theory.Value) }),
	label("theory_source", "theorem of theory_n", func(r *TableRow) string { return r.Theory.Source }),
	label("theory_standing", standingDoc, func(r *TableRow) string { return r.Theory.Standing }),
	label("theory_reason", "why theory_n is null although the algorithm states a bound: the premise that "+
		"fails", func(r *TableRow) string { return r.Theory.Missing }),
	float("paper_n", "first bound whose premises hold, that is only printed in a paper and is more than an "+
		"order of magnitude; null if none is finite", func(r *TableRow) float64 { return nonzero(r.PaperN) }),
	label("paper_source", "theorem of paper_n", func(r *TableRow) string { return r.PaperSource }),
	float("ratio_low", "n_low / theory_n: n* is more than this multiple of the bound",
		func(r *TableRow) float64 { return nonzero(float64(r.NLow) / r.Theory.Value) }),
	float("ratio_high", "n_high / theory_n: n* is at most this multiple of the bound",
		func(r *TableRow) float64 { return nonzero(float64(r.NHigh) / r.Theory.Value) }),
	float("ratio_model", "n_model / theory_n",
		func(r *TableRow) float64 { return nonzero(r.NModel / r.Theory.Value) }),
	label("contradicts", "bounds that the row refutes, at the table's confidence: n_low examples are "+
		"insufficient, but by the bound at most as many suffice",
		func(r *TableRow) string { return r.Theory.Contradicts }),
	float("epsilon_implied", impliedDoc, func(r *TableRow) float64 { return nonzero(r.Privacy.Implied) }),
	label("epsilon_implied_reason", "why epsilon_implied is null although the algorithm states a guarantee",
		func(r *TableRow) string { return r.Privacy.Unknown }),
	label("privacy_contradicts", privacyContradictsDoc, func(r *TableRow) string { return r.Privacy.Contradicts }),
	count("trials", "number of trials that the search consumed", func(r *TableRow) int64 { return r.Trials }),
	flag("fixed", "the sample sizes and their numbers of trials were given, not chosen by a search that "+
		"examines outcomes", func(r *TableRow) bool { return r.Fixed }),
	count("failed", "number of these trials that failed", func(r *TableRow) int64 { return r.Failed }),
	float("mean_error", "mean error of the ok trials at n_high, or at the largest sample size if there is "+
		"no n_high; after a search it is biased low, because most of these trials decided that n_high suffices: "+
		"see unbiased_error", func(r *TableRow) float64 { return r.MeanError }),
	float("unbiased_error", "mean error of the last trials at n_high, which ran after the search had decided: they did "+
		"not choose n_high, so this mean is not biased. They are few, 3 % of the cell's trials and at least 24: 0 means "+
		"a small error. Null if no search for n has decided the cell", func(r *TableRow) float64 { return r.UnbiasedError }),
	float("queries_success", "task predict: success rate of baseline/queries, which has no sample, at its "+
		"largest sample size, in the cell of this sweep with the same problem, queries, adversary and goal; if "+
		"it reaches the goal, the queries reveal the target, and the cell is trivial; null if the sweep has no "+
		"such cell", func(r *TableRow) float64 { return r.QueriesSuccess }),
	label("evaluation", "exact, or the number of fresh points on which an error is measured. With the "+
		"sequential rule this is the maximum: the rule ends trials whose error is clear, and puts at most the "+
		"share in brackets on the wrong side of reference + alpha. Errors are exact if all points or rows are "+
		"evaluated, or if the algorithm promises declared hypotheses and the problem has a formula for their "+
		"errors", func(r *TableRow) string { return r.Cell.Evaluation.Words }),
	float("evaluation_error", "upper bound on the standard error of a trial's measured error when the true "+
		"error is reference + alpha; 0: exact", func(r *TableRow) float64 { return r.Cell.Evaluation.StandardError }),
	label("privacy_source", "source of the guarantee, as stated by the algorithm",
		func(r *TableRow) string { return r.Cell.Guarantee.GetSource() }),
	float("rho", "zero-concentrated differential privacy, if it was proved in that form",
		func(r *TableRow) float64 { return nonzero(r.Cell.Guarantee.GetRho()) }),
	float("mu", "Gaussian differential privacy, if it was proved in that form",
		func(r *TableRow) float64 { return nonzero(r.Cell.Guarantee.GetMu()) }),
})

// findColumns holds the further columns of the table if the sweep searches another number than n.
var findColumns = []schemas.ColumnOf[TableRow]{
	label("search", "number that is searched at one n, by its column; null if n is searched or listed. The "+
		"row is one of its values: n_low is n if that value is insufficient, n_high is n if it is sufficient",
		func(r *TableRow) string { return rungText(r, func(x *trial.Rung) string { return x.Axis }) }),
	label("search_success", "how success changes as the number grows, as the sweep file states: rises or "+
		"falls; status not_monotone means that success falls from a harder to an easier value",
		func(r *TableRow) string { return rungText(r, func(x *trial.Rung) string { return x.Direction() }) }),
	label("search_id", "identifies the search: the cell of its hardest value; equal in all rows of a search",
		func(r *TableRow) string { return r.Found.Ladder }),
	size("search_n", "n of the search; in task online the number of rounds, null if that is searched",
		func(r *TableRow) int64 {
			if r.Cell.Rung == nil || r.Cell.Rung.OverRounds() {
				return 0
			}
			return r.Cell.N[0]
		}),
	float("search_insufficient", "easiest value shown insufficient: the least sufficient epsilon is above "+
		"it, the largest sufficient noise_rate below it; null if there is none",
		func(r *TableRow) float64 { return r.found(r.Found.Insufficient) }),
	float("search_sufficient", "hardest value shown sufficient; null if there is none",
		func(r *TableRow) float64 { return r.found(r.Found.Sufficient) }),
	float("search_theory", "hardest value at which theory_n is at most n; null if there is none",
		func(r *TableRow) float64 { return r.found(r.Found.Proved) }),
}

// auditColumns holds the further columns of the table of task audit.
var auditColumns = []schemas.ColumnOf[TableRow]{
	float("epsilon_low", "task audit: largest epsilon, of 20 up to the claimed one, that the trials refute "+
		"at delta, with the confidence of the table; null if they refute none",
		func(r *TableRow) float64 { return nonzero(r.Audit.Low["epsilon"]) }),
	float("mu_low", "task audit: the same for mu, under mu-Gaussian differential privacy; null if the guarantee "+
		"states no mu", func(r *TableRow) float64 { return nonzero(r.Audit.Low["mu"]) }),
	float("rho_low", "task audit: the same for rho, under rho-zero-concentrated differential privacy; null if "+
		"the guarantee states no rho", func(r *TableRow) float64 { return nonzero(r.Audit.Low["rho"]) }),
	float("epsilon_exact", "task audit: least epsilon of the samples that were read and all their neighbors, as a "+
		"built-in algorithm computes it, see max_divergence of expmech/em-divergence; null if it computes none",
		func(r *TableRow) float64 {
			if r.Cell.Plugin != "" {
				return math.NaN()
			}
			return nonzero(r.Audit.Exact)
		}),
	label("event", "task audit: event that refutes epsilon_low, mu_low or rho_low, whichever is the largest "+
		"share of the claimed one: n, the pair of samples, and what is too likely with one of them",
		func(r *TableRow) string { return r.Audit.Event }),
	count("pairs", "task audit: number of pairs of trials that were read, one with each sample",
		func(r *TableRow) int64 { return r.Audit.Pairs }),
	flag("refuted", "task audit: the trials refute the guarantee: the claimed epsilon at its delta, mu or rho",
		func(r *TableRow) bool { return r.Audit.Refuted != "" }),
	label("audited", "task learn, in a table of several folders: what the audits among them with the same "+
		"algorithm, parameters, epsilon, delta and program (by its SHA-256) found, on any problem and n; null "+
		"if there are none", func(*TableRow) string { return "" }),
}

// rungText returns a text of the row's rung; "" if the row has none.
func rungText(r *TableRow, of func(*trial.Rung) string) string {
	if r.Cell.Rung == nil {
		return ""
	}
	return of(r.Cell.Rung)
}

// found returns a value that a search has found; NaN if the row belongs to none.
func (r *TableRow) found(v float64) float64 {
	if r.Cell.Rung == nil {
		return math.NaN()
	}
	return v
}

// SearchColumns returns the further columns of the table if the sweep searches another number than n.
// In task online the table has status, reason and these columns except search_theory.
func SearchColumns() []schemas.Column { return schemas.Plain(findColumns) }

// AuditColumns returns the further columns of the table of task audit.
func AuditColumns() []schemas.Column { return schemas.Plain(auditColumns) }

// gameSearchColumns holds the further columns of the table of task online if the sweep has a search.
var gameSearchColumns = slices.Concat(
	searchColumns("status", "reason"),
	searchColumns("search", "search_success", "search_id", "search_n", "search_insufficient", "search_sufficient"),
)

// searchColumns returns the named columns of the table, for the games that a search played.
func searchColumns(names ...string) (columns []schemas.ColumnOf[GameRow]) {
	all := slices.Concat(tableColumns, findColumns)
	for _, name := range names {
		of := all[slices.IndexFunc(all, func(c schemas.ColumnOf[TableRow]) bool { return c.Name == name })]
		columns = append(columns, column(of.Column, func(r *GameRow) any {
			if r.Search == nil {
				return nil
			}
			return of.Value(r.Search)
		}))
	}
	return columns
}

// gameColumns holds the columns after the key in the table of task online: one row per cell and
// number of rounds.
var gameColumns = slices.Concat(populationColumns((*GameRow).cell), []schemas.ColumnOf[GameRow]{
	count("rounds", "rounds of a sequence", func(r *GameRow) int64 { return r.Rounds }),
	flag("predictable", "the adversary's truths follow from earlier ones: a learner that uses this has a "+
		"regret far below 0, and the regrets here are no lower bounds",
		func(r *GameRow) bool { return r.Predictable }),
	count("trials", "number of sequences", func(r *GameRow) int64 { return r.Trials }),
	count("failed", "number of these sequences that failed", func(r *GameRow) int64 { return r.Failed }),
	count("lost", "number of these sequences without an outcome because of a resource limit of a machine; "+
		"the other columns cover sequences that neither failed nor were lost",
		func(r *GameRow) int64 { return r.Lost }),
	float("mistakes_mean", "labels that differ from the truth, mean over sequences",
		func(r *GameRow) float64 { return r.MistakesMean }),
	float("mistakes_max", "the same, maximum over sequences", func(r *GameRow) float64 { return r.MistakesMax }),
	float("best_loss", "least loss of a hypothesis in hindsight, mean",
		func(r *GameRow) float64 { return r.BestLoss }),
	float("regret_mean", "loss minus best_loss, mean; may be negative",
		func(r *GameRow) float64 { return r.RegretMean }),
	float("regret_low", "lower end of its 95 % confidence interval over sequences (Student), which ignores "+
		"that a search may have chosen the number of sequences after examining some",
		func(r *GameRow) float64 { return r.RegretLow }),
	float("regret_high", "upper end of that interval", func(r *GameRow) float64 { return r.RegretHigh }),
	float("theory_regret", "bound, proved or declared, for the played sequences, mean; null if no bound's "+
		"premises hold", func(r *GameRow) float64 { return r.Theory.Value }),
	label("theory_source", "source of theory_regret, as stated by the algorithm",
		func(r *GameRow) string { return r.Theory.Source }),
	label("theory_standing", standingDoc, func(r *GameRow) string { return r.Theory.Standing }),
	label("theory_reason", "why theory_regret is null although the algorithm states a bound: the premise "+
		"that fails", func(r *GameRow) string { return r.Theory.Missing }),
	float("paper_regret", "bound that is only printed in a paper, mean",
		func(r *GameRow) float64 { return r.PaperRegret }),
	label("paper_source", "source of paper_regret, as stated by the algorithm",
		func(r *GameRow) string { return r.PaperSource }),
	float("ratio_low", "regret_low / theory_regret",
		func(r *GameRow) float64 { return nonzero(r.RegretLow / r.Theory.Value) }),
	float("ratio_high", "regret_high / theory_regret",
		func(r *GameRow) float64 { return nonzero(r.RegretHigh / r.Theory.Value) }),
	label("contradicts", "bound that the row refutes: the mean over the sequences of regret minus bound is "+
		"above 0, with confidence 95 % (Student) for all rows of the table together; null if a search chose "+
		"the number of sequences", func(r *GameRow) string { return r.Theory.Contradicts }),
})

// curveColumns holds the columns of the curve after the key: one row per cell and sample size. The
// columns m_<metric>, means over the trials that reported the metric, follow.
var curveColumns = slices.Concat(populationColumns((*CurveRow).cell), []schemas.ColumnOf[CurveRow]{
	count("n", "sample size", func(r *CurveRow) int64 { return r.N }),
	count("trials", "number of trials that the search consumed: repetitions 0 to trials-1",
		func(r *CurveRow) int64 { return r.Trials }),
	count("ok", "number of these trials with a measured error", func(r *CurveRow) int64 { return r.OK }),
	count("failed", "number of these trials that failed", func(r *CurveRow) int64 { return r.Failed }),
	count("lost", "number of these trials without an outcome because of a resource limit of a machine; "+
		"only lists of n continue after such a trial", func(r *CurveRow) int64 { return r.Lost }),
	column(intColumn("successes", "number of trials that succeeded, by success in trials; null without a "+
		"goal"),
		(*CurveRow).successes),
	float("rate", "successes / trials: a lost trial counts as no success",
		func(r *CurveRow) float64 { return r.Rate }),
	float("rate_low", "lower end of its 95 % confidence interval (Clopper and Pearson) for this row alone; "+
		"invalid if a person or a search has chosen the number of trials after examining outcomes, unlike "+
		"n_low and n_high of the table", func(r *CurveRow) float64 { return r.RateLow }),
	float("rate_high", "upper end, as if every lost trial had succeeded",
		func(r *CurveRow) float64 { return r.RateHigh }),
	float("prior_success", priorDoc, func(r *CurveRow) float64 { return priorSuccess(r.Cell) }),
	float("error_mean", "mean error of the ok trials, summed in the order of repetitions; under the "+
		"sequential rule the mean of m_first_error, the errors on the first points alone, which is unbiased",
		func(r *CurveRow) float64 { return r.ErrorMean }),
	float("error_low", "lower end of its 95 % confidence interval over trials (Student) for this row "+
		"alone, with the restriction of rate_low", func(r *CurveRow) float64 { return r.ErrorLow }),
	float("error_high", "upper end of that interval", func(r *CurveRow) float64 { return r.ErrorHigh }),
	float("error_p90", "least error that at least 90 % of the ok trials do not exceed; null under the sequential rule",
		func(r *CurveRow) float64 { return r.ErrorP90 }),
})

// populationColumns holds the columns that describe the data of a cell. They are null for a distribution.
func populationColumns[R any](cell func(*R) *trial.Cell) []schemas.ColumnOf[R] {
	of := func(name, doc string, value func(p *trial.Population) float64) schemas.ColumnOf[R] {
		return float(name, doc, func(r *R) float64 {
			if p := cell(r).Population; p != nil {
				return value(p)
			}
			return math.NaN()
		})
	}
	return []schemas.ColumnOf[R]{
		of("positive_share", "share of the rows of the data whose label is +1; null for a distribution, like "+
			"the next two columns", func(p *trial.Population) float64 { return p.Positive }),
		of("constant_error", "error of the better of the two constant hypotheses on these rows: a goal of "+
			"reference + alpha of at least this value is reached without an example", (*trial.Population).ConstantError),
		of("pulled_share", "share of the rows outside the stated scale, which were scaled back onto it",
			func(p *trial.Population) float64 { return p.Pulled }),
	}
}

const standingDoc = "proved: by a built-in algorithm, whose source contains the proof; declared: proved " +
	"according to a third party's plugin"

const impliedDoc = "least epsilon of any algorithm for which n_high examples suffice, by group privacy: with p the " +
	"largest success probability of any function chosen without data, an (epsilon, delta)-private algorithm succeeds " +
	"on n examples with probability at most e^(n epsilon) p + delta (e^(n epsilon) - 1)/(e^epsilon - 1). p is " +
	"prior_success of the doubled goal 2 (reference + alpha). At the table's confidence, if success does not fall as n " +
	"grows, like n_high"

const privacyContradictsDoc = "why the proved or declared guarantee is wrong: epsilon_implied is above its " +
	"epsilon, an audit refutes it, or some trials failed, which is an output that depends on the sample"

const priorDoc = "success probability of a learner without data: the largest probability with which one " +
	"hypothesis of the class, or a constant, chosen in advance, has an error of at most reference + alpha, measured " +
	"by the distribution of points. Functions outside the class may reach more. 1 if the target is the same in all " +
	"trials: such a cell is a calibration, and a program that knows the target passes without data. Null if unknown: " +
	"over data, under skew, and for some large classes. An estimate, with a standard error of at most 0.01, for " +
	"other large classes"

// priorSuccess returns the success probability of a learner without data in a cell; NaN if unknown.
func priorSuccess(c *trial.Cell) float64 {
	if c.Prior == nil {
		return math.NaN()
	}
	return c.Prior.Success
}

func (r *CurveRow) successes() any {
	if !r.Cell.CanSucceed() {
		return nil
	}
	return r.Successes
}

// boundColumns holds the columns of the bounds: one row per cell and bound. The columns
// w_<intermediate value> follow.
var boundColumns = []schemas.ColumnOf[BoundRow]{
	cellColumn((*BoundRow).cell),
	word("name", "name of the bound", func(r *BoundRow) string { return r.Name }),
	float("value", "sample size; null if the bound is not finite", func(r *BoundRow) float64 { return r.Value }),
	word("standing", standingDoc+"; printed: a paper prints it", func(r *BoundRow) string { return r.Standing }),
	flag("order_only", "only an order of magnitude: constants that the text hides are taken as 1",
		func(r *BoundRow) bool { return r.Order }),
	label("fails", "failed premise, so that the bound does not apply to the cell; null if it applies",
		func(r *BoundRow) string { return r.Fails }),
	flag("contradicted", "the cell refutes the bound: it is at most n_low, which is shown insufficient",
		func(r *BoundRow) bool { return r.Contradicted }),
	label("source", "theorem and text", func(r *BoundRow) string { return r.Source }),
}

// fitColumns holds the columns of the fits: one row per item of the sweep file's fits, group of
// cells that agree in all but the numbers of its terms, and term.
var fitColumns = []schemas.ColumnOf[FitRow]{
	count("fit", "index of the item in fits, from 0", func(r *FitRow) int64 { return int64(r.Fit) }),
	label("group", "values that are fixed in this group and differ in others; null if there are none",
		func(r *FitRow) string { return r.Group }),
	label("algorithm", "the algorithm's name in the sweep file", func(r *FitRow) string { return r.Algorithm }),
	word("model", modelDoc(), func(r *FitRow) string { return r.Model }),
	word("term", "a term t of the model, which the estimate is about", func(r *FitRow) string { return r.Term }),
	count("cells", "number of cells in the fit: decided cells or, in task online, cells with a mean regret",
		func(r *FitRow) int64 { return int64(r.Cells) }),
	label("y", "n_model; bracket, its geometric middle, if there is no n_model; both if only some cells "+
		"have an n_model; or regret_mean", func(r *FitRow) string { return r.Y }),
	float("estimate", "exponent, coefficient or rate of the term, by weighted least squares; null if the cells "+
		"do not determine it", func(r *FitRow) float64 { return r.Value }),
	float("estimate_se", "its standard error, from the likelihood of the trials, times inflation",
		func(r *FitRow) float64 { return r.Error }),
	float("estimate_low", "lower end of its confidence interval, estimate - z estimate_se. If the model is right, "+
		"the intervals of all terms of a group hold together with 95 %: z is 1.96 for one term, 2.24 for two, 2.39 "+
		"for three", func(r *FitRow) float64 { return r.Low }),
	float("estimate_high", "upper end of that interval", func(r *FitRow) float64 { return r.High }),
	float("theory_estimate", "the same estimate for theory_n (theory_regret) of the same cells; null if one "+
		"of them has none", func(r *FitRow) float64 { return r.Theory }),
	float("claimed", "value that the sweep file claims", func(r *FitRow) float64 { return r.Claimed }),
	label("claimed_source", "source of the claim", func(r *FitRow) string { return r.ClaimedSource }),
	label("verdict", "verdict on the claim: rejected at 95 % if it is outside estimate_low to estimate_high, not "+
		"rejected if it is inside, none if the model does not fit (goodness below 0.05); null without a claim or an "+
		"interval", func(r *FitRow) string { return r.Verdict }),
	float("constant", "the factor C of the model; null for a sum", func(r *FitRow) float64 { return r.Constant }),
	float("chi_square", "goodness of fit: sum of the squares of the residuals, each divided by its cell's "+
		"standard error", func(r *FitRow) float64 { return r.ChiSquare }),
	count("freedom", "degrees of freedom of chi_square: cells less coefficients",
		func(r *FitRow) int64 { return int64(r.Freedom) }),
	float("goodness", "p-value of the fit: probability of a chi_square as large if the model is right; null "+
		"if there are as many coefficients as cells", func(r *FitRow) float64 { return r.PValue }),
	float("inflation", "sqrt(max(1, chi_square/freedom)): above 1, the cells scatter more than their "+
		"trials explain, or the model is wrong", func(r *FitRow) float64 { return r.Inflation }),
	label("reason", "omissions, with the reason", func(r *FitRow) string { return r.Reason }),
}

// modelDoc describes each model.
func modelDoc() string {
	var docs []string
	for _, f := range estimate.Forms() {
		docs = append(docs, f.Name+": "+f.Doc)
	}
	return strings.Join(docs, "; ")
}

// timingColumns holds the columns of the file timing: one row per message of a worker. The file is
// not part of the result and may differ between runs.
var timingColumns = []schemas.ColumnOf[TimingRow]{
	cellColumn((*TimingRow).cell),
	count("n", "sample size", func(r *TimingRow) int64 { return r.N }),
	count("first", "first repetition", func(r *TimingRow) int64 { return r.First }),
	count("rows", "number of trials", func(r *TimingRow) int64 { return r.Rows }),
	float("seconds", "wall-clock time that a slot spent on them", func(r *TimingRow) float64 { return r.Seconds }),
	float("plugin_seconds", "part of seconds inside calls into the plugin",
		func(r *TimingRow) float64 { return r.PluginSeconds }),
	label("worker", "name of the worker", func(r *TimingRow) string { return r.Worker }),
	label("digest", "identity of the plugin or built-in algorithm, a SHA-256",
		func(r *TimingRow) string { return r.Digest }),
	label("profile", "float profile of the worker", func(r *TimingRow) string { return r.Profile }),
}

// trialColumns holds the columns of the file trials: one row per trial that entered the result, in
// the order of cells, n, repetition. A trial's id is cell/n/repetition. The columns m_<metric>
// follow.
var trialColumns = []schemas.ColumnOf[trialRow]{
	cellColumn(func(r *trialRow) *trial.Cell { return r.cell }),
	count("n", "sample size", func(r *trialRow) int64 { return r.n }),
	count("repetition", "0, 1, ...", func(r *trialRow) int64 { return int64(r.i) }),
	word("status", "ok, failed, or lost: without an outcome",
		func(r *trialRow) string { return ledger.StatusName(r.status[r.i]) }),
	label("kind", "failed: crash, error, panic, answer, ...", func(r *trialRow) string {
		if r.failed() {
			return r.kind[int64(r.i)]
		}
		return ""
	}),
	float("error", "population error against the clean label, measured when the sequential rule stopped, "+
		"if it did; null if the trial failed or was lost", func(r *trialRow) float64 { return r.error[r.i] }),
	column(schemas.Column{Name: "success", Type: schemas.BoolColumn,
		Doc: "ok, and error at most reference + alpha, in task online regret per round at most alpha; null without a goal"},
		func(r *trialRow) any {
			if !r.cell.CanSucceed() {
				return nil
			}
			return r.success(r.i)
		}),
}

// cellColumn returns the first column of a file whose rows identify their cells only by id.
func cellColumn[R any](cell func(*R) *trial.Cell) schemas.ColumnOf[R] {
	return lift(trial.KeyColumns()[0].ColumnOf, cell)
}

// lift turns a column of a cell into a column of rows that have a cell.
func lift[R any](of schemas.ColumnOf[trial.Cell], cell func(*R) *trial.Cell) schemas.ColumnOf[R] {
	return column(of.Column, func(r *R) any { return of.Value(cell(r)) })
}

// withKey prepends the key columns and the columns of parameters.
func withKey[R any](
	params []schemas.ColumnOf[trial.Cell], cell func(*R) *trial.Cell, more ...[]schemas.ColumnOf[R],
) []schemas.ColumnOf[R] {
	var all []schemas.ColumnOf[R]
	for _, k := range trial.KeyColumns() {
		all = append(all, lift(k.ColumnOf, cell))
	}
	for _, p := range params {
		all = append(all, lift(p, cell))
	}
	return append(all, slices.Concat(more...)...)
}

func (r *TableRow) cell() *trial.Cell  { return r.Cell }
func (r *GameRow) cell() *trial.Cell   { return r.Cell }
func (r *CurveRow) cell() *trial.Cell  { return r.Cell }
func (r *BoundRow) cell() *trial.Cell  { return r.Cell }
func (r *TimingRow) cell() *trial.Cell { return r.Cell }

// paramColumns returns the columns of all parameters of some cells, sorted. If two algorithms give
// a name different types, integers and floats become floats, and any other combination becomes
// text. If data has missing cells, their share comes last.
func paramColumns(cells []*trial.Cell) []schemas.ColumnOf[trial.Cell] {
	types, missing := map[string]schemas.ColumnType{}, false
	for _, c := range cells {
		missing = missing || c.Population != nil && c.Population.Missing > 0
		for name, v := range c.AllParams() {
			types[name] = sheet.JoinTypes(types[name], schemas.TypeOf(v))
		}
	}
	var columns []schemas.ColumnOf[trial.Cell]
	for _, name := range slices.Sorted(maps.Keys(types)) {
		value := func(c *trial.Cell) any { return schemas.Clean(c.Param(name)) }
		columns = append(columns, column(schemas.Column{
			Name: schemas.ParamPrefix + name, Type: types[name],
			Doc: "parameter " + name,
		}, value))
	}
	if missing {
		columns = append(columns, float("missing_share", "share of the file's rows that were dropped (missing: drop), or of "+
			"the features' cells that were filled (missing: mean)", func(c *trial.Cell) float64 {
			if c.Population == nil {
				return math.NaN()
			}
			return c.Population.Missing
		}))
	}
	return columns
}

// metricColumn describes the column of a metric: its values in trials, their means in the curve.
func metricColumn(name string) schemas.Column {
	return schemas.Column{Name: schemas.MetricPrefix + name, Type: schemas.FloatColumn, Doc: "metric " + name}
}

func metricColumns(names []string) []schemas.ColumnOf[CurveRow] {
	var columns []schemas.ColumnOf[CurveRow]
	for _, name := range names {
		columns = append(columns, numbers(metricColumn(name), func(r *CurveRow) float64 { return r.mean(name) }))
	}
	return columns
}

// mean returns the mean of a metric; NaN if there is none or it is not finite.
func (r *CurveRow) mean(metric string) float64 {
	for _, m := range r.Metrics {
		if m.Metric == metric {
			return m.Mean
		}
	}
	return math.NaN()
}

// withColumns returns the columns of the bounds' intermediate values, sorted.
func withColumns(bounds []BoundRow) []schemas.ColumnOf[BoundRow] {
	names := map[string]bool{}
	for _, b := range bounds {
		for name := range b.With {
			names[name] = true
		}
	}
	var columns []schemas.ColumnOf[BoundRow]
	for _, name := range slices.Sorted(maps.Keys(names)) {
		value := func(r *BoundRow) float64 { return lookup(r.With, name) }
		columns = append(columns, float(schemas.WithPrefix+name, "intermediate value "+name, value))
	}
	return columns
}

// lookup returns the value of a name; NaN if there is none.
func lookup(m map[string]float64, name string) float64 {
	if v, ok := m[name]; ok {
		return v
	}
	return math.NaN()
}

// nonzero returns v; NaN if v is 0.
func nonzero(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

func column[R any](of schemas.Column, value func(*R) any) schemas.ColumnOf[R] {
	return schemas.ColumnOf[R]{Column: of, Value: value}
}

// numbers makes a column of numbers; values that are not finite become null.
func numbers[R any](of schemas.Column, value func(*R) float64) schemas.ColumnOf[R] {
	return column(of, func(r *R) any { return schemas.Clean(sheet.Finite(value(r))) })
}

// word makes a column of texts that is never null.
func word[R any](name, doc string, value func(*R) string) schemas.ColumnOf[R] {
	return column(textColumn(name, doc), func(r *R) any { return value(r) })
}

// label makes a column of texts; empty ones become null.
func label[R any](name, doc string, value func(*R) string) schemas.ColumnOf[R] {
	return column(textColumn(name, doc), func(r *R) any { return schemas.Nonzero(value(r)) })
}

func textColumn(name, doc string) schemas.Column {
	return schemas.Column{Name: name, Type: schemas.TextColumn, Doc: doc}
}

// count makes a column of integers that is never null.
func count[R any](name, doc string, value func(*R) int64) schemas.ColumnOf[R] {
	return column(intColumn(name, doc), func(r *R) any { return value(r) })
}

// size makes a column of sample sizes; 0 becomes null.
func size[R any](name, doc string, value func(*R) int64) schemas.ColumnOf[R] {
	return column(intColumn(name, doc), func(r *R) any { return schemas.Nonzero(value(r)) })
}

func intColumn(name, doc string) schemas.Column {
	return schemas.Column{Name: name, Type: schemas.IntColumn, Doc: doc}
}

// float makes a column of numbers; values that are not finite become null.
func float[R any](name, doc string, value func(*R) float64) schemas.ColumnOf[R] {
	return numbers(schemas.Column{Name: name, Type: schemas.FloatColumn, Doc: doc}, value)
}

func flag[R any](name, doc string, value func(*R) bool) schemas.ColumnOf[R] {
	of := schemas.Column{Name: name, Type: schemas.BoolColumn, Doc: doc}
	return column(of, func(r *R) any { return value(r) })
}
