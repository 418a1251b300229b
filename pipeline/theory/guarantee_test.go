package theory

import (
	"math"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// TestCheckGuarantee checks guarantees at the budget (1, 1e-6).
func TestCheckGuarantee(t *testing.T) {
	const rounded = 1 + 1e-12
	for _, c := range []struct {
		g    *pluginv1.Guarantee
		want string // required part of the error; "": no error
	}{
		{&pluginv1.Guarantee{Pure: true, Epsilon: 1, Source: "x"}, ""},
		{&pluginv1.Guarantee{Epsilon: rounded, Delta: 1e-6 * rounded, Rho: 0.1, Mu: 3, Source: "x"}, ""},
		{&pluginv1.Guarantee{Source: "x"}, ""},
		{&pluginv1.Guarantee{Unproved: true, Epsilon: 1, Delta: 1e-6, Source: "x"}, ""},
		{&pluginv1.Guarantee{Epsilon: math.NaN(), Source: "x"}, "has epsilon NaN"},
		{&pluginv1.Guarantee{Epsilon: -1, Source: "x"}, "has epsilon -1"},
		{&pluginv1.Guarantee{Epsilon: math.Inf(1), Source: "x"}, "has epsilon +Inf"},
		{&pluginv1.Guarantee{Epsilon: 1, Delta: math.NaN(), Source: "x"}, "has delta NaN"},
		{&pluginv1.Guarantee{Epsilon: 1, Delta: -1e-9, Source: "x"}, "has delta -1e-09"},
		{&pluginv1.Guarantee{Epsilon: 1, Rho: math.Inf(1), Source: "x"}, "has rho +Inf"},
		{&pluginv1.Guarantee{Epsilon: 1, Mu: -0.1, Source: "x"}, "has mu -0.1"},
		{&pluginv1.Guarantee{Epsilon: 1, Delta: 1, Source: "x"}, "has delta 1, which promises nothing"},
		{&pluginv1.Guarantee{Pure: true, Epsilon: 1, Delta: 1e-6, Source: "x"}, "is called pure and has delta 1e-06"},
		{&pluginv1.Guarantee{Pure: true, Epsilon: 2, Source: "x"}, "has epsilon 2, above the budget 1"},
		{&pluginv1.Guarantee{Epsilon: 1, Delta: 2e-6, Source: "x"}, "has delta 2e-06, above the budget 1e-06"},
		{&pluginv1.Guarantee{Unproved: true, Epsilon: 2, Source: "x"}, "above the budget"},
		{&pluginv1.Guarantee{Pure: true, Epsilon: 1}, "has no source"},
	} {
		err := CheckGuarantee(c.g, 1, 1e-6)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.g, err, c.want)
		}
	}
}
