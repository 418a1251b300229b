package python_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Declared hypotheses of the SDK in Python have the labels that the worker gives them, on borders too.
func TestDeclaredLabels(t *testing.T) {
	p, err := host.Start(t.Context(), host.Command{Path: build(t, testkit.Python(t, needed), "testdata/declared.py")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	kinds := map[string]bool{}
	for _, problem := range []*pluginv1.Problem{
		{Class: "thresholds", Domain: 8, Dim: 1},
		{Class: "rectangles", Domain: 8, Dim: 2},
		{Class: "parities", Domain: 2, Dim: 4},
		{Class: "halfspace", Dim: 6},
		{Class: "matrix", Domain: 4, Dim: 1, Matrix: "00110101"},
	} {
		compareLabels(t, p, problem, kinds)
	}
	if len(kinds) != 8 { // thresholds, points and intervals are ranges
		t.Errorf("%d kinds were declared: %v", len(kinds), kinds)
	}
}

// compareLabels asks trials of a problem about points and compares the answers with the declared hypotheses,
// whose types it adds to kinds.
func compareLabels(t *testing.T, p *host.Process, problem *pluginv1.Problem, kinds map[string]bool) {
	t.Helper()
	const trials, asked = 200, 100
	r, dim := rand.New(rand.NewPCG(1, 2)), int(problem.Dim)
	seeds := make([]uint64, 2*trials)
	for i := range seeds {
		seeds[i] = r.Uint64()
	}
	s, faults, err := p.Open(t.Context(), host.OpenRequest{Seeds: seeds, Setting: &pluginv1.Setting{
		Algorithm: "python/declared", Task: pluginv1.Task_TASK_LEARN, N: 1, Problem: problem,
	}}, func(x, y []float64) { clear(x); clear(y) })
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	var points []float64
	counts := slices.Repeat([]uint32{asked}, trials)
	answers, faults, err := s.Step(t.Context(), counts, func(x []float64) {
		for i := range x {
			x[i] = float64(r.IntN(9)-4) / 10
			if problem.Domain > 0 {
				x[i] = float64(r.IntN(int(problem.Domain)))
			}
		}
		points = append(points, x...)
	})
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	labels := make([]float64, asked)
	for j := range trials {
		h := s.Declared(j)
		kinds[fmt.Sprintf("%T", h)] = true
		h.Labels(points[j*asked*dim:(j+1)*asked*dim], labels)
		if !slices.Equal(labels, answers[j*asked:(j+1)*asked]) {
			t.Errorf("%s: %T %v has other labels in Python", problem.Class, h, h)
		}
	}
	if _, _, err := s.Close(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
