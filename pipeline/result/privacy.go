package result

import (
	"fmt"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A PrivacyCheck compares a row with the guarantee of its algorithm.
type PrivacyCheck struct {
	Implied     float64 // least epsilon that allows NHigh to suffice; 0: unknown
	Unknown     string  // reason why Implied is unknown although the algorithm states a guarantee; "": otherwise
	Contradicts string  // reasons why the guarantee is wrong; "": none
}

// claimsPrivacy reports whether a cell's algorithm has a guarantee that is proved or declared.
func claimsPrivacy(c *trial.Cell) bool {
	standing := c.PrivacyStanding()
	return standing == trial.Proved || standing == trial.Declared
}

// setPrivacy sets the privacy fields of a row of the table. curve holds the rows of its cell.
func setPrivacy(row *TableRow, curve []CurveRow) {
	check, g := &row.Privacy, row.Cell.Guarantee
	if g == nil {
		return
	}
	if row.Cell.Beta > 0 || row.Cell.Kind().Rounds() { // without a goal, no sample size is asked for
		check.Implied, check.Unknown = implied(row)
	}
	if !claimsPrivacy(row.Cell) {
		return
	}
	var wrong []string
	for i := range curve {
		if p := &curve[i]; p.DependentFailures > 0 {
			wrong = append(wrong, fmt.Sprintf("%s of %s trials at n = %d failed (%s): a failure is an output; if its "+
				"probability differs between neighboring samples, no epsilon holds",
				wording.Thousands(float64(p.DependentFailures)), wording.Thousands(float64(p.Trials)), p.N, p.DependentKind))
		}
	}
	if check.Implied > g.GetEpsilon()*(1+theory.BudgetSlack) {
		wrong = append(wrong, fmt.Sprintf("%d examples are sufficient, which takes an epsilon of at least %.4g: "+
			"without data no learner succeeds in more than %s of trials, and the guarantee states epsilon %v", row.NHigh,
			check.Implied, wording.Percent(row.Cell.Prior.Limit), g.GetEpsilon()))
	}
	if a := row.Audit; a != nil && a.Refuted != "" {
		wrong = append(wrong, fmt.Sprintf("it is not %s, by %d pairs of trials: %s", a.Refuted, a.Pairs, a.Event))
	}
	check.Contradicts = strings.Join(wrong, "; ")
}

// implied returns the least epsilon with which a learner can succeed as often as the row's did at n_high, or the
// reason why the row implies none.
func implied(row *TableRow) (epsilon float64, unknown string) {
	if unknown = impliesNothing(row); unknown != "" {
		return 0, unknown
	}
	epsilon = privacy.ImpliedEpsilon(1-row.Cell.Beta, row.Cell.Prior.Limit, row.Cell.Guarantee.GetDelta(), row.NHigh)
	if epsilon == 0 {
		unknown = "functions chosen without data succeed often enough, or delta allows it, so any epsilon is possible"
	}
	return epsilon, unknown
}

// impliesNothing returns the reason why the bracket of a row with a guarantee implies no epsilon; "" if it does.
func impliesNothing(row *TableRow) string {
	c := row.Cell
	switch {
	case c.Kind().Rounds():
		return "a game has no sample"
	case row.Audit != nil:
		return "an audit measures no success"
	case row.Status == estimate.StatusFailed || row.NHigh == 0:
		return "no sample size is shown sufficient"
	case row.Status == estimate.StatusNotMonotone:
		return "success is not monotone, so one size or value says nothing of others"
	case c.Queries > 0:
		return "the queries may reveal the target"
	case c.Prior == nil || c.Prior.Drawn && c.Prior.Limit == 0:
		return "the success of a learner without data has no exact upper bound here"
	case !c.Prior.Drawn:
		return "the target is the same in all trials, so a program that knows it needs no data"
	case c.Evaluation.StandardError > 0:
		return "errors are measured on points, and a measured success may be none"
	}
	return ""
}

// RefutedGuarantees describes the privacy guarantees that rows of the result refute, one line each.
func (r *Result) RefutedGuarantees() (lines []string) {
	for i := range r.Table {
		if row := &r.Table[i]; row.Privacy.Contradicts != "" {
			lines = append(lines, fmt.Sprintf("%s (cell %s): the %s guarantee is wrong: %s", row.Cell.As,
				row.Cell.Key.Short(), row.Cell.PrivacyStanding(), row.Privacy.Contradicts))
		}
	}
	return lines
}

// dependentFailures returns the number of failed trials and the kind of the first one. It returns 0
// if all trials that ran failed in one way, because such a failure does not depend on the sample.
//
// All kinds of failures count. Each is an output of the plugin: an error or panic that it raised, an answer or metric
// that is no valid number, or a crash or breach of the protocol that ended three fresh processes which ran the trial
// alone. Trials that exceeded a limit of a machine, or whose worker was lost, are not failures.
func (t *trials) dependentFailures() (count int64, first string) {
	same := t.count(ledger.OK) == 0
	for i, status := range t.status {
		if status != ledger.Failed {
			continue
		}
		if count++; count == 1 {
			first = t.kind[int64(i)]
		}
		same = same && t.kind[int64(i)] == first
	}
	if same {
		return 0, ""
	}
	return count, first
}
