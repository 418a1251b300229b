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
)

// listed is a class small enough to list, with its whole domain.
type listed struct {
	problem algo.Problem
	dim     int
	domain  []float64
	labels  [][]float64 // of hypothesis h at all points of the domain
}

// smallProblems are one or two small classes of every name but halfspace.
func smallProblems() []algo.Problem {
	return []algo.Problem{
		{Class: "thresholds", Domain: 3, Dim: 1}, {Class: "thresholds", Domain: 4, Dim: 1, NoConstant: true}, {Class: "points", Domain: 4, Dim: 1},
		{Class: "intervals", Domain: 4, Dim: 1}, {Class: "stumps", Domain: 4, Dim: 1}, {Class: "stumps", Domain: 3, Dim: 2},
		{Class: "rectangles", Domain: 2, Dim: 2}, {Class: "rectangles", Domain: 3, Dim: 2}, {Class: "parities", Dim: 1}, {Class: "parities", Dim: 3},
		{Class: "monotone-conjunctions", Dim: 3}, {Class: "conjunctions", Dim: 1}, {Class: "conjunctions", Dim: 2},
		{Class: "matrix", Domain: 5, Dim: 1, Matrix: "00101" + "10110" + "01111" + "11000" + "00000" + "11010"},
	}
}

func listOf(t *testing.T, p algo.Problem) listed {
	t.Helper()
	made, err := concept.New(specOf(p))
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	c := made.(concept.Finite)
	l := listed{problem: p, dim: c.Dim()}
	values := int(max(2, p.Domain)) // bits where there is no domain
	for i := range int(math.Pow(float64(values), float64(l.dim))) {
		for range l.dim {
			l.domain = append(l.domain, float64(i%values))
			i /= values
		}
	}
	for h := range c.Size().Uint64() {
		row := make([]float64, len(l.domain)/l.dim)
		c.Member(h).Labels(l.domain, row)
		l.labels = append(l.labels, row)
	}
	return l
}

// examples are the different columns of errors that one example can have: 1 where hypothesis h errs.
func (l listed) examples() (columns [][]int) {
	for v := range l.labels[0] {
		for _, y := range []float64{-1, 1} {
			column := make([]int, len(l.labels))
			for h, row := range l.labels {
				if row[v] != y {
					column[h] = 1
				}
			}
			if !slices.ContainsFunc(columns, func(other []int) bool { return slices.Equal(other, column) }) {
				columns = append(columns, column)
			}
		}
	}
	return columns
}

// law is the probability of each hypothesis, given how often each errs.
type law struct {
	levels func([]concepttest.Level, float64) []float64
	known  map[string][]float64 // by the numbers of hypotheses with 0, 1, ... errors more than the fewest
}

func newLaw(levels func([]concepttest.Level, float64) []float64) law {
	return law{levels, map[string][]float64{}}
}

func (k law) of(errs []int, eps float64) []float64 {
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

// worst is the largest log-ratio of a probability under two samples that differ in one example, over all samples of up to n examples and
// those that repeat one of them up to reach times.
func (k law) worst(columns [][]int, n, reach int, eps float64) (worst float64) {
	visit := func(others []int) {
		laws := make([][]float64, len(columns))
		for i, c := range columns {
			laws[i] = k.of(plus(others, 1, c), eps)
		}
		for _, p := range laws {
			for _, q := range laws {
				for h := range p {
					worst = max(worst, math.Log(p[h]/q[h]))
				}
			}
		}
	}
	var extend func(from, left int, others []int)
	extend = func(from, left int, others []int) {
		visit(others)
		for i := from; i < len(columns) && left > 0; i++ {
			extend(i, left-1, plus(others, 1, columns[i]))
		}
	}
	none := make([]int, len(columns[0]))
	extend(0, n-1, none)
	for copies := n; copies < reach; copies += 1 + copies/2 {
		for _, c := range columns {
			visit(plus(none, copies, c))
		}
	}
	return worst
}

func plus(a []int, k int, b []int) []int {
	c := slices.Clone(a)
	for i := range c {
		c[i] += k * b[i]
	}
	return c
}

// On every class both mechanisms keep eps exactly, over all samples of up to three examples and all ways to replace one, and use all of it
// where all examples but one are equal.
func TestPrivacyOverAllNeighbours(t *testing.T) {
	for name, k := range map[string]law{"em": newLaw(concepttest.ExponentialLaw), "pf": newLaw(concepttest.PermuteAndFlipLaw)} {
		for _, p := range smallProblems() {
			columns := listOf(t, p).examples()
			for _, eps := range []float64{0.3, 2} {
				if worst := k.worst(columns, 3, int(40/eps), eps); worst > eps*(1+1e-9) || worst < 0.99*eps {
					t.Errorf("%s, %s of %d in %d dimensions: worst log-ratio %v at epsilon %v", name, p.Class, p.Domain, p.Dim, worst, eps)
				}
			}
		}
	}
}

// What Learn answers has these laws, hypothesis by hypothesis.
func TestLearnFollowsTheLaw(t *testing.T) {
	const trials, eps = 4000, 1.5
	for _, c := range []struct {
		a algo.Algorithm[struct{}]
		k law
	}{{EM(), newLaw(concepttest.ExponentialLaw)}, {PF(), newLaw(concepttest.PermuteAndFlipLaw)}} {
		for _, problem := range smallProblems() {
			l := listOf(t, problem)
			r := rand.New(rand.NewPCG(7, 7))
			errs, x, y := make([]int, len(l.labels)), []float64{}, []float64{}
			for range 5 {
				v, label := r.IntN(len(l.labels[0])), float64(2*r.IntN(2)-1)
				x, y = append(x, l.domain[v*l.dim:(v+1)*l.dim]...), append(y, label)
				for h, row := range l.labels {
					if row[v] != label {
						errs[h]++
					}
				}
			}
			count, out := make([]float64, len(errs)), make([]float64, len(l.labels[0]))
			trial := &algo.Trial[struct{}]{Setting: setting(problem, eps), Rand: r}
			for range trials {
				m, err := c.a.Learn(context.Background(), trial, algo.NewData(x, l.dim, y))
				if err != nil {
					t.Fatal(err)
				}
				if err := m.Predict(context.Background(), algo.NewData(l.domain, l.dim, nil), out); err != nil {
					t.Fatal(err)
				}
				count[slices.IndexFunc(l.labels, func(row []float64) bool { return slices.Equal(row, out) })]++
			}
			chi2, freedom := 0.0, float64(len(count)-1)
			for h, p := range c.k.of(errs, eps) {
				chi2 += (count[h] - trials*p) * (count[h] - trials*p) / (trials * p)
			}
			if chi2 > freedom+6*math.Sqrt(2*freedom) {
				t.Errorf("%s, %s of %d in %d dimensions: chi-square %v of %v", c.a.Name, problem.Class, problem.Domain, problem.Dim, chi2, freedom)
			}
		}
	}
}
