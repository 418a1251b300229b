package plugintest

import (
	"errors"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Budgets of checkGuarantee, descending.
var (
	testEpsilons = []float64{5, 2, 1, 0.5, 0.1}
	testDeltas   = []float64{1e-3, 1e-6, 1e-9, 0}
)

// checkGuarantee checks that an algorithm either rejects a budget or states a valid guarantee for
// it, and that a smaller budget gives no weaker guarantee.
func (s checks) checkGuarantee() error {
	if !s.algorithm.Private {
		return skipped("it has none")
	}
	last := make([]*pluginv1.Guarantee, len(testDeltas)) // guarantees at the next larger epsilon
	for _, epsilon := range testEpsilons {
		var wider *pluginv1.Guarantee // guarantee at the next larger delta
		for i, delta := range testDeltas {
			g, err := s.guaranteeAt(epsilon, delta)
			if err == nil && g != nil {
				err = errors.Join(notWeaker(g, last[i]), notWeaker(g, wider))
				last[i], wider = g, g
			}
			if err != nil {
				return fmt.Errorf("at the budget epsilon %v, delta %v: %w", epsilon, delta, err)
			}
		}
	}
	return nil
}

// guaranteeAt returns the guarantee of the current setting under another budget, or nil if the
// algorithm rejects that budget.
func (s checks) guaranteeAt(epsilon, delta float64) (*pluginv1.Guarantee, error) {
	setting := s.with(func(w *pluginv1.Setting) { w.N, w.Epsilon, w.Delta = 0, epsilon, delta })
	r, err := s.check(setting)
	switch {
	case err != nil || r.Refusal != nil:
		return nil, err
	case r.Guarantee == nil:
		return nil, errors.New("the algorithm is described as private and returns no guarantee")
	}
	return r.Guarantee, trial.CheckGuarantee(r.Guarantee, setting)
}

// notWeaker returns an error if g is weaker in epsilon or delta than a guarantee at a larger
// budget, which may be nil, and stronger in neither.
func notWeaker(g, larger *pluginv1.Guarantee) error {
	const slack = 1 + theory.BudgetSlack
	if larger == nil || g.Epsilon < larger.Epsilon || g.Delta < larger.Delta ||
		g.Epsilon <= larger.Epsilon*slack && g.Delta <= larger.Delta*slack {
		return nil
	}
	return fmt.Errorf("the guarantee (%v, %v) is weaker than (%v, %v), which is stated at a larger budget",
		g.Epsilon, g.Delta, larger.Epsilon, larger.Delta)
}
