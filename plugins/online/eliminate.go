package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// rule predicts the label of a point from the versions that label it -1 and +1.
type rule func(minus, plus versions) (float64, error)

// elimination is the game of a learner that keeps a version space. A truth that none of the versions agrees with, which a target in the
// class never has, leaves them as they are.
type elimination struct {
	trial *algo.Trial[struct{}]
	board *board
	now   versions
	rule  rule

	proved, printed float64 // bounds on mistakes that hold while there is no contradiction; printed NaN: none

	round, contradictions int
}

// eliminationMetrics are what all of them report.
func eliminationMetrics() map[string]string {
	return map[string]string{
		"version_space":  "functions of the class that agree with all truths, but for contradictions; left out where they are infinitely many",
		"contradictions": "rounds whose truth disagreed with all functions left; they left the version space as it was",
		"proved_regret":  "the proved bound on mistakes, where there was no contradiction",
		"printed_regret": "the bound that is printed in the lecture, where there was no contradiction",
	}
}

// Predict implements algo.Model.
func (e *elimination) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range x.Len() {
		if err := e.board.check(x.X(i)); err != nil {
			return err
		}
		var err error
		if out[i], err = e.rule(e.now.split(x.X(i))); err != nil {
			return err
		}
	}
	return nil
}

// Observe implements algo.Learner.
func (e *elimination) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i := range x.Len() {
		if err := e.observe(x.X(i), y[i]); err != nil {
			return err
		}
	}
	if n := e.now.size(); !endless(n) {
		e.trial.Report("version_space", float64(n))
	}
	e.trial.Report("contradictions", float64(e.contradictions))
	if e.round == e.trial.Rounds && e.contradictions == 0 {
		e.trial.Report("proved_regret", within(e.round, e.proved))
		if !math.IsNaN(e.printed) {
			e.trial.Report("printed_regret", within(e.round, e.printed))
		}
	}
	return nil
}

func (e *elimination) observe(x []float64, y float64) error {
	if err := e.board.checkRound(x, y); err != nil {
		return err
	}
	e.round++
	next, plus := e.now.split(x)
	if y > 0 {
		next = plus
	}
	if next.size() == 0 {
		e.contradictions++
		return nil
	}
	if endless(e.now.size()) && !endless(next.size()) { // soa has made no mistake before, makes one here, and then plays on finitely many
		d, err := next.ldim()
		if err != nil {
			return err
		}
		e.proved = 1 + float64(d)
	}
	e.now = next
	return nil
}

// realizable says that some function of the class agrees with all truths.
func realizable(p algo.Problem) bool {
	return p.Realizable && (p.Noise == "none" || p.NoiseRate == 0)
}

// within is a bound on mistakes in so many rounds; 0: their number is not fixed.
func within(rounds int, mistakes float64) float64 {
	if rounds == 0 {
		return mistakes
	}
	return min(mistakes, float64(rounds))
}
