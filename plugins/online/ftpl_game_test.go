package online

import (
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
)

// start begins a game of a plan.
func start(t testing.TB, p *plan, err error, seed uint64) *perturbedLeader {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.start(rand.New(rand.NewPCG(seed, 7)), func(string, float64) {})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// hindsight returns the least loss of a hypothesis of the class.
func hindsight(t testing.TB, l *perturbedLeader) float64 {
	t.Helper()
	least, err := l.overall()
	if err != nil {
		t.Fatal(err)
	}
	return float64(least)
}

// gaussianPlan makes a plan of ftpl-gaussian with parameters changed by set.
func gaussianPlan(p algo.Problem, rounds int, set func(p *ftplGaussianParams)) (*plan, error) {
	s := setting(ftplGaussian(nil), p, rounds)
	set(&s.Params)
	return planGaussian(new(sites), &s)
}

// iidPlan makes a plan of ftpl-iid with parameters changed by set.
func iidPlan(p algo.Problem, rounds int, set func(p *ftplIIDParams)) (*plan, error) {
	s := setting(ftplIID(nil), p, rounds)
	set(&s.Params)
	return planIID(new(sites), &s)
}

// The bounds hold for the exact expected regret of each sequence, and are below the number of
// rounds.
func TestBoundsHold(t *testing.T) {
	testkit.Serial(t)
	const d, rounds = 4, 600
	for _, schedule := range []string{provedSchedule, confidentSchedule, doublingSchedule, fixedSchedule} {
		for _, rate := range []float64{0, 0.05, 0.5} {
			x, y := planted(d, rounds, rate, rand.New(rand.NewPCG(5, 6)))
			p, err := gaussianPlan(algo.Problem{Class: "parities", Dim: d}, rounds, func(p *ftplGaussianParams) {
				p.Separator, p.Schedule, p.Exact = "cube", schedule, true
				if schedule == fixedSchedule {
					p.Eta = 20
				}
			})
			l := start(t, p, err, 1)
			regret := play(t, l, d, x, y) - hindsight(t, l)
			proved, printed, err := l.promises()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, rate %g: regret %.1f, proved %.1f, printed %.1f, eta %.1f", schedule, rate, regret, proved, printed,
				l.drawn)
			if !(regret <= proved && proved < rounds && printed > proved) {
				t.Errorf("%s, rate %g: regret %v, proved %v, printed %v", schedule, rate, regret, proved, printed)
			}
		}
	}
}
