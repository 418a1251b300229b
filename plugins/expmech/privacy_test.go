package expmech

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/concept/concepttest"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// smallProblems returns problems on one or two small classes of every name except halfspace.
func smallProblems() []algo.Problem {
	return []algo.Problem{
		{Class: "thresholds", Domain: 3, Dim: 1}, {Class: "thresholds", Domain: 4, Dim: 1, NoConstant: true},
		{Class: "points", Domain: 4, Dim: 1}, {Class: "intervals", Domain: 4, Dim: 1},
		{Class: "stumps", Domain: 4, Dim: 1}, {Class: "stumps", Domain: 3, Dim: 2},
		{Class: "rectangles", Domain: 2, Dim: 2}, {Class: "rectangles", Domain: 3, Dim: 2},
		{Class: "parities", Dim: 1}, {Class: "parities", Dim: 3},
		{Class: "monotone-conjunctions", Dim: 3}, {Class: "conjunctions", Dim: 1}, {Class: "conjunctions", Dim: 2},
		{Class: "matrix", Domain: 5, Dim: 1, Matrix: "00101" + "10110" + "01111" + "11000" + "00000" + "11010"},
	}
}

// tableOf lists the domain of a small problem, row-major, and the labels of all hypotheses there.
func tableOf(t *testing.T, p algo.Problem) (domain []float64, labels [][]float64) {
	t.Helper()
	class, err := concept.New(finite.SpecOf(p))
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	domain = finitetest.Domain(finite.SpecOf(p))
	return domain, finitetest.Labels(class.(concept.Finite), domain)
}

// distribution returns the probability of each hypothesis, given the number of errors of each.
type distribution struct {
	levels func([]concepttest.Level, float64) []float64
	known  map[string][]float64 // results, by the numbers of hypotheses with 0, 1, ... errors more than the fewest
}

func newDistribution(levels func([]concepttest.Level, float64) []float64) distribution {
	return distribution{levels, map[string][]float64{}}
}

func (k distribution) of(errs []int, eps float64) []float64 {
	least := slices.Min(errs)
	count := map[int]int{}
	for _, e := range errs {
		count[e-least]++
	}
	key := fmt.Sprint(eps, count)
	excesses := slices.Sorted(maps.Keys(count))
	if k.known[key] == nil {
		var levels []concepttest.Level
		for _, e := range excesses {
			levels = append(levels, concepttest.Level{Err: e, Count: count[e]})
		}
		k.known[key] = k.levels(levels, eps)
	}
	p := make([]float64, len(errs))
	for h, e := range errs {
		i, _ := slices.BinarySearch(excesses, e-least)
		p[h] = k.known[key][i] / float64(count[e-least])
	}
	return p
}

// worst returns the largest log-ratio of a probability under two neighboring samples, of up to size
// examples or with one of them repeated up to reach times.
func (k distribution) worst(columns [][]int, size int, reach, eps float64) (worst float64) {
	distributionOf := func(errs []int) []float64 { return k.of(errs, eps) }
	finitetest.Neighbours(columns, size, reach, distributionOf, func(p, q []float64) {
		for h := range p {
			worst = max(worst, math.Log(p[h]/q[h]))
		}
	})
	return worst
}

// On every class both mechanisms satisfy eps exactly, over all samples of up to three examples and
// all ways to replace one, and use all of it if all examples except one are equal.
func TestPrivacyOverAllNeighbours(t *testing.T) {
	for name, k := range map[string]distribution{
		"em": newDistribution(concepttest.ExponentialDistribution),
		"pf": newDistribution(concepttest.PermuteAndFlipDistribution),
	} {
		for _, p := range smallProblems() {
			_, labels := tableOf(t, p)
			columns := finitetest.Examples(labels)
			for _, eps := range []float64{0.3, 2} {
				worst := k.worst(columns, 3, math.Floor(40/eps), eps)
				if worst > eps*(1+1e-9) || worst < 0.99*eps {
					t.Errorf("%s, %s of %d in %d dimensions: worst log-ratio %v at epsilon %v",
						name, p.Class, p.Domain, p.Dim, worst, eps)
				}
			}
		}
	}
}

// The hypotheses that Learn returns have the frequencies of these distributions.
func TestLearnFollowsTheDistribution(t *testing.T) {
	const trials, eps = 4000, 1.5
	for _, c := range []struct {
		a algo.Algorithm[struct{}]
		k distribution
	}{
		{EM(), newDistribution(concepttest.ExponentialDistribution)},
		{PF(), newDistribution(concepttest.PermuteAndFlipDistribution)},
	} {
		for _, problem := range smallProblems() {
			domain, labels := tableOf(t, problem)
			r := rand.New(rand.NewPCG(7, 7))
			errs, x, y := make([]int, len(labels)), []float64{}, []float64{}
			for range 5 {
				v, label := r.IntN(len(labels[0])), float64(2*r.IntN(2)-1)
				x, y = append(x, domain[v*problem.Dim:(v+1)*problem.Dim]...), append(y, label)
				for h, row := range labels {
					if row[v] != label {
						errs[h]++
					}
				}
			}
			count, out := make([]float64, len(errs)), make([]float64, len(labels[0]))
			trial := &algo.Trial[struct{}]{Setting: setting(problem, eps), Rand: r}
			for range trials {
				m, err := c.a.Learn(context.Background(), trial, algo.NewData(x, problem.Dim, y))
				if err != nil {
					t.Fatal(err)
				}
				if err := m.Predict(context.Background(), algo.NewData(domain, problem.Dim, nil), out); err != nil {
					t.Fatal(err)
				}
				count[slices.IndexFunc(labels, func(row []float64) bool { return slices.Equal(row, out) })]++
			}
			chi2, freedom := 0.0, float64(len(count)-1)
			for h, p := range c.k.of(errs, eps) {
				chi2 += (count[h] - trials*p) * (count[h] - trials*p) / (trials * p)
			}
			if chi2 > freedom+6*math.Sqrt(2*freedom) {
				t.Errorf("%s, %s of %d in %d dimensions: chi-square %v of %v",
					c.a.Name, problem.Class, problem.Domain, problem.Dim, chi2, freedom)
			}
		}
	}
}
