package trial

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// NotCertified is the standing of a guarantee that is only aimed at.
const NotCertified = "not certified"

// PrivacyStanding returns whose word the cell's guarantee is: Proved, Declared or NotCertified, and
// "" where the algorithm is not private.
func (c *Cell) PrivacyStanding() string {
	switch {
	case c.Guarantee == nil:
		return ""
	case c.Guarantee.GetUncertified():
		return NotCertified
	case c.Plugin != "":
		return Declared
	}
	return Proved
}

// privacy returns the kind of privacy that the cell's budget is about.
func (c *Cell) privacy() string {
	switch {
	case c.Guarantee == nil:
		return ""
	case c.Guarantee.GetPure():
		return "pure"
	}
	return "approximate"
}

// CheckGuarantee returns an error if what a plugin says of privacy in a setting cannot stand beside
// results: for the reasons of [theory.CheckGuarantee], or because the rho or mu that it states
// contradicts its epsilon and delta. A nil guarantee is none, and passes.
func CheckGuarantee(g *pluginv1.Guarantee, s *pluginv1.Setting) error {
	if g == nil {
		return nil
	}
	if err := theory.CheckGuarantee(g, s.GetEpsilon(), s.GetDelta()); err != nil {
		return err
	}
	// Gaussian noise of rho = mu^2/2 is as concentrated as rho says, and the conversion of mu is exact,
	// so that no larger rho and no larger mu can have given epsilon and delta.
	mu := privacy.GaussianMu(g.GetEpsilon(), g.GetDelta())
	rho := mu * mu / 2
	if g.GetPure() { // which follows from neither of them, and gives both
		rho, mu = g.GetEpsilon()*g.GetEpsilon()/2, privacy.PureMu(g.GetEpsilon())
	}
	if err := checkForm(g, "rho", g.GetRho(), rho); err != nil {
		return err
	}
	return checkForm(g, "mu", g.GetMu(), mu)
}

func checkForm(g *pluginv1.Guarantee, name string, stated, most float64) error {
	if stated <= most*(1+theory.BudgetSlack) {
		return nil
	}
	return fmt.Errorf("the guarantee has %s %v, which contradicts its epsilon %v and delta %v (%s would be at most "+
		"%.6g): its author must state what was proved, or leave %s out",
		name, stated, g.GetEpsilon(), g.GetDelta(), name, most, name)
}
