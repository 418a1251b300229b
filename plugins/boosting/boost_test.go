package boosting

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// gridSample returns n points of the grid {0, ..., side-1}^d with the labels of a function.
func gridSample(r *rand.Rand, n, d, side int, label func(x []float64) float64) *algo.Data {
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		for j := range d {
			x[i*d+j] = float64(r.IntN(side))
		}
		y[i] = label(x[i*d : (i+1)*d])
	}
	return algo.NewData(x, d, y)
}

// boostSetting returns a setting of boosting/boost without a margin.
func boostSetting(p BoostParams) algo.Setting[BoostParams] {
	s := unbudgeted(p)
	s.Problem = algo.Problem{Class: "stumps", Domain: 8, Dim: 3, Noise: "none", Realizable: true}
	return s
}

// Each round's hypothesis is the best stump under the weights of Algorithm 4, computed only from
// the list of hypotheses, and its advantage is that of Definition 11.
func TestBoostByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for range 30 {
		const d, rounds = 2, 8
		n := 3 + r.IntN(20)
		sample := gridSample(r, n, d, 4, func([]float64) float64 { return numeric.Coin(r) })
		p := Params{Rounds: rounds, Lambda: 0.1 + 3*r.Float64(), Kappa: 0.1 + 0.8*r.Float64(), Weak: Raw, Loss: Linear}
		b := newBooster(p, sample)
		found, advantages, err := b.assemble(t.Context(), newStumps(sample).best, math.Inf(-1))
		if err != nil {
			t.Fatal(err)
		}
		losses := make([]float64, n) // sums over all rounds so far
		for k, h := range found {
			weights := make([]float64, n)
			for i := range weights {
				weights[i] = -p.Lambda * losses[i]
			}
			top, logtop, _ := sortedScale(slices.Clone(weights), b.mass)
			advantage, answers := 0.0, make([]float64, n)
			h.answer(answers, sample.Xs(), d)
			for i := range weights {
				mu := min(1, math.Exp(weights[i]-top+logtop))
				weights[i] = mu / b.mass * sample.Y(i)
				advantage += (0.5 - math.Abs(answers[i]-sample.Y(i))/2) * mu / b.mass
				losses[i] += 1 - math.Abs(answers[i]-sample.Y(i))/2
			}
			near(t, "advantage", advantages[k], advantage, 1e-9)
			best := make([]float64, n)
			newStumps(sample).best(weights).answer(best, sample.Xs(), d)
			near(t, "best advantage", advantage, numeric.Dot(best, weights)/2, 1e-9)
		}
	}
}

// The slickness is the largest change over all replacements, and at most 1, by Lemma 25.
func TestSlicknessByBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 4))
	largest := 0.0
	for range 300 {
		n := 1 + r.IntN(7)
		sample := gridSample(r, n, 2, 4, func([]float64) float64 { return numeric.Coin(r) })
		p := Params{Rounds: 1 + r.IntN(6), Lambda: 4 * r.Float64(), Kappa: 0.05 + 0.9*r.Float64(), Weak: Raw, Loss: Linear}
		b := newBooster(p, sample)
		if _, _, err := b.assemble(t.Context(), newStumps(sample).best, math.Inf(-1)); err != nil {
			t.Fatal(err)
		}
		weights := func(s []float64) []float64 {
			m := measure{u: make([]float64, n)}
			return m.mu(m.project(s, b.mass))
		}
		before, most := weights(b.s), 0.0
		for i := range n {
			for j := range n {
				for _, label := range []float64{-1, 1} {
					s := slices.Clone(b.s)
					s[i] = label * b.s[j]
					distance := 0.0
					for k, w := range weights(s) {
						distance += math.Abs(w-before[k]) / 2
					}
					most = max(most, distance)
				}
			}
		}
		near(t, "slickness", b.slickness(), most, 1e-9)
		if largest = max(largest, most); most > 1+1e-9 {
			t.Errorf("slickness %v: Lemma 25 says at most 1", most)
		}
	}
	if largest < 0.9 {
		t.Errorf("no slickness is above %v, and 1 can nearly be reached", largest)
	}
}

// A weak learner below its required advantage ends the trial in the first such round, and so does
// one without any advantage.
func TestNoAdvantageEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 5))
	parity := gridSample(r, 300, 3, 2, func(x []float64) float64 { return (2*x[0] - 1) * (2*x[1] - 1) })
	square := algo.NewData([]float64{0, 0, 0, 1, 1, 0, 1, 1}, 2, []float64{1, -1, -1, 1})
	for _, c := range []struct {
		weak      string
		advantage float64
		sample    *algo.Data
		want      string
	}{
		{"stump", 0.1, parity, "and at least 0.1 is required: use another weak learner, lower advantage, or raise kappa"},
		{"constant", 0.1, parity, "and at least 0.1 is required"},
		{"stump", 0, square, "end boosting in round 1: the weak learner has an advantage of 0 under the weights of " +
			"this round"},
		{"constant", 0, square, "end boosting in round 1: "},
		{"stump", 0, parity, ""}, // by chance some cut has an advantage
	} {
		s := boostSetting(BoostParams{Weak: c.weak, Advantage: c.advantage})
		switch _, err := learnBoost(t.Context(), trialOf(boost(), s, 1), c.sample); {
		case c.want == "":
			if err != nil {
				t.Errorf("%+v: %v", s.Params, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%+v: %v, want %q", s.Params, err, c.want)
		}
	}
}

func TestBoostSettings(t *testing.T) {
	halfspaces := algo.Problem{Class: "halfspace", Dim: 10, Margin: 0.5, Noise: "none", Realizable: true}
	for _, c := range []struct {
		name   string
		change func(s *algo.Setting[BoostParams])
		want   BoostParams // resolved parameters if there is no error
		err    string
	}{
		{"stumps", func(*algo.Setting[BoostParams]) {},
			BoostParams{Weak: "stump", Rounds: 600, Lambda: 0.2, Kappa: 0.05}, ""},
		{"unit", func(s *algo.Setting[BoostParams]) { s.Problem, s.Params.Weak = halfspaces, Unit },
			BoostParams{Weak: Unit, Rounds: 96, Lambda: 0.5, Kappa: 0.05}, ""},
		{"raw", func(s *algo.Setting[BoostParams]) { s.Problem, s.Params.Weak, s.Params.Rounds = halfspaces, Raw, 7 },
			BoostParams{Weak: Raw, Rounds: 7, Lambda: 0.25, Kappa: 0.05}, ""},
		{"unit without a ball", func(s *algo.Setting[BoostParams]) { s.Params.Weak = Unit }, BoostParams{},
			`weak learner unit of boosting/boost learns halfspaces, not class "stumps"`},
		{"noisy stumps", func(s *algo.Setting[BoostParams]) { s.Params.Sigma = 1 }, BoostParams{},
			"sigma is noise on the vector of weak learner unit or raw, and stump has none: omit sigma"},
		{"too many rounds", func(s *algo.Setting[BoostParams]) { s.Params.Advantage = 1e-4 }, BoostParams{},
			"an advantage of 0.0001 requires 5.991e+08 rounds, and 1000000 are allowed: set rounds, or raise advantage"},
		{"advantage", func(s *algo.Setting[BoostParams]) { s.Params.Advantage = 0.6 }, BoostParams{},
			"advantage must be between 1e-6 and 0.5, not 0.6"},
		{"kappa", func(s *algo.Setting[BoostParams]) { s.Params.Kappa = 1 }, BoostParams{},
			"kappa must be at least 1e-12 and below 1, not 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := boostSetting(boost().Defaults)
			c.change(&s)
			for range 2 { // resolving resolved parameters changes nothing
				err := resolveBoost(&s)
				if c.err != "" {
					if err == nil || !strings.Contains(err.Error(), c.err) {
						t.Errorf("error %v, want %q", err, c.err)
					}
				} else if err != nil || s.Params != c.want {
					t.Errorf("%+v, %v, want %+v", s.Params, err, c.want)
				}
			}
		})
	}
}
