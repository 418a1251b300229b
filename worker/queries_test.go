package worker

import (
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/problemtest"
	"github.com/shatterlab/shatter/schemas"
)

// The revealed queries equal the queries that are asked later, for any steps, even for trials next
// to a failed one.
func TestRevealedQueriesAreAsked(t *testing.T) {
	const trials, queries = 4, 20
	for _, p := range []schemas.Problem{
		{Class: "thresholds", Distribution: "uniform", Domain: 1 << 20},
		{Class: "rectangles", Distribution: "uniform", Domain: 50, Dim: 2},
		{Class: "halfspace", Distribution: "skew", Minority: 0.1, Margin: 0.1, Dim: 3},
	} {
		problemtest.Resolve(t, &p)
		opened, err := problem.Open(p, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"stochastic", "boundary", "repeat"} {
			job := testJob(trials)
			job.Cell.Queries, job.Cell.Adversary = queries, &schemas.Adversary{Kind: kind, Offline: true}
			dim := opened.Dim()
			s := &session{slot: &slot{}, job: &jobRun{Job: job, pop: &population{Problem: opened}}, to: trials}
			want := make([]float64, trials*queries*dim)
			s.revealQueries(want)
			if slices.Equal(want[:queries*dim], want[queries*dim:2*queries*dim]) && kind != "repeat" {
				t.Errorf("%s, %s: two trials have the same queries", p.Class, kind)
			}

			got := make([][]float64, trials)
			list := s.adversaries()
			for asked, step := 0, 1; asked < queries; asked, step = asked+step, 3 {
				counts := make([]uint32, trials)
				for j := range counts {
					counts[j] = uint32(min(step, queries-asked))
				}
				if asked > 0 {
					counts[1] = 0 // failed
				}
				next := queryStep{list: list, counts: counts, dim: dim}
				for j, c := range counts { // pieces end inside of trials
					x := make([]float64, int(c)*dim)
					next.fill(x[:len(x)/dim/2*dim])
					next.fill(x[len(x)/dim/2*dim:])
					got[j] = append(got[j], x...)
				}
			}
			for j, x := range got {
				if j == 1 && len(x) != dim {
					t.Fatalf("the failed trial was asked %d numbers", len(x))
				}
				if from := j * queries * dim; !slices.Equal(x, want[from:from+len(x)]) {
					t.Errorf("%s, %s, trial %d: asked %v, revealed were %v", p.Class, kind, j, x, want[from:from+len(x)])
				}
			}
		}
	}
}
