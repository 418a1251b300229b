package perturbed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// places are all classes with all separators that they have, small.
func places() (list []place) {
	for _, spec := range []concept.Spec{
		{Name: "thresholds", Domain: 6}, {Name: "thresholds", Domain: 6, NoConstant: true}, {Name: "points", Domain: 5}, {Name: "intervals", Domain: 4},
		{Name: "stumps", Domain: 3, Dim: 2}, {Name: "rectangles", Domain: 3, Dim: 2}, {Name: "parities", Dim: 3}, {Name: "monotone-conjunctions", Dim: 3},
		{Name: "conjunctions", Dim: 2}, {Name: "matrix", Domain: 5, Matrix: "00101" + "10110" + "01111" + "11000" + "00000" + "11010"},
	} {
		for _, kind := range []string{"standard", "cube", "greedy"} {
			list = append(list, place{spec, kind, 0})
		}
	}
	return append(list, place{concept.Spec{Name: "parities", Dim: 3}, "code", 7})
}

// randomSample is n examples of a small domain with random labels.
func randomSample(s concept.Spec, n int, r *rand.Rand) *algo.Data {
	z, d := domainOf(s), max(1, s.Dim)
	x, y := make([]float64, 0, n*d), make([]float64, n)
	for i := range y {
		k := r.IntN(len(z) / d)
		x = append(x, z[k*d:(k+1)*d]...)
		y[i] = float64(2*r.IntN(2) - 1)
	}
	return algo.NewData(x, d, y)
}

// The answer is the first hypothesis with the least errors plus noise, of all.
func TestSearchIsArgmin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range places() {
		s := makeSite(t, p)
		l := &learner{site: s}
		table := labelTable(s.class, s.separator.Points)
		for trial := range 30 {
			sample := randomSample(p.spec, trial%7, r)
			scale := math.Exp(float64(trial%5) - 2)
			var c []float64
			h, err := l.search(sample, func() float64 {
				c = append(c, scale*r.NormFloat64())
				return c[len(c)-1]
			})
			if err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			errs := labelTable(s.class, sample.Xs())
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
			domain := domainOf(p.spec)
			got := make([]float64, len(domain)/s.class.Dim())
			h.Labels(domain, got)
			if want := labelTable(s.class, domain)[best]; !slices.Equal(got, want) {
				t.Errorf("%+v, trial %d: answer %v, want %v", p, trial, got, want)
			}
		}
	}
}

// The learners answer by the exact laws: the scales of their noise are what the proofs assume, and the parities' one draw for each number
// of errors is the same as a draw at every point of the cube.
func TestAnswersFollowTheirLaws(t *testing.T) {
	const trials = 20000
	r := rand.New(rand.NewPCG(5, 6))
	known := func() map[string][]float64 { return map[string][]float64{} }
	for _, c := range []struct {
		name     string
		place    place
		explicit bool // at every point, though the noise is independent
		draw     func(*learner, *algo.Data) (concept.Hypothesis, error)
		law      func(errs []int, s *site) []float64
	}{
		{"parities", place{spec: concept.Spec{Name: "parities", Dim: 3}, kind: "cube"}, false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.gaussian(d, 3, r) },
			func(errs []int, _ *site) []float64 { return normal.independentLaw(errs, 3, known()) }},
		{"parities, explicit", place{spec: concept.Spec{Name: "parities", Dim: 3}, kind: "cube"}, true,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.gaussian(d, 3, r) },
			func(errs []int, _ *site) []float64 { return normal.independentLaw(errs, 3, known()) }},
		{"points", place{spec: concept.Spec{Name: "points", Domain: 4}, kind: "standard"}, false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.gaussian(d, 2, r) },
			func(errs []int, _ *site) []float64 { return normal.independentLaw(errs, 2, known()) }}, // 2 eta/sqrt(4)
		{"thresholds", place{spec: concept.Spec{Name: "thresholds", Domain: 3}, kind: "standard"}, false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.gaussian(d, 2, r) },
			func(errs []int, _ *site) []float64 { return normal.thresholdLaw(errs, 4/math.Sqrt(3)) }},
		{"thresholds, Laplace", place{spec: concept.Spec{Name: "thresholds", Domain: 3}, kind: "standard"}, false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.laplace(d, 2, r) },
			func(errs []int, _ *site) []float64 { return laplaceLaw.thresholdLaw(errs, 2) }},
		{"matrix, Laplace", matrixPlace("greedy", "00101", "10110", "01111", "11000"), false,
			func(l *learner, d *algo.Data) (concept.Hypothesis, error) { return l.laplace(d, 2, r) },
			func(errs []int, s *site) []float64 { return laplaceLaw.planarLaw(errs, pairs(s), 1) }},
	} {
		s := makeSite(t, c.place)
		if c.explicit {
			z := *s.separator
			z.Orthonormal = false
			s.separator = &z
		}
		l := &learner{site: s}
		sample := randomSample(c.place.spec, 6, r)
		domain := domainOf(c.place.spec)
		number := map[string]int{}
		for f, row := range labelTable(s.class, domain) {
			number[fmt.Sprint(row)] = f
		}
		errs := make([]int, len(number))
		for f, row := range labelTable(s.class, sample.Xs()) {
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
		for f, p := range c.law(errs, s) {
			chi2 += (count[f] - trials*p) * (count[f] - trials*p) / (trials * p)
		}
		if chi2 > freedom+5*math.Sqrt(2*freedom) {
			t.Errorf("%s, errors %v: %v, law %v (chi-square %v)", c.name, errs, count, c.law(errs, s), chi2)
		}
	}
}

// A site is made once for each place, and the last few are kept.
func TestSites(t *testing.T) {
	var known sites
	at := func(x uint64) place { return place{concept.Spec{Name: "thresholds", Domain: x}, "standard", 0} }
	first, err := known.at(at(2))
	if err != nil {
		t.Fatal(err)
	}
	for x := uint64(3); x < 3+maxSites; x++ {
		if again, err := known.at(at(2)); err != nil || again != first {
			t.Errorf("the site of 2 points is made again before that of %d (%v)", x, err)
		}
		if _, err := known.at(at(x)); err != nil {
			t.Fatal(err)
		}
	}
	for x := uint64(20); x < 20+maxSites; x++ {
		if s, err := known.at(at(x)); err != nil || s.points != int(x) {
			t.Errorf("site of %d points: %+v, %v", x, s, err)
		}
	}
	if again, err := known.at(at(2)); err != nil || again == first {
		t.Errorf("an old site is kept (%v)", err)
	}
	if len(known.known) != maxSites {
		t.Errorf("%d sites are kept", len(known.known))
	}
	for d := 17; d <= 20; d++ { // d 2^d numbers each: the last two take less than the limit, and with the third more
		if _, err := known.at(place{concept.Spec{Name: "parities", Dim: d}, "cube", 0}); err != nil {
			t.Fatal(err)
		}
	}
	if len(known.known) != 2 || known.numbers() > maxNumbers {
		t.Errorf("%d sites are kept, of %d numbers", len(known.known), known.numbers())
	}
}
