package worker

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// BenchmarkTrial measures what the worker itself does per trial, for the smallest trials: draw a
// sample of one, draw one test point, score its answer and record the outcome.
func BenchmarkTrial(b *testing.B) {
	const trials = 25_000
	p := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 20, Test: 1}
	opened, err := problem.Open(p, "")
	if err != nil {
		b.Fatal(err)
	}
	job := &trial.Job{Cell: &trial.Cell{Problem: p}, N: 1, Count: trials}
	own := &jobRun{Job: job, pop: &population{Problem: opened}, drawer: opened.Drawer()}
	s := &session{slot: &slot{}, job: own, to: trials}
	x, y, w := make([]float64, trials), make([]float64, trials), make([]float64, trials)
	b.ReportAllocs()
	for b.Loop() {
		own.out, s.scores = newOutcomes(job), newScores(trials)
		s.sample(x, y)
		answers := y
		for j := range trials {
			s.begin(j, trial.Target, trial.TestPoints)
			own.drawer.Test(x[j:j+1], y[j:j+1], w[j:j+1])
			s.scores.error[j] = populationError(answers[j:j+1], y[j:j+1], w[j:j+1])
		}
		own.out.record(0, s.scores, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/trials, "ns/trial")
}
