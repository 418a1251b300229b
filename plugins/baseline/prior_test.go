package baseline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
)

// The answer is the best one without data, for every sample.
func TestPriorIgnoresItsSample(t *testing.T) {
	for _, c := range []struct {
		p    algo.Problem
		want []float64 // labels of the domain
	}{
		{algo.Problem{Class: "thresholds", Domain: 4, Dim: 1, Target: "random"}, []float64{-1, -1, 1, 1}},
		{algo.Problem{Class: "points", Domain: 4, Dim: 1, Target: "fixed"}, []float64{-1, -1, -1, -1}},
		{algo.Problem{Class: "matrix", Domain: 4, Dim: 1, Matrix: "0001" + "1110" + "0000", Target: "uniform"},
			[]float64{-1, -1, -1, 1}}, // the first row, which is close to the last
	} {
		s := algo.Setting[struct{}]{Problem: c.p, Alpha: 0.25}
		for _, label := range []float64{-1, 1} {
			sample := algo.NewData([]float64{0, 1, 2, 3}, 1, slices.Repeat([]float64{label}, 4))
			if got := run(t, Prior(), s, 1, sample, domain(4)); !slices.Equal(got, c.want) {
				t.Errorf("%+v: labels %v, want %v", c.p, got, c.want)
			}
		}
	}
}

// The reference error counts: at reference + alpha = 0.5 the constant is near to every conjunction.
func TestPriorCountsFromTheReference(t *testing.T) {
	p := algo.Problem{Class: "monotone-conjunctions", Dim: 2, Target: "random", Literals: 1}
	for _, c := range []struct{ reference, at00 float64 }{{0, -1}, {0.25, 1}} {
		s := algo.Setting[struct{}]{Problem: p, Alpha: 0.25, Reference: c.reference}
		if got := run(t, Prior(), s, 1, algo.NewData(nil, 2, nil), []float64{0, 0}); got[0] != c.at00 {
			t.Errorf("reference %v: label %v, want %v", c.reference, got[0], c.at00)
		}
	}
}

func TestPriorRefuses(t *testing.T) {
	var rows strings.Builder
	for i := range 1 << 13 {
		fmt.Fprintf(&rows, "%016b", i)
	}
	for want, p := range map[string]algo.Problem{
		"no distribution of targets": {Class: "thresholds", Domain: 4, Dim: 1, RealData: true},
		"too large to compare all of them; use a small": {
			Class: "matrix", Domain: 16, Dim: 1, Target: "uniform", Matrix: rows.String(),
		},
	} {
		err := Prior().Check(&algo.Setting[struct{}]{Problem: p, Alpha: 0.1})
		if !algo.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", p.Class, err, want)
		}
	}
}
