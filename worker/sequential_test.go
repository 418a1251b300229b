package worker

import (
	"math"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// sequentialJob returns a job whose trials use the sequential rule, with a goal in the middle of
// their errors, and its evaluation.
func sequentialJob(t *testing.T, s *slot, algorithm string, trials int64) (*trial.Job, problem.Evaluation) {
	t.Helper()
	p := schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 3, Margin: 0.1, Test: 1000}
	j := jobOf(t, s, algorithm, p, 3, trials)
	open, err := problem.Open(p, "")
	if err != nil {
		t.Fatal(err)
	}
	j.Cell.Alpha = 0.35
	how := open.Sequential(open.Evaluation(0, j.Cell.Alpha, p.Test, false))
	j.Cell.Evaluation = &how
	j.Cell.Metrics = append(j.Cell.Metrics, task.FirstError, task.PointsRead)
	return j, how
}

// The rule's outcome of a trial equals, bit for bit, the outcome of reading all points if their
// number is that of the first look at which the error is clear. It is the same in both rechecks,
// for any boundaries of jobs.
func TestSequentialOutcomes(t *testing.T) {
	s := testSlot(t)
	j, how := sequentialJob(t, s, "test/honest", 300)
	whole := make([][]float64, len(how.Looks)) // errors on that many points, all of which are read
	for k, points := range how.Looks {
		full := *j
		cell := *j.Cell
		full.Cell, cell.Problem.Test, cell.Evaluation = &cell, points, &problem.Evaluation{}
		whole[k] = runJob(t, s, &full).Error
	}
	out := runJob(t, s, j)
	ends := make([]int, len(how.Looks))
	first, read := slices.Index(j.Cell.Metrics, task.FirstError), slices.Index(j.Cell.Metrics, task.PointsRead)
	for i, got := range out.Error {
		k := 0
		for k < len(how.Looks)-1 && !problem.Clear(whole[k][i], how.Looks[k], j.Cell.Alpha) {
			k++
		}
		ends[k]++
		if math.Float64bits(got) != math.Float64bits(whole[k][i]) || out.Values[first][i] != whole[0][i] ||
			out.Values[read][i] != float64(how.Looks[k]) {
			t.Fatalf("trial %d: error %v, %v on the first points, %v points; want %v, %v, %v",
				i, got, out.Values[first][i], out.Values[read][i], whole[k][i], whole[0][i], how.Looks[k])
		}
	}
	if slices.Min(ends) == 0 {
		t.Errorf("numbers of trials that ended at each look: %v", ends)
	}
	some := []int64{3, 7, 8, 20, 33, 41, 50, 59, 70, 71, 72}
	for _, recheck := range []trial.Recheck{"", trial.RecheckShuffled, trial.RecheckFresh} {
		picked := some
		if recheck == trial.RecheckFresh {
			picked = some[:2]
		}
		if differ, _ := differing(out, runJob(t, s, rechecked(j, recheck, picked...))); differ > 0 {
			t.Errorf("recheck %q: %d trials differ", recheck, differ)
		}
	}
}

// A shuffled recheck detects an algorithm that changes its answers when it is asked about a second
// block, which reveals that its error is near the goal. Trials that fail meanwhile do not affect
// the others.
func TestSequentialDishonest(t *testing.T) {
	testkit.Serial(t)
	s := testSlot(t)
	j, _ := sequentialJob(t, s, "test/blocks", 60)
	out := runJob(t, s, j)
	again := runJob(t, s, rechecked(j, trial.RecheckShuffled, picks...))
	if differ, _ := differing(out, again); differ < len(picks)/2 {
		t.Errorf("%d of %d trials differ", differ, len(picks))
	}
	if !slices.Contains(out.Status, ledger.OK) || !slices.Contains(out.Status, ledger.Failed) {
		t.Errorf("not some trials failed: %v", out.Status)
	}
	for i := range out.Status {
		alone := runJob(t, s, rechecked(j, "", int64(i)))
		if math.Float64bits(alone.Error[0]) != math.Float64bits(out.Error[i]) || alone.Status[0] != out.Status[i] {
			t.Fatalf("trial %d: error %v alone, %v in a larger job", i, alone.Error[0], out.Error[i])
		}
	}
}
