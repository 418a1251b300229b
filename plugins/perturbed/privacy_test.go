package perturbed

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/lp"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// matrixPlace returns the place of a class given by its rows.
func matrixPlace(kind string, rows ...string) finite.Place {
	spec := concept.Spec{Name: "matrix", Domain: uint64(len(rows[0])), Matrix: strings.Join(rows, "")}
	return finite.Place{Spec: spec, Kind: kind}
}

func paritiesPlace(dim int, kind string) finite.Place {
	return finite.Place{Spec: concept.Spec{Name: "parities", Dim: dim}, Kind: kind}
}

// orderedPlace returns the place of a class on an ordered domain with its standard separator.
func orderedPlace(class string, domain uint64) finite.Place {
	return finite.Place{Spec: concept.Spec{Name: class, Domain: domain}, Kind: "standard"}
}

func makeSite(t testing.TB, p finite.Place) *site {
	t.Helper()
	s, err := newSite(p)
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	return s
}

// columnsOf returns all examples over the domain of a site's class, as [finitetest.Examples] does.
func columnsOf(st *site) [][]int {
	return finitetest.Examples(finitetest.Labels(st.class, finitetest.Domain(st.Spec)))
}

// divergence returns the least delta at which two distributions satisfy epsilon.
func divergence(p, q []float64, eps float64) (delta float64) {
	for i := range p {
		delta += max(0, p[i]-math.Exp(eps)*q[i])
	}
	return delta
}

// worst returns the largest divergence over all pairs of samples that [finitetest.Neighbors]
// visits.
func worst(columns [][]int, size int, reach, eps float64, distribution func(errs []int) []float64) (delta float64) {
	finitetest.Neighbours(columns, size, reach, distribution, func(p, q []float64) {
		delta = max(delta, divergence(p, q, eps))
	})
	return delta
}

// An exactCase is a place for which the distribution of the answer at an eta can be computed.
type exactCase struct {
	name         string
	place        finite.Place
	size         int // maximum size of the samples
	distribution func(s *site, eta float64) func(errs []int) []float64
}

func exactCases() []exactCase {
	orthonormal := func(_ *site, eta float64) func([]int) []float64 {
		known := map[string][]float64{}
		return func(errs []int) []float64 { return normal.independentDistribution(errs, eta, known) }
	}
	// of the labels of a point function, all except one are the same for all; a constant does not
	// matter
	points := func(s *site, eta float64) func([]int) []float64 {
		return orthonormal(s, 2*eta/math.Sqrt(float64(s.points)))
	}
	thresholds := func(s *site, eta float64) func([]int) []float64 {
		return func(errs []int) []float64 {
			return normal.thresholdDistribution(errs, 2*eta/math.Sqrt(float64(s.points)))
		}
	}
	planar := func(s *site, eta float64) func([]int) []float64 {
		return func(errs []int) []float64 { return normal.planarDistribution(errs, pairs(s), eta/math.Sqrt2) }
	}
	var list []exactCase
	for d := 1; d <= 3; d++ {
		name, size := fmt.Sprintf("parities %d", d), 4-max(2, d)/2
		list = append(list, exactCase{name, paritiesPlace(d, "cube"), size, orthonormal})
	}
	return append(list,
		exactCase{"points 4", orderedPlace("points", 4), 3, points},
		exactCase{"thresholds 2", orderedPlace("thresholds", 2), 4, thresholds},
		exactCase{"thresholds 3", orderedPlace("thresholds", 3), 2, thresholds},
		exactCase{"parities on the basis", paritiesPlace(2, "standard"), 4, planar},
		exactCase{"matrix of three", matrixPlace("standard", "0010", "1010", "0110"), 3, planar},
		exactCase{"matrix of four", matrixPlace("greedy", "00101", "10110", "01111", "11000"), 3, planar},
	)
}

// pairs returns the labels of all hypotheses at the two points of a separator.
func pairs(s *site) (list [][2]float64) {
	for _, row := range finitetest.Labels(s.class, s.separator.Points) {
		list = append(list, [2]float64(row))
	}
	return list
}

// The exact distribution of the answer satisfies epsilon and delta on every tested pair of
// neighboring samples; with a third of the noise it does not.
func TestGaussianPrivacy(t *testing.T) {
	for _, c := range exactCases() {
		s := makeSite(t, c.place)
		columns := columnsOf(s)
		for _, budget := range []struct{ eps, delta float64 }{{0.5, 1e-2}, {2, 1e-4}} {
			for _, k := range []struct {
				preset, margin string
				share          float64 // share of the noise
			}{
				{tightPreset, hullMargin, 1}, {simplePreset, hullMargin, 1}, {tightPreset, hullMargin, 1. / 3},
			} {
				radius := gaussianRadius(k.margin, s)
				eta, err := provedNoise(k.preset, radius, s.class.LogSize(), budget.eps, budget.delta)
				if err != nil {
					t.Fatal(err)
				}
				delta := worst(columns, c.size, 8*eta, budget.eps, c.distribution(s, k.share*eta))
				if (delta <= budget.delta) != (k.share == 1) {
					t.Errorf("%s, %+v at %+v: delta %v", c.name, k, budget, delta)
				}
			}
		}
	}
}

// With Laplace noise the ratio of every probability is bounded: noise of scale b on 0/1 labels is
// noise of scale b/2 on -1/+1 labels.
func TestLaplacePrivacy(t *testing.T) {
	thresholds := func(_ *site, b float64) func([]int) []float64 {
		return func(errs []int) []float64 { return laplaceDistribution.thresholdDistribution(errs, b) }
	}
	points := func(_ *site, b float64) func([]int) []float64 {
		known := map[string][]float64{}
		return func(errs []int) []float64 { return laplaceDistribution.independentDistribution(errs, b, known) }
	}
	planar := func(s *site, b float64) func([]int) []float64 {
		return func(errs []int) []float64 { return laplaceDistribution.planarDistribution(errs, pairs(s), b/2) }
	}
	for _, c := range []exactCase{
		{"thresholds 2", orderedPlace("thresholds", 2), 4, thresholds},
		{"thresholds 3", orderedPlace("thresholds", 3), 3, thresholds},
		{"points 4", orderedPlace("points", 4), 3, points},
		{"parities on the basis", paritiesPlace(2, "standard"), 4, planar},
		{"matrix of four", matrixPlace("greedy", "00101", "10110", "01111", "11000"), 3, planar},
	} {
		s := makeSite(t, c.place)
		columns := columnsOf(s)
		for _, eps := range []float64{0.3, 2} {
			b, ratio := laplaceScale(s.points, s.separator.Hamming, eps), 0.0
			finitetest.Neighbours(columns, c.size, 0, c.distribution(s, b), func(p, q []float64) {
				for i := range p {
					ratio = max(ratio, p[i]/q[i])
				}
			})
			if ratio > math.Exp(eps)*(1+1e-9) || ratio < math.Exp(eps/5) {
				t.Errorf("%s: ratio e^%v at epsilon %v", c.name, math.Log(ratio), eps)
			}
		}
	}
}

// The labels of public points are private at traceNoise, and not at a third of it, although the
// points do not distinguish all hypotheses.
func TestTracePrivacy(t *testing.T) {
	for _, c := range []struct {
		spec concept.Spec
		z    []float64
	}{
		{concept.Spec{Name: "thresholds", Domain: 5}, []float64{1, 3}},
		{concept.Spec{Name: "intervals", Domain: 4}, []float64{2, 1}},
		{concept.Spec{Name: "parities", Dim: 3}, []float64{1, 1, 0, 0, 1, 1}},
		{concept.Spec{Name: "points", Domain: 5}, []float64{2, 2}},
	} {
		s := makeSite(t, finite.Place{Spec: c.spec})
		patterns := map[[2]float64]int{}
		var rows [][2]float64
		var trace []int // the index in rows of each hypothesis
		for _, labels := range finitetest.Labels(s.class, c.z) {
			row := [2]float64(labels)
			k, ok := patterns[row]
			if !ok {
				k = len(rows)
				patterns[row], rows = k, append(rows, row)
			}
			trace = append(trace, k)
		}
		for _, budget := range []struct{ eps, delta float64 }{{0.5, 1e-2}, {1, 1e-4}} {
			proved := traceNoise(2, s.class.LogSize(), budget.eps, budget.delta)
			for _, share := range []float64{1, 1. / 3} {
				eta := share * proved
				delta := worst(columnsOf(s), 2, 8*proved, budget.eps, func(errs []int) []float64 {
					least := make([]int, len(rows))
					for k := range least {
						least[k] = math.MaxInt
					}
					for f, e := range errs {
						least[trace[f]] = min(least[trace[f]], e)
					}
					return normal.planarDistribution(least, rows, eta/math.Sqrt2)
				})
				if (delta <= budget.delta) != (share == 1) {
					t.Errorf("%+v at %+v, %v of the noise: delta %v", c.spec, budget, share, delta)
				}
			}
		}
	}
}

// Constants -1, 0 and 1 with the loss |f| on one sample and 1-|f| on its neighbor: the answer is 0
// with probability P(|xi| < 1/eta) on the first and never on the second, for every constant in the
// paper's eta. 0 is in the hull of the others, and nothing is proved.
func TestCounterexample(t *testing.T) {
	for _, c := range readVectors(t).Counterexample {
		eta := printedNoise(c.Const, math.Sqrt(2/math.Pi), 1, c.Eps, c.Delta)
		near(t, "eta", eta, c.Eta, 1e-9)
		p := normal.cdf(1/eta) - normal.cdf(-1/eta)
		near(t, "P", p, c.P, 1e-9)
		if p <= c.Delta {
			t.Errorf("constant %v: P %v is no violation of delta %v", c.Const, p, c.Delta)
		}
		const steps = 1000
		for k := -4 * steps; k <= 4*steps; k++ {
			xi := (float64(k) + 0.5) / steps / eta
			first := leastOf(1-eta*xi, 0, 1+eta*xi) // least of -1, 0, 1
			if second := leastOf(-eta*xi, 1, eta*xi); (first == 1) != (math.Abs(xi) < 1/eta) || second == 1 {
				t.Fatalf("xi %v, 1/eta %v: answers %d and %d", xi, 1/eta, first-1, second-1)
			}
		}
	}
	m, err := lp.HullMargin([]float64{-1, 0, 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, preset := range []string{tightPreset, simplePreset} {
		if eta, err := provedNoise(preset, m.Lower, math.Log(3), 1, 1e-6); !algo.IsInvalid(err) {
			t.Errorf("%s: eta %v, %v", preset, eta, err)
		}
	}
}

func leastOf(values ...float64) int { return slices.Index(values, slices.Min(values)) }
