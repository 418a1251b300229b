package boosting

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// drvSetting is unbudgeted with n examples and a budget of (1, 1e-6).
func drvSetting(p DRVParams, n int) algo.Setting[DRVParams] {
	s := unbudgeted(p)
	s.Epsilon, s.Delta, s.N = 1, 1e-6, n
	return s
}

// TestBudgetOfDRV checks that T rounds of epsilon_c^2/8 + 2/(kappa n sigma)^2 are the rho of the
// budget, split by the share.
func TestBudgetOfDRV(t *testing.T) {
	for _, p := range []DRVParams{
		{Share: 0.1, Levels: 41},
		{Share: 0.5, Levels: 3, Rounds: 7, Kappa: 0.05, Edge: 0.3},
		{Share: 0.99, Levels: 9, Tau: 0.4},
	} {
		for _, n := range []int{1, 1000, 1e9} {
			t.Run(fmt.Sprintf("%+v %d", p, n), func(t *testing.T) {
				s := drvSetting(p, n)
				for range 2 {
					if err := resolveDRV(&s); err != nil {
						t.Fatal(err)
					}
				}
				g, err := drv().Guarantee(&s)
				if err != nil {
					t.Fatal(err)
				}
				capEpsilon, _ := s.Params.spend(1, 1e-6)
				rounds, scale := float64(s.Params.Rounds), s.Params.Kappa*float64(n)*s.Params.Sigma
				onCaps, onNoise := rounds*capEpsilon*capEpsilon/8, rounds*2/(scale*scale)
				near(t, "rho", (onCaps+onNoise)/g.Rho, 1, 1e-12)
				near(t, "share", onCaps/(onCaps+onNoise), p.Share, 1e-12)
				near(t, "epsilon", privacy.EpsilonFromRho(onCaps+onNoise, 1e-6), 1, 1e-12)
				if g.Pure || g.Epsilon != 1 || g.Delta != 1e-6 {
					t.Errorf("guarantee %+v", g)
				}
			})
		}
	}
	s := drvSetting(drv().Defaults, 0)
	if err := resolveDRV(&s); err != nil {
		t.Fatal(err)
	}
	want := DRVParams{Rounds: 200, Kappa: 0.3, Tau: 0.1, Edge: 0.025, Share: 0.1, Levels: 41}
	if !nearly(s.Params, want) {
		t.Errorf("defaults %+v, want %+v", s.Params, want)
	}
	s.Epsilon, s.Delta, s.N = 1e-300, 1e-300, 10
	if err := resolveDRV(&s); !algo.IsInfeasible(err) {
		t.Errorf("next to no budget: %v", err)
	}
}

// nearly reports whether a and b are equal except for rounding of kappa.
func nearly(a, b DRVParams) bool {
	ok := math.Abs(a.Kappa-b.Kappa) < 1e-15
	a.Kappa = b.Kappa
	return ok && a == b
}

// A capRun is a run of boosting/drv that has released the vectors of history.
type capRun struct {
	p       DRVParams
	epsilon float64
	history [][]float64
}

// drawCapRun draws a run in d dimensions.
func drawCapRun(r *rand.Rand, d int) capRun {
	p := DRVParams{Rounds: 9, Kappa: 0.05 + 0.9*r.Float64(), Edge: 0.45 * (1 - r.Float64()), Levels: 2 + r.IntN(40)}
	g := capRun{p: p, epsilon: 3 * r.Float64()}
	g.history = make([][]float64, r.IntN(9))
	for k := range g.history {
		g.history[k] = make([]float64, d)
		for j := range g.history[k] {
			g.history[k][j] = r.NormFloat64()
		}
	}
	return g
}

// play returns a booster that has released the history, and the caps with the distribution of the
// next choice.
func (g capRun) play(sample *algo.Data) (*booster, *caps) {
	b, c := newBooster(g.p.forBooster(), sample), newCaps(g.p, g.epsilon)
	for _, h := range g.history {
		copy(b.released, h)
		b.reweight()
	}
	c.weigh(b, len(g.history))
	c.weighLevels(b.Kappa, len(g.history))
	c.tilt(b.mass)
	return b, c
}

// distribution returns the distribution of the next choice by its definition: e^(epsilon score/2),
// normalized, for score = -|sum_i min(1, c w_i) - kappa n| at the levels c = kappa e^x, with x
// spread evenly over [-rate t, rate t], and w_i = e^(-rate sum_s y_i sign(h_s(x_i))). It also
// returns the sums.
func (g capRun) distribution(sample *algo.Data) (distribution, masses []float64) {
	rate, t := math.Log((0.5+g.p.Edge)/(0.5-g.p.Edge))/2, float64(len(g.history))
	distribution, masses = make([]float64, g.p.Levels), make([]float64, g.p.Levels)
	sum := 0.0
	for i := range distribution {
		c := g.p.Kappa * math.Exp(rate*t*(2*float64(i)/float64(g.p.Levels-1)-1))
		for e := range sample.Len() {
			agreements := 0.0
			for _, h := range g.history {
				if numeric.Dot(h, sample.X(e)) >= 0 {
					agreements += sample.Y(e)
				} else {
					agreements -= sample.Y(e)
				}
			}
			masses[i] += min(1, c*math.Exp(-rate*agreements))
		}
		distribution[i] = math.Exp(-g.epsilon / 2 * math.Abs(masses[i]-g.p.Kappa*float64(sample.Len())))
		sum += distribution[i]
	}
	return scaled(distribution, 1/sum), masses
}

// randomSample returns n examples of the unit ball with random labels.
func randomSample(r *rand.Rand, n, d int) *algo.Data {
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		ballPoint(r, x[i*d:(i+1)*d])
		y[i] = float64(2*r.IntN(2) - 1)
	}
	return algo.NewData(x, d, y)
}

// TestDistributionOfTheCap checks that the distribution of the cap equals that of the exponential
// mechanism, level by level, and that on neighbors its probabilities differ by factors of at most
// e^epsilon.
func TestDistributionOfTheCap(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := drawCapRun(r, 2)
		sample := randomSample(r, 1+r.IntN(8), 2)
		if seed%5 == 0 {
			sample.Xs()[0], sample.Xs()[1] = 0, 0 // a tie is the answer +1
		}
		_, c := g.play(sample)
		distribution, masses := g.distribution(sample)
		if !closeTo(c.distribution, distribution, 1e-12) || !closeTo(c.mass, masses, 1e-10) {
			t.Fatalf("seed %d: distribution %v, want %v", seed, c.distribution, distribution)
		}
		for i := range sample.Len() {
			x, y := slices.Clone(sample.Xs()), slices.Clone(sample.Ys())
			ballPoint(r, x[2*i:2*i+2])
			y[i] = -y[i]
			_, other := g.play(algo.NewData(x, 2, y))
			for level, p := range other.distribution {
				if gap := math.Abs(math.Log(p / distribution[level])); gap > g.epsilon+1e-9 {
					t.Fatalf("seed %d: probabilities differ by e^%v, epsilon is %v", seed, gap, g.epsilon)
				}
			}
		}
	}
}

// TestPick checks that pick maps to each index an interval of (0, 1) as long as its probability.
func TestPick(t *testing.T) {
	distribution := []float64{0.125, 0, 0.5, 0.25, 0.125}
	for i, c := range []struct {
		u    float64
		want int
	}{{0x1p-53, 0}, {0.1249, 0}, {0.1251, 2}, {0.6249, 2}, {0.6251, 3}, {0.8749, 3}, {0.8751, 4}, {1 - 0x1p-53, 4}} {
		if got := pick(distribution, c.u); got != c.want {
			t.Errorf("%d: pick at %v = %d, want %d", i, c.u, got, c.want)
		}
	}
	if got := pick([]float64{0.5, 0.5 - 1e-9}, 1-1e-10); got != 1 {
		t.Errorf("beyond the sum: %d, want the last", got)
	}
}

// TestSensitivityGivenTheCap checks that, given the level, the weak learner moves by at most
// 2/(kappa n), and that this maximum is attained.
func TestSensitivityGivenTheCap(t *testing.T) {
	worst := worstMovement(t, func(r *rand.Rand) weakLearner {
		g := drawCapRun(r, 1)
		part := r.Float64()
		return func(sample *algo.Data, history [][]float64) (z []float64, limit float64) {
			g.history = history
			b, c := g.play(sample)
			b.center(c.level[int(part*float64(len(c.level)))], b.mass)
			return b.weak, 2 / b.mass
		}
	})
	if worst > 1+1e-12 || worst < 0.999 {
		t.Errorf("largest movement is %v times 2/(kappa n), want 1", worst)
	}
}
