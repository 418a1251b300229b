package boosting

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// stumpsOf lists the stumps of {0, ..., side-1}^d.
func stumpsOf(d, side int) (all []cut) {
	for _, positive := range []float64{1, -1} {
		all = append(all, cut{0, math.Inf(-1), positive})
		for j := range d {
			for at := 1; at < side; at++ {
				all = append(all, cut{j, float64(at), positive})
			}
		}
	}
	return all
}

// roundDistribution returns the logarithms of the probabilities of the stumps in the round after some
// others, by the definition of the exponential mechanism that spends c.
func roundDistribution(sample *algo.Data, p Params, earlier, all []cut, c float64) []float64 {
	b := newBooster(p, sample)
	for _, h := range earlier {
		b.adopt(h, b.signedWeights())
	}
	signed, answers, distribution, sum := b.signedWeights(), make([]float64, sample.Len()), make([]float64, len(all)), 0.0
	for i, h := range all {
		h.answer(answers, sample.Xs(), sample.Dim())
		distribution[i] = c * b.mass / 4 * numeric.Dot(answers, signed)
		sum += math.Exp(distribution[i])
	}
	for i := range distribution {
		distribution[i] -= math.Log(sum)
	}
	return distribution
}

// The cells contain every stump of the domain once, each with its weight in the exponential
// mechanism, and stumps are drawn by these weights.
func TestStumpMechanism(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for range 200 {
		n, d, side := 1+r.IntN(8), 1+r.IntN(3), 1+r.IntN(5)
		sample := gridSample(r, n, d, side, func([]float64) float64 { return numeric.Coin(r) })
		p := Params{Rounds: 2, Lambda: 1, Kappa: 0.1 + 0.8*r.Float64(), Weak: Raw, Loss: Linear}
		b, all := newBooster(p, sample), stumpsOf(d, side)
		first := all[r.IntN(len(all))]
		b.adopt(first, b.signedWeights())
		const c = 3
		want := roundDistribution(sample, p, []cut{first}, all, c)
		m := newStumpMechanism(sample, uint64(side), c*b.mass/4)
		m.weigh(b.signedWeights())
		got, total := map[cut]float64{}, 0.0
		for _, cell := range m.cells {
			total += math.Exp(cell.logWeight)
			for k := range max(cell.cuts, 1) {
				at := math.Inf(-1)
				if cell.cuts > 0 {
					at = float64(cell.first + k)
				}
				got[cut{cell.coordinate, at, cell.positive}] = cell.logWeight - math.Log(float64(max(cell.cuts, 1)))
			}
		}
		if len(got) != len(all) {
			t.Fatalf("%d stumps of %d numbers below %d, want %d: %v", len(got), d, side, len(all), got)
		}
		for i, h := range all {
			near(t, fmt.Sprint("log-probability of ", h), got[h]-math.Log(total), want[i], 1e-9)
		}
		if n == 8 {
			checkDraws(t, m, b.signedWeights(), all, want, r)
		}
	}
}

// checkDraws compares frequencies of 4,000 draws with a distribution, at six standard deviations.
func checkDraws(t *testing.T, m *stumpMechanism, signed []float64, all []cut, distribution []float64, r *rand.Rand) {
	t.Helper()
	const draws = 4000
	counts := map[hypothesis]float64{}
	for range draws {
		counts[m.draw(signed, r)]++
	}
	for i, h := range all {
		p := math.Exp(distribution[i])
		if off := math.Abs(counts[h] - draws*p); off > 6*math.Sqrt(draws*p*(1-p))+1 {
			t.Errorf("%v was drawn %v times, expected %v", h, counts[h], draws*p)
		}
	}
}

// Over all samples of three points of {0, 1, 2} and all their neighbors, the exact distribution of
// two rounds' stumps changes by a factor of at most e^(2c), and that of each round by factors that
// differ by at most e^c, which is attained if one example can have all the weight.
func TestPrivateStumpsMaxDivergence(t *testing.T) {
	const n, side, c = 3, 3, 0.5
	all := stumpsOf(1, side)
	for _, p := range []Params{
		{Rounds: 2, Lambda: 1, Kappa: 0.4, Weak: Raw, Loss: Linear},
		{Rounds: 2, Lambda: 30, Kappa: 1. / 3, Weak: Raw, Loss: Linear},
		{Rounds: 2, Lambda: 5, Kappa: 0.8, Weak: Raw, Loss: Linear},
	} {
		type distributions struct {
			first  []float64
			second [][]float64
		}
		of := map[[n]int]distributions{}
		examples := func(s [n]int) *algo.Data {
			var x, y []float64
			for _, e := range s {
				x, y = append(x, float64(e/2)), append(y, float64(2*(e%2)-1))
			}
			return algo.NewData(x, 1, y)
		}
		var s [n]int
		for s[0] = range 2 * side {
			for s[1] = range 2 * side {
				for s[2] = range 2 * side {
					l := distributions{first: roundDistribution(examples(s), p, nil, all, c)}
					for _, h := range all {
						l.second = append(l.second, roundDistribution(examples(s), p, []cut{h}, all, c))
					}
					of[s] = l
				}
			}
		}
		var round, both float64
		for s, l := range of {
			for i := range n {
				neighbour := s
				for neighbour[i] = range 2 * side {
					k := of[neighbour]
					round = max(round, spreadOf(l.first, k.first))
					for h := range all {
						round = max(round, spreadOf(l.second[h], k.second[h]))
						for g := range all {
							both = max(both, l.first[h]-k.first[h]+l.second[h][g]-k.second[h][g])
						}
					}
				}
			}
		}
		if round > c*(1+1e-9) || round < c/2 || p.Lambda == 30 && round < 0.99*c {
			t.Errorf("%+v: the log-probabilities of a round move by up to %v apart, want at most %v", p, round, c)
		}
		if both > 2*c*(1+1e-9) || both < c/2 {
			t.Errorf("%+v: max-divergence %v of two rounds, want at most %v", p, both, 2*c)
		}
	}
}

// spreadOf returns the largest minus the least difference of two lists.
func spreadOf(a, b []float64) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for i := range a {
		least, most = min(least, a[i]-b[i]), max(most, a[i]-b[i])
	}
	return most - least
}

// The rounds together spend the whole budget: epsilon if it is pure, or the rho that it is worth.
func TestPrivateStumpsSpendTheBudget(t *testing.T) {
	for _, c := range []struct {
		rounds         int
		epsilon, delta float64
		pure           bool
	}{{20, 1, 0, true}, {20, 1, 1e-6, false}, {1, 1, 1e-6, true}, {1000, 0.1, 1e-9, false}, {2, 20, 1e-6, true}} {
		s := boostSetting(BoostParams{})
		p := algo.Setting[PrivateParams]{Params: PrivateParams{Rounds: c.rounds}, Problem: s.Problem, Alpha: s.Alpha,
			Epsilon: c.epsilon, Delta: c.delta}
		a := privateStumps()
		g, err := finitetest.Guarantee(a, &p)
		if err != nil {
			t.Fatal(err)
		}
		if g.Pure != c.pure || g.Epsilon != c.epsilon || g.Pure != (g.Delta == 0) {
			t.Errorf("%+v: %+v", c, g)
		}
		each, _ := roundEpsilon(c.rounds, c.epsilon, c.delta)
		if spent := float64(c.rounds) * each; c.pure {
			near(t, "epsilon", spent, c.epsilon, 1e-12)
		} else {
			near(t, "epsilon of rho", privacy.EpsilonFromRho(g.Rho, c.delta), c.epsilon, 1e-9)
		}
		near(t, "rho", g.Rho, float64(c.rounds)*each*each/8, 1e-12)
	}
}

// A class, a budget or a sample for which the mechanism is not private is an error.
func TestPrivateStumpsRefuse(t *testing.T) {
	for want, change := range map[string]func(s *algo.Setting[PrivateParams]){
		"use boosting/hs-stl": func(s *algo.Setting[PrivateParams]) {
			s.Problem = algo.Problem{Class: "halfspace", Dim: 2}
		},
		"needs privacy.epsilon":    func(s *algo.Setting[PrivateParams]) { s.Epsilon = 0 },
		"needs privacy.delta":      func(s *algo.Setting[PrivateParams]) { s.Delta = 1 },
		"kappa must be at least":   func(s *algo.Setting[PrivateParams]) { s.Params.Kappa = 1 },
		"rounds must be at most 1": func(s *algo.Setting[PrivateParams]) { s.Params.Rounds = 1e7 },
	} {
		s := algo.Setting[PrivateParams]{Problem: algo.Problem{Class: "stumps", Domain: 8, Dim: 3}, Alpha: 0.1, Epsilon: 1}
		change(&s)
		if err := resolvePrivate(&s); !algo.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, x := range []float64{-1, 8, 0.5, math.NaN()} {
		if err := checkDomain(algo.NewData([]float64{x}, 1, []float64{1}), 8); !algo.IsInvalid(err) {
			t.Errorf("the coordinate %v: %v", x, err)
		}
	}
}
