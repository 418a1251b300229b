package expmech

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/concept/concepttest"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// The divergence equals the value computed from the distributions of the answer on the sample and
// on all of its neighbors.
func TestDivergenceIsThatOfTheDistributions(t *testing.T) {
	k := newDistribution(concepttest.ExponentialDistribution)
	for _, p := range smallProblems() {
		domain, labels := tableOf(t, p)
		e := listExamples(t, p)
		r := rand.New(rand.NewPCG(3, 3))
		for _, n := range []int{0, 1, 2, 7} {
			x, y := make([]float64, 0, n*p.Dim), make([]float64, 0, n)
			var picked []int
			for range n {
				v, label := r.IntN(len(labels[0])), float64(2*r.IntN(2)-1)
				x, y, picked = append(x, domain[v*p.Dim:(v+1)*p.Dim]...), append(y, label), append(picked, v)
			}
			for _, eps := range []float64{0, 0.5, 3} {
				want := worstAround(k, labels, picked, y, eps)
				if got := e.divergence(x, y, eps); math.Abs(got-want) > 1e-12*(1+want) || got > eps {
					t.Errorf("%s of %d in %d dimensions, n %d, epsilon %v: %v, want %v", p.Class, p.Domain, p.Dim, n, eps,
						got, want)
				}
			}
		}
	}
}

// worstAround returns the largest log-ratio between the distribution on the chosen points, with
// labels y, and that on a sample with another example instead of one of them.
func worstAround(k distribution, labels [][]float64, picked []int, y []float64, eps float64) (worst float64) {
	distributionOf := func(picked []int, y []float64) []float64 {
		errs := make([]int, len(labels))
		for i, v := range picked {
			for h, row := range labels {
				if row[v] != y[i] {
					errs[h]++
				}
			}
		}
		return k.of(errs, eps)
	}
	own := distributionOf(picked, y)
	for i := range picked {
		for v := range labels[0] {
			for _, label := range []float64{-1, 1} {
				points, marks := slices.Clone(picked), slices.Clone(y)
				points[i], marks[i] = v, label
				for h, q := range distributionOf(points, marks) {
					worst = max(worst, math.Abs(math.Log(own[h]/q)))
				}
			}
		}
	}
	return worst
}

func listExamples(t *testing.T, p algo.Problem) *examples {
	t.Helper()
	class, err := concept.New(finite.SpecOf(p))
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExamples(class.(concept.Finite), finite.SpecOf(p))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The answers are those of expmech/em, and the metric is within the budget.
func TestDivergenceAnswersAsEM(t *testing.T) {
	p := algo.Problem{Class: "parities", Dim: 3}
	domain := finitetest.Domain(finite.SpecOf(p))
	var answers [2][]float64
	for i, a := range []algo.Algorithm[struct{}]{EM(), Divergence()} {
		trial := &algo.Trial[struct{}]{Setting: setting(p, 1), Rand: rand.New(rand.NewPCG(1, 2))}
		for range 20 {
			m, err := a.Learn(context.Background(), trial, algo.NewData(domain[:9], 3, []float64{1, -1, 1}))
			if err != nil {
				t.Fatal(err)
			}
			out := make([]float64, len(domain)/3)
			if err := m.Predict(context.Background(), algo.NewData(domain, 3, nil), out); err != nil {
				t.Fatal(err)
			}
			answers[i] = append(answers[i], out...)
		}
	}
	if !slices.Equal(answers[0], answers[1]) {
		t.Error("the answers differ from those of expmech/em")
	}
}

// A class with too many neighbors is an error that names an alternative.
func TestDivergenceRefusesLargeClasses(t *testing.T) {
	s := setting(algo.Problem{Class: "thresholds", Domain: 1024}, 1)
	if err := Divergence().Check(&s); err == nil || !strings.Contains(err.Error(), "1025 hypotheses on 1024 points") {
		t.Errorf("%v", err)
	}
}
