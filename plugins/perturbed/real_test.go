package perturbed

import (
	"math"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// The exact distribution of the answer satisfies the budget at the least eta, for two hypotheses on
// one point with several confidences, whose lifted vectors are in a plane. With too little noise it
// does not.
func TestRealPrivacy(t *testing.T) {
	s := makeSite(t, matrixPlace("greedy", "0", "1"))
	for _, real := range []finite.Real{{Loss: finite.SquaredLoss, Levels: 2}, {Loss: finite.AbsoluteLoss, Levels: 3}} {
		var lifted [][2]float64
		for k := 1; k <= real.Levels; k++ {
			c := float64(k) / float64(real.Levels)
			for _, label := range []float64{-1, 1} {
				lifted = append(lifted, [2]float64{c * label, math.Sqrt(1 - c*c)})
			}
		}
		unit := float64(4 * real.Levels * real.Levels) // losses are integer multiples of 1/unit
		distribution := func(plus, minus int, eta float64) []float64 {
			sums := make([]int, len(lifted))
			for i, row := range lifted {
				loss := float64(plus)*real.Of(row[0], 1) + float64(minus)*real.Of(row[0], -1)
				sums[i] = int(math.Round(unit * loss))
			}
			return normal.planarDistribution(sums, lifted, unit*eta)
		}
		worst := func(eta, eps float64) (delta float64) {
			const n = 5
			for plus := range n {
				p, q := distribution(plus, n-plus, eta), distribution(plus+1, n-plus-1, eta)
				delta = max(delta, divergence(p, q, eps), divergence(q, p, eps))
			}
			return delta
		}
		for _, budget := range []struct{ eps, delta float64 }{{0.5, 1e-2}, {1, 1e-4}} {
			eta := realNoise(s, real, budget.eps, budget.delta)
			if delta := worst(eta, budget.eps); delta > budget.delta {
				t.Errorf("%+v: delta %v at %+v", real, delta, budget)
			}
			if delta := worst(eta/100, budget.eps); delta <= budget.delta {
				t.Errorf("%+v: delta %v at %+v with a hundredth of the noise", real, delta, budget)
			}
		}
	}
}

func TestRealRefusals(t *testing.T) {
	type g = algo.Setting[realParams]
	refusals(t, realValued(), append(common[realParams](), []refusal[realParams]{
		{func(s *g) { s.Params.Levels = 1 }, false, "use levels 2 or more"},
		{func(s *g) { s.Delta = 0 }, false, "never pure"},
		{func(s *g) { s.Params.Eta = 1 }, true, "raise it, or omit it"},
		{func(s *g) { s.Problem.Dim, s.Params.Separator = 21, "cube" }, false, "too many to list"},
	}...))
}

// The sample size applies only to the error of means under absolute loss.
func TestRealBounds(t *testing.T) {
	a := realValued()
	s := setting(a, parities10)
	for _, c := range []struct {
		loss  string
		means bool
		fails string
	}{
		{finite.AbsoluteLoss, true, ""}, {finite.AbsoluteLoss, false, "goal.answers: mean"},
		{finite.SquaredLoss, true, "loss squared is minimized"},
	} {
		s.Params.Loss, s.Means = c.loss, c.means
		list, err := finitetest.Bound(a, &s)
		b := finitetest.BoundNamed(t, list, err, "explicit")
		if (b.Fails == "") != (c.fails == "") || !strings.Contains(b.Fails, c.fails) || !(b.Value > 1) {
			t.Errorf("%+v: %+v", c, b)
		}
	}
}
