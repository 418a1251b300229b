package worker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas"
)

// problems returns problems of all kinds of evaluation: exact, drawn and over data.
func problems(t testing.TB) map[string]schemas.Problem {
	return map[string]schemas.Problem{
		"exact":            {Class: "thresholds", Distribution: "uniform", Domain: 257},
		"one point":        {Class: "thresholds", Distribution: "uniform", Domain: 1 << 20, Test: 1},
		"two points":       {Class: "points", Distribution: "uniform", Domain: 2},
		"drawn":            {Class: "intervals", Distribution: "uniform", Domain: 1 << 20, Test: 1000},
		"drawn, one long":  {Class: "thresholds", Distribution: "uniform", Domain: 1 << 20, Test: 150_000},
		"iso":              {Class: "halfspace", Distribution: "iso", Dim: 5, Margin: 0.1, Test: 300},
		"needle":           {Class: "thresholds", Distribution: "needle", Domain: 1 << 16, Mass: 0.1},
		"needle intervals": {Class: "intervals", Distribution: "needle", Domain: 1 << 40, Mass: 0.3},
		"data": {Class: "halfspace", Data: &schemas.Data{
			File: testkit.WriteFile(t, "data.csv", testkit.CSV(500)), Label: "y", Positive: "p", Scale: schemas.Scale{Norm: 1},
		}},
	}
}

// plainError is the error of fraction on a trial, summed in the order of the problem.
func plainError(d *problem.Drawer, dim int, weights []float64, j *trial.Job, rep uint32) float64 {
	var streams [1 + trial.TestPoints]rand.PCG
	for s := trial.Target; s <= trial.TestPoints; s++ {
		streams[s].Seed(trial.Seed(j.Cell.DataKey, s, uint64(j.N), rep))
	}
	d.Begin(problem.Streams{
		Target: &streams[trial.Target], Points: &streams[trial.Points],
		LabelNoise: &streams[trial.LabelNoise], TestPoints: &streams[trial.TestPoints],
	})
	n := d.TestLen()
	x, y, answers := make([]float64, n*dim), make([]float64, n), make([]float64, n)
	d.Test(x, y, nil)
	pointwise(fraction)(algo.NewData(x, dim, nil), answers)
	return populationError(answers, y, weights)
}

// The error of a trial equals the error on the points in the order of the problem, bit for bit, for
// any order and chunks in which the points are asked, and in both rechecks.
func TestErrorIsThatOfThePlainOrder(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	s := testSlot(t)
	for name, p := range problems(t) {
		plainOrder(t, s, name, p)
	}
}

func plainOrder(t *testing.T, s *slot, name string, p schemas.Problem) {
	j := jobOf(t, s, "test/fraction", p, 3, 40)
	if name == "drawn, one long" {
		j.Count = 2
	}
	for _, recheck := range []trial.Recheck{"", trial.RecheckShuffled, trial.RecheckFresh} {
		if j.Recheck = recheck; recheck == trial.RecheckFresh {
			j.Count = 1
		}
		out := runJob(t, s, j)
		pop := s.w.populations.open[j.Cell.DataKey]
		for i, got := range out.Error {
			want := plainError(pop.Drawer(j.Cell.Problem.Test), pop.Dim(), pop.Weights(), j, uint32(i))
			if out.Status[i] != ledger.OK || math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s, recheck %q, trial %d: error %v, want %v; %v", name, recheck, i, got, want, out.Reason[i])
			}
		}
	}
}

// The points of a call, and therefore the answers of an algorithm that depends on places and ranks,
// are a function of the trial alone: they depend neither on the boundaries of jobs nor on other
// trials that fail.
func TestOrderIsTheTrialsOwn(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	s := testSlot(t)
	for name, p := range problems(t) {
		ownOrder(t, s, name, p)
	}
}

func ownOrder(t *testing.T, s *slot, name string, p schemas.Problem) {
	for _, algorithm := range []string{"test/place", "test/mean"} {
		j := jobOf(t, s, algorithm, p, 3, 30)
		if name == "drawn, one long" {
			j.Count = 4
		}
		whole := runJob(t, s, j).Error
		for _, picked := range [][]int64{{0}, {1, 3}, {5, 6, 7, 20, 29}} {
			if picked[len(picked)-1] >= j.Count {
				continue
			}
			part := *j
			part.Picked, part.First, part.Count = picked, picked[0], int64(len(picked))
			for i, e := range runJob(t, s, &part).Error {
				if rep := picked[i]; math.Float64bits(e) != math.Float64bits(whole[rep]) {
					t.Errorf("%s, %s, repetition %d: error %v alone, %v in a larger job", name, algorithm, rep, e, whole[rep])
				}
			}
		}
	}
}

// arranged returns the evaluation of a session without a plugin.
func arranged(t testing.TB, p schemas.Problem, recheck trial.Recheck, trials int) *evaluation {
	t.Helper()
	s := testSlot(t)
	j := jobOf(t, s, "test/honest", p, 3, int64(trials))
	j.Recheck = recheck
	pop, err := s.w.populations.get(t.Context(), j.Cell.DataKey, *j.Cell.Problem)
	if err != nil {
		t.Fatal(err)
	}
	job := &jobRun{Job: j, pop: pop, out: newOutcomes(j)}
	job.drawer = job.newDrawer()
	return (&session{slot: s, job: job, to: trials, scores: newScores(trials)}).newEvaluation()
}

// The rows of the shared table are the rows of the data in another order, with their labels.
func TestSharedTable(t *testing.T) {
	e := arranged(t, problems(t)["data"], "", 1)
	file, _ := e.job.Cell.Problem.File()
	data, err := problem.Open(*e.job.Cell.Problem, file)
	if err != nil {
		t.Fatal(err)
	}
	x, dim := data.Population()
	table := tableOrder(e.job.Cell.DataKey, data.Summary().Rows)
	sorted := slices.Sorted(slices.Values(table))
	for row := range sorted {
		if int(sorted[row]) != row {
			t.Fatalf("row %d is missing or doubled", row)
		}
	}
	if slices.IsSorted(table) || !e.table {
		t.Error("the rows are in the order of the file")
	}
	laid := e.job.pop.rows.Points()
	for i, row := range table {
		if !slices.Equal(laid[i*dim:(i+1)*dim], x[int(row)*dim:int(row+1)*dim]) || e.y[i] != data.Labels()[row] {
			t.Fatalf("row %d of the table is not row %d of the data", i, row)
		}
	}
}
