package worker

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// BenchmarkTrial is what the worker itself does per trial, for the smallest trials: draw a sample of one, draw one test point, score
// its answer and record the outcome.
func BenchmarkTrial(b *testing.B) {
	const trials = 25_000
	p := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 20, Test: 1}
	opened, err := problem.Open(p, "")
	if err != nil {
		b.Fatal(err)
	}
	job := &trial.Job{Cell: &trial.Cell{Problem: p}, N: 1, Count: trials}
	l := newLane(&worker{})
	t := &task{Job: job, pop: &population{Problem: opened}, drawer: opened.Drawer()}
	x, y, w := make([]float64, trials), make([]float64, trials), make([]float64, trials)
	b.ReportAllocs()
	for b.Loop() {
		t.out = newOutcomes(job)
		l.sample(t, 0, trials, x, y)
		answers, s := y, newScores(trials)
		for j := range trials {
			l.begin(t, j, trial.Target, trial.TestPoints)
			t.drawer.Test(x[j:j+1], y[j:j+1], w[j:j+1])
			s.error[j] = populationError(answers[j:j+1], y[j:j+1], w[j:j+1])
		}
		t.out.record(0, s, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/trials, "ns/trial")
}
