package worker

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/testkit"
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
	job := &trial.Job{Cell: &trial.Cell{Problem: &p}, N: 1, Count: trials}
	own := &jobRun{Job: job, pop: &population{Problem: opened}, drawer: opened.Drawer(1)}
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

// BenchmarkJob measures a whole job of trials of an algorithm that does next to nothing, with its
// process running: from the draws to the outcomes.
func BenchmarkJob(b *testing.B) {
	csv := testkit.WriteFile(b, "data.csv", testkit.CSV(1000))
	for _, c := range []struct {
		name   string
		p      schemas.Problem
		trials int64
	}{
		{"needle", schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 1 << 16, Mass: 0.1}, 25_000},
		{"drawn", schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 16, Test: 10_000}, 500},
		{"drawn-one", schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 16, Test: 1}, 25_000},
		{"exact", schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1024}, 5000},
		{"exact-100", schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1024}, 100},
		{"wide", schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 50, Margin: 0.1, Test: 10_000}, 20},
		{"data", schemas.Problem{Class: "halfspace", Data: &schemas.Data{
			File: csv, Label: "y", Positive: "p", Scale: schemas.Scale{Norm: 1},
		}}, 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := testSlot(b)
			j := jobOf(b, s, "test/honest", c.p, 10, c.trials)
			runJob(b, s, j)
			points := float64(s.w.populations.open[j.Cell.DataKey].Drawer(j.Cell.Problem.Test).TestLen())
			for b.Loop() {
				runJob(b, s, j)
			}
			trials := float64(b.N) * float64(c.trials)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/trials, "ns/trial")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/trials/points, "ns/point")
		})
	}
}

// BenchmarkEvaluation measures what the order of evaluation points costs the worker: "plain" draws
// or lists the points of a trial and scores its answers in one order, "ordered" also arranges them.
func BenchmarkEvaluation(b *testing.B) {
	all := problems(b)
	for _, name := range []string{"needle", "exact", "drawn", "iso"} {
		e := arranged(b, all[name], "", 1)
		dim, d := e.job.pop.Dim(), e.job.drawer
		x, w := make([]float64, e.numbers*dim), make([]float64, e.numbers)
		e.group = append(e.group[:0], 0)
		report := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(e.numbers), "ns/point")
		}
		b.Run(name+"/plain", func(b *testing.B) {
			for b.Loop() {
				e.begin(0, trial.Target, trial.TestPoints)
				d.Test(x[:e.scored*dim], e.y[:e.scored], w[:e.scored])
				e.scores.error[0] = populationError(e.answers[:e.scored], e.y[:e.scored], w[:e.scored])
			}
			report(b)
		})
		b.Run(name+"/ordered", func(b *testing.B) {
			for b.Loop() {
				e.arrange(0)
				if e.drawn {
					e.draw(0, 0, x)
				} else {
					gather(x, e.pointsOf(0), e.order[:e.places])
				}
				e.score(0)
			}
			report(b)
		})
	}
}
