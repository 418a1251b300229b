package theory

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// BudgetSlack is the permitted relative rounding error of a stated privacy parameter above the
// budget.
const BudgetSlack = 1e-9

// CheckGuarantee returns an error if the privacy guarantee of a plugin is invalid: if it is not a
// guarantee, names no source, or is weaker than the budget epsilon and delta. delta does not
// apply to a pure guarantee. Rho and Mu are not compared with the budget.
func CheckGuarantee(g *pluginv1.Guarantee, epsilon, delta float64) error {
	for _, x := range []struct {
		name  string
		value float64
	}{{"epsilon", g.GetEpsilon()}, {"delta", g.GetDelta()}, {"rho", g.GetRho()}, {"mu", g.GetMu()}} {
		if !(x.value >= 0) || math.IsInf(x.value, 1) {
			return fmt.Errorf("the guarantee has %s %v: its author must state a finite number from 0 on", x.name, x.value)
		}
	}
	switch {
	case g.GetSource() == "":
		return fmt.Errorf("the guarantee has no source: its author must name the theorem that it follows from")
	case g.GetDelta() >= 1:
		return fmt.Errorf("the guarantee has delta %v, which promises nothing: its author must state one below 1",
			g.GetDelta())
	case g.GetPure() && g.GetDelta() > 0:
		return fmt.Errorf("the guarantee is called pure and has delta %v: its author must state one of the two",
			g.GetDelta())
	case g.GetEpsilon() > epsilon*(1+BudgetSlack):
		return overBudget("epsilon", g.GetEpsilon(), epsilon)
	case g.GetDelta() > delta*(1+BudgetSlack):
		return overBudget("delta", g.GetDelta(), delta)
	}
	return nil
}

func overBudget(name string, stated, budget float64) error {
	return fmt.Errorf("the guarantee has %s %v, above the budget %v: its author must keep the budget, or refuse "+
		"the setting", name, stated, budget)
}
