package perturbed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// places returns small classes of all names, with all of their separators.
func places() (list []finite.Place) {
	for _, spec := range []concept.Spec{
		{Name: "thresholds", Domain: 6}, {Name: "thresholds", Domain: 6, NoConstant: true},
		{Name: "points", Domain: 5}, {Name: "intervals", Domain: 4}, {Name: "stumps", Domain: 3, Dim: 2},
		{Name: "rectangles", Domain: 3, Dim: 2}, {Name: "parities", Dim: 3}, {Name: "monotone-conjunctions", Dim: 3},
		{Name: "conjunctions", Dim: 2},
		{Name: "matrix", Domain: 5, Matrix: "00101" + "10110" + "01111" + "11000" + "00000" + "11010"},
	} {
		for _, kind := range []string{"standard", "cube", "greedy"} {
			list = append(list, finite.Place{Spec: spec, Kind: kind})
		}
	}
	return append(list, finite.Place{Spec: concept.Spec{Name: "parities", Dim: 3}, Kind: "code", Seed: 7})
}

// randomSample returns n examples of a small domain with random labels.
func randomSample(s concept.Spec, n int, r *rand.Rand) *algo.Data {
	z, d := finitetest.Domain(s), max(1, s.Dim)
	x, y := make([]float64, 0, n*d), make([]float64, n)
	for i := range y {
		k := r.IntN(len(z) / d)
		x = append(x, z[k*d:(k+1)*d]...)
		y[i] = float64(2*r.IntN(2) - 1)
	}
	return algo.NewData(x, d, y)
}

// The answer is the first of all hypotheses with the least errors plus noise.
func TestSearchIsArgmin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range places() {
		s := makeSite(t, p)
		l := &learner{site: s}
		table := finitetest.Labels(s.class, s.separator.Points)
		for trial := range 30 {
			sample := randomSample(p.Spec, trial%7, r)
			scale := math.Exp(float64(trial%5) - 2)
			var c []float64
			h, err := l.search(sample, func() float64 {
				c = append(c, scale*r.NormFloat64())
				return c[len(c)-1]
			})
			if err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			errs := finitetest.Labels(s.class, sample.Xs())
			best, least := 0, math.Inf(1)
			for f, row := range table {
				value := 0.0
				for j, label := range row {
					value += c[j] * label
				}
				for i, label := range errs[f] {
					if label != sample.Y(i) {
						value++
					}
				}
				if value < least-1e-9 {
					best, least = f, value
				}
			}
			domain := finitetest.Domain(p.Spec)
			got := make([]float64, len(domain)/s.class.Dim())
			h.Labels(domain, got)
			if want := finitetest.Labels(s.class, domain)[best]; !slices.Equal(got, want) {
				t.Errorf("%+v, trial %d: answer %v, want %v", p, trial, got, want)
			}
		}
	}
}

// The answers have the exact distributions: the scales of the noise are those that the proofs
// assume, and the parities' one draw for each number of errors is equivalent to a draw at every
// point of the cube.
func TestAnswersFollowTheirDistributions(t *testing.T) {
	const trials = 20000
	r := rand.New(rand.NewPCG(5, 6))
	known := func() map[string][]float64 { return map[string][]float64{} }
	for _, c := range []struct {
		name         string
		place        finite.Place
		explicit     bool // draws at every point although the noise is independent
		draw         func(*learner, *algo.Data) (concept.Hypothesis, error)
		distribution func(errs []int, s *site) []float64
	}{
		{"parities", paritiesPlace(3, "cube"), false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.gaussian(d, 3, r) },
			func(errs []int, _ *site) []float64 { return normal.independentDistribution(errs, 3, known()) }},
		{"parities, explicit", paritiesPlace(3, "cube"), true,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.gaussian(d, 3, r) },
			func(errs []int, _ *site) []float64 { return normal.independentDistribution(errs, 3, known()) }},
		{"points", orderedPlace("points", 4), false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.gaussian(d, 2, r) },
			func(errs []int, _ *site) []float64 { return normal.independentDistribution(errs, 2, known()) }}, // 2 eta/sqrt(4)
		{"thresholds", orderedPlace("thresholds", 3), false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.gaussian(d, 2, r) },
			func(errs []int, _ *site) []float64 { return normal.thresholdDistribution(errs, 4/math.Sqrt(3)) }},
		{"thresholds, Laplace", orderedPlace("thresholds", 3), false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.laplace(d, 2, r) },
			func(errs []int, _ *site) []float64 { return laplaceDistribution.thresholdDistribution(errs, 2) }},
		{"matrix, Laplace", matrixPlace("greedy", "00101", "10110", "01111", "11000"), false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.laplace(d, 2, r) },
			func(errs []int, s *site) []float64 { return laplaceDistribution.planarDistribution(errs, pairs(s), 1) }},
	} {
		s := makeSite(t, c.place)
		if c.explicit {
			z := *s.separator
			z.Orthonormal = false
			s.separator = &z
		}
		l := &learner{site: s}
		sample := randomSample(c.place.Spec, 6, r)
		domain := finitetest.Domain(c.place.Spec)
		number := map[string]int{}
		for f, row := range finitetest.Labels(s.class, domain) {
			number[fmt.Sprint(row)] = f
		}
		errs := make([]int, len(number))
		for f, row := range finitetest.Labels(s.class, sample.Xs()) {
			for i, label := range row {
				if label != sample.Y(i) {
					errs[f]++
				}
			}
		}
		count, out := make([]float64, len(number)), make([]float64, len(domain)/s.class.Dim())
		for range trials {
			h, err := c.draw(l, sample)
			if err != nil {
				t.Fatal(err)
			}
			h.Labels(domain, out)
			count[number[fmt.Sprint(out)]]++
		}
		chi2, freedom := 0.0, float64(len(count)-1)
		for f, p := range c.distribution(errs, s) {
			chi2 += (count[f] - trials*p) * (count[f] - trials*p) / (trials * p)
		}
		if chi2 > freedom+5*math.Sqrt(2*freedom) {
			t.Errorf("%s, errors %v: %v, distribution %v (chi-square %v)", c.name, errs, count, c.distribution(errs, s), chi2)
		}
	}
}
