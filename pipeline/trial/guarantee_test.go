package trial

import (
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// TestCheckGuarantee checks guarantees at the budget (1, 1e-6). Every known conversion of rho and
// mu passes; values that no conversion can yield do not.
func TestCheckGuarantee(t *testing.T) {
	mu := privacy.GaussianMu(1, 1e-6)
	of := func(rho, mu float64) *pluginv1.Guarantee {
		return &pluginv1.Guarantee{Epsilon: 1, Delta: 1e-6, Rho: rho, Mu: mu, Source: "x"}
	}
	pure := func(rho, mu float64) *pluginv1.Guarantee {
		return &pluginv1.Guarantee{Pure: true, Epsilon: 1, Rho: rho, Mu: mu, Source: "x"}
	}
	for _, c := range []struct {
		g    *pluginv1.Guarantee
		want string // part of the error; "": none
	}{
		{nil, ""},
		{of(0, 0), ""},
		{of(privacy.RhoFromEpsilon(1, 1e-6), 0), ""}, // Lemma 15
		{of(mu*mu/2, mu), ""},
		{of(0, mu*(1+1e-12)), ""},
		{of(0, mu*1.001), "which contradicts its epsilon 1 and delta 1e-06 (mu would be at most 0.2367"},
		{of(mu*mu/2*1.001, 0), "has rho 0.02"},
		{&pluginv1.Guarantee{Epsilon: 1, Mu: 0.1, Source: "x"}, "delta 0 (mu would be at most 0)"}, // never pure
		{pure(1./8, 0), ""}, // bounded range
		{pure(1./2, 1.2), ""},
		{pure(0.51, 0), "has rho 0.51"},
		{pure(0, 1.3), "has mu 1.3"},
		{&pluginv1.Guarantee{Pure: true, Epsilon: 2, Source: "x"}, "above the budget"},
	} {
		err := CheckGuarantee(c.g, &pluginv1.Setting{Epsilon: 1, Delta: 1e-6})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.g, err, c.want)
		}
	}
}
