package trial

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Unproved is the standing of a guarantee without a proof.
const Unproved = "unproved"

// PrivacyStanding returns the standing of the cell's guarantee: Proved, Declared or Unproved; "" without one.
func (c *Cell) PrivacyStanding() string {
	switch {
	case c.Guarantee == nil:
		return ""
	case c.Guarantee.GetUnproved():
		return Unproved
	case c.Plugin != "":
		return Declared
	}
	return Proved
}

// CheckGuarantee returns an error if a plugin's guarantee is invalid in a setting: by [theory.CheckGuarantee], or
// because its rho or mu contradicts its epsilon and delta. A nil guarantee is valid.
func CheckGuarantee(g *pluginv1.Guarantee, s *pluginv1.Setting) error {
	if g == nil {
		return nil
	}
	if err := theory.CheckGuarantee(g, s.GetEpsilon(), s.GetDelta()); err != nil {
		return err
	}
	// Gaussian noise has exactly rho = mu^2/2, and the conversion of mu is exact. So no larger rho and no larger mu
	// yield this epsilon and delta.
	mu := privacy.GaussianMu(g.GetEpsilon(), g.GetDelta())
	rho := mu * mu / 2
	if g.GetPure() { // pure privacy implies both, and follows from neither
		rho, mu = g.GetEpsilon()*g.GetEpsilon()/2, privacy.PureMu(g.GetEpsilon())
	}
	if err := checkForm(g, "rho", g.GetRho(), rho); err != nil {
		return err
	}
	return checkForm(g, "mu", g.GetMu(), mu)
}

func checkForm(g *pluginv1.Guarantee, name string, stated, limit float64) error {
	if stated <= limit*(1+theory.BudgetSlack) {
		return nil
	}
	return fmt.Errorf("the guarantee has %s %v, which contradicts its epsilon %v and delta %v (%s would be at most "+
		"%.6g): its author must state what was proved, or leave %s out",
		name, stated, g.GetEpsilon(), g.GetDelta(), name, limit, name)
}
