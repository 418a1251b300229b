package online

import (
	"context"
	"math"
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

// Against an adversary that has seen the noise so far, noise that is drawn once loses every round.
// Fresh noise does not, because it cannot be predicted.
func TestSharedNoise(t *testing.T) {
	const experts, rounds = 64, 4000
	for _, once := range []bool{true, false} {
		p, err := iidPlan(algo.Problem{Class: "points", Domain: experts}, rounds, func(p *ftplIIDParams) {
			p.Schedule, p.Eta = fixedSchedule, 5
			if once {
				p.Noise = onceNoise
			}
		})
		l, spy := start(t, p, err, 1), start(t, p, err, 1) // the spy has the seed and sees all rounds
		if !once {
			spy.rand = rand.New(rand.NewPCG(2, 2)) // the spy has everything except future draws
		}
		out, loss := make([]float64, 1), 0.0
		for range rounds {
			x := []float64{float64(spy.chooser.(*table).best)} // only this expert predicts +1
			point := algo.NewData(x, 1, nil)
			if err := l.Predict(context.Background(), point, out); err != nil {
				t.Fatal(err)
			}
			loss += (1 + out[0]) / 2
			for _, learner := range []*perturbedLeader{l, spy} {
				if err := learner.Observe(context.Background(), point, []float64{-1}); err != nil {
					t.Fatal(err)
				}
			}
		}
		best := hindsight(t, l)
		t.Logf("once %v: loss %v, best expert %v", once, loss, best)
		if once && loss != rounds || !once && (loss > 120 || loss < 30) || best > 63 || best < 40 {
			t.Errorf("once %v: loss %v, best expert %v", once, loss, best)
		}
	}
}

// Every learner loses half of the fair coins: over all sequences of labels of two experts that
// never agree, the mean regret is T/2 minus the mean loss of the better one, that is E|S_T|/2, for
// every schedule. No learner can do better in the worst case.
func TestFairCoins(t *testing.T) {
	testkit.Serial(t)
	const rounds = 8
	want := 0.0
	for labels := range 1 << rounds {
		ones := 0
		for i := range rounds {
			ones += labels >> i & 1
		}
		want += math.Abs(float64(2*ones-rounds)) / 2 / (1 << rounds)
	}
	x := make([]float64, rounds)
	for i := range x {
		x[i] = 1
	}
	for _, c := range []ftplGaussianParams{
		{Schedule: provedSchedule, LStar: -1}, {Schedule: paperSchedule, LStar: 3},
		{Schedule: fixedSchedule, LStar: -1, Eta: 0.5},
		{Schedule: fixedSchedule, LStar: -1}, {Schedule: doublingSchedule, LStar: -1},
		{Schedule: confidentSchedule, LStar: -1, Factor: 1},
	} {
		c.Noise, c.Separator, c.Exact = freshNoise, "cube", true
		mean := 0.0
		for labels := range 1 << rounds {
			y := make([]float64, rounds)
			for i := range y {
				y[i] = float64(2*(labels>>i&1) - 1)
			}
			p, err := gaussianPlan(algo.Problem{Class: "parities", Dim: 1}, rounds, func(p *ftplGaussianParams) { *p = c })
			l := start(t, p, err, 1)
			mean += (play(t, l, 1, x, y) - hindsight(t, l)) / (1 << rounds)
		}
		if !near(mean, want, 1e-12) {
			t.Errorf("schedule %s: mean regret %v, want %v", c.Schedule, mean, want)
		}
	}
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
