package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// rule predicts the label of a point from the versions that label it -1 and those that label it +1.
type rule func(minus, plus versions) (float64, error)

// elimination plays a game by a rule over the version space. A truth that no version agrees with,
// which is impossible for a target in the class, leaves the versions unchanged.
type elimination struct {
	trial *algo.Trial[struct{}]
	board *board
	now   versions
	rule  rule

	// Bounds on the mistakes in a game with a target in the class; printed is NaN if there is none.
	proved, printed float64

	round, contradictions int
}

// eliminationMetrics describes the metrics of every elimination.
func eliminationMetrics() map[string]string {
	return map[string]string{
		"version_space": "functions of the class that agree with all truths except contradictions; " +
			"omitted if there are infinitely many [functions]",
		"contradictions": "truths that disagreed with all remaining functions and did not change the version space [rounds]",
		"proved_regret":  "the proved bound, if some function of the class agrees with all truths [mistakes]",
		"printed_regret": "the bound printed in the lecture, if some function agrees with all truths [mistakes]",
	}
}

// Predict implements algo.Model.
func (e *elimination) Predict(_ context.Context, x *algo.Data, out []float64) error {
	return e.board.predict(x, out, func(x []float64) (float64, error) { return e.rule(e.now.split(x)) })
}

// Observe implements algo.Learner.
func (e *elimination) Observe(_ context.Context, x *algo.Data, y []float64) error {
	if err := e.board.observe(x, y, e.learn); err != nil {
		return err
	}
	if n := e.now.size(); !endless(n) {
		e.trial.Report("version_space", float64(n))
	}
	e.trial.Report("contradictions", float64(e.contradictions))
	if e.round == e.trial.Rounds && e.trial.Problem.Realizable {
		e.trial.Report("proved_regret", within(e.round, e.proved))
		if !math.IsNaN(e.printed) {
			e.trial.Report("printed_regret", within(e.round, e.printed))
		}
	}
	return nil
}

// learn keeps the versions that label x like the truth y, if there are any.
func (e *elimination) learn(x []float64, y float64) error {
	e.round++
	next, plus := e.now.split(x)
	if y > 0 {
		next = plus
	}
	if next.size() == 0 {
		e.contradictions++
		return nil
	}
	// On an infinite order soa makes its first mistake at this point and continues with finitely
	// many functions.
	if endless(e.now.size()) && !endless(next.size()) {
		d, err := next.ldim()
		if err != nil {
			return err
		}
		e.proved = 1 + float64(d)
	}
	e.now = next
	return nil
}

// targeted lists the premise of bounds on mistakes: some function of the class agrees with all
// truths, so that the regret is the number of mistakes.
var targeted = []algo.Premise{algo.TargetInClass}

// within limits a bound on mistakes to the number of rounds, which is 0 if it is not fixed.
func within(rounds int, mistakes float64) float64 {
	if rounds == 0 {
		return mistakes
	}
	return min(mistakes, float64(rounds))
}
