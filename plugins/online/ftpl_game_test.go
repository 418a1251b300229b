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

// gaussianPlan makes a plan of ftpl-gaussian with parameters changed by set. gaussianPlan makes a
// plan of ftpl-gaussian with parameters changed by set.
func gaussianPlan(p algo.Problem, rounds int, set func(p *ftplGaussianParams)) (*plan, error) {
	s := setting(ftplGaussian(nil), p, rounds)
	set(&s.Params)
	return planGaussian(new(sites), &s)
}

// iidPlan makes a plan of ftpl-iid with parameters changed by set. iidPlan makes a plan of ftpl-iid
// with parameters changed by set.
func iidPlan(p algo.Problem, rounds int, set func(p *ftplIIDParams)) (*plan, error) {
	s := setting(ftplIID(nil), p, rounds)
	set(&s.Params)
	return planIID(new(sites), &s)
}

// Against an adversary that knows the noise so far, noise that is drawn once loses every round.
// Fresh noise does not, because it cannot be known beforehand.
func TestSharedNoise(t *testing.T) {
	const experts, rounds = 64, 4000
	for _, once := range []bool{true, false} {
		p, err := iidPlan(algo.Problem{Class: "points", Domain: experts}, rounds, func(p *ftplIIDParams) {
			p.Schedule, p.Eta = fixedSchedule, 5
			if once {
				p.Noise = onceNoise
			}
		})
		l, spy := start(t, p, err, 1), start(t, p, err, 1) // the spy knows the seed, and sees all rounds
		if !once {
			spy.rand = rand.New(rand.NewPCG(2, 2)) // the spy knows all but what is yet to be drawn
		}
		out, loss := make([]float64, 1), 0.0
		for range rounds {
			x := []float64{float64(spy.chooser.(*table).best)} // only this expert says +1
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

// Half of the fair coins are lost whatever is played: over all sequences of labels of two experts
// that never agree, the mean regret is T/2 less the mean loss of the better one, that is E|S_T|/2,
// for every schedule. No learner can do better in the worst case.
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

// Against 128 parities the self-confident schedule has the regret measured before, and its bound is
// below that of the same schedule with a failure probability of 1/(2t(t+1)) in round t, which needs
// no T.
func TestSelfConfident(t *testing.T) {
	testkit.Serial(t)
	const d, rounds = 7, 3000
	for _, c := range []struct{ factor, rate, regret, bound float64 }{
		{0.7, 0.05, 7.2, 531}, {2, 0.05, 13.6, 215}, {0.7, 0, 7.6, 152}, {2, 0, 16, 57}, {0.7, 0.5, 60, 1017},
		{2, 0.5, 62, 534},
	} {
		const games = 5
		mean, bound := 0.0, 0.0
		for i := range games {
			x, y := planted(d, rounds, c.rate, rand.New(rand.NewPCG(uint64(i), 1)))
			p, err := gaussianPlan(algo.Problem{Class: "parities", Dim: d}, rounds, func(p *ftplGaussianParams) {
				p.Separator, p.Schedule, p.Factor = "cube", confidentSchedule, c.factor
			})
			l := start(t, p, err, uint64(i))
			mean += (play(t, l, d, x, y) - hindsight(t, l)) / games
			proved, _, err := l.promises()
			if err != nil {
				t.Fatal(err)
			}
			bound += proved / games
		}
		t.Logf("factor %g, rate %g: regret %.1f (%g), bound %.1f (%g)", c.factor, c.rate, mean, c.regret, bound, c.bound)
		if math.Abs(mean-c.regret) > 4+c.regret/4 || bound > c.bound || bound < c.bound/3 {
			t.Errorf("factor %g, rate %g: regret %.1f, bound %.1f, measured before %g and %g", c.factor, c.rate, mean, bound,
				c.regret, c.bound)
		}
	}
}

// The experts err in turns: without noise the leader is always the next one to err, with noise it
// rarely is.
func TestRoundRobin(t *testing.T) {
	testkit.Serial(t)
	const rounds = 10000
	for _, experts := range []int{16, 128} {
		x, y := make([]float64, rounds), make([]float64, rounds)
		for i := range x {
			x[i], y[i] = float64(i%experts), -1
		}
		problem := algo.Problem{Class: "points", Domain: uint64(experts)}
		p, err := gaussianPlan(problem, rounds, func(p *ftplGaussianParams) { p.Schedule = fixedSchedule })
		l := start(t, p, err, 1)
		if regret := play(t, l, 1, x, y) - hindsight(t, l); regret != float64(rounds-rounds/experts) {
			t.Errorf("%d experts: the leader's regret is %v", experts, regret)
		}
		p, err = gaussianPlan(problem, rounds, func(*ftplGaussianParams) {})
		l = start(t, p, err, 1)
		regret, deviation := play(t, l, 1, x, y)-hindsight(t, l), math.Sqrt(rounds/float64(experts))
		if regret < -3*deviation || regret > 20+3*deviation {
			t.Errorf("%d experts: regret %v", experts, regret)
		}
	}
}
