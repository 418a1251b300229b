package worker

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// The error of a declared hypothesis equals the error of the model's answers: bit for bit if the
// points are all points or the same ones, and up to chance if a formula computes it. Rechecks find
// the same error.
func TestDeclaredErrors(t *testing.T) {
	testkit.Serial(t)
	s := testSlot(t)
	data := problems(t)["data"]
	disguised := data
	disguised.Disguise = true
	for name, p := range map[string]schemas.Problem{
		"iso":       {Class: "halfspace", Distribution: "iso", Dim: 5, Margin: 0.1, Test: 20_000},
		"skew":      {Class: "halfspace", Distribution: "skew", Dim: 5, Margin: 0.1, Test: 3000},
		"data":      data,
		"disguised": disguised,
	} {
		j := jobOf(t, s, "test/sum", p, 3, 60)
		declared := runJob(t, s, j)
		asked := *j
		cell := *j.Cell
		cell.Algorithm = "test/answered-sum"
		asked.Cell = &cell
		answered := runJob(t, s, &asked)
		for i, e := range declared.Error {
			apart := math.Abs(e - answered.Error[i])
			if declared.Status[i] != ledger.OK || name != "iso" && apart != 0 || apart > 5*0.5/math.Sqrt(20_000) {
				t.Fatalf("%s, trial %d: error %v declared, %v answered; %v", name, i, e, answered.Error[i], declared.Reason[i])
			}
		}
		if slices.Max(declared.Error) == 0 {
			t.Errorf("%s: no trial errs", name)
		}
		for _, recheck := range []trial.Recheck{trial.RecheckShuffled, trial.RecheckFresh} {
			again := runJob(t, s, rechecked(j, recheck, picks[:3]...))
			if differ, failed := differing(declared, again); differ > 0 || failed > 0 {
				t.Errorf("%s, recheck %q: %d trials differ", name, recheck, differ)
			}
		}
	}
}

// In a cell without evaluation points, a trial fails unless its model is a hypothesis whose error has a formula.
func TestBrokenPromise(t *testing.T) {
	s := testSlot(t)
	p := schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 5, Margin: 0.1}
	j := jobOf(t, s, "test/broken-promise", p, 3, 60)
	out := runJob(t, s, j)
	reasons := map[string]int{}
	for i, status := range out.Status {
		reason, _, _ := strings.Cut(out.Reason[i], ",")
		if reasons[reason]++; (status == ledger.OK) != (reason == "") {
			t.Errorf("trial %d: status %d, %q", i, status, reason)
		}
	}
	for _, want := range []string{
		"", "the algorithm promises declared hypotheses here", "the algorithm promises hypotheses of the class halfspace",
		"declared hypothesis: a halfspace: number 0 is NaN",
	} {
		if reasons[want] < 5 {
			t.Errorf("%d trials fail for the reason %q, of %v", reasons[want], want, slices.Collect(maps.Keys(reasons)))
		}
	}
}

// A shuffled recheck asks models for answers, and fails models whose answers differ from the
// declared hypothesis.
func TestAnswersDifferFromDeclaration(t *testing.T) {
	s := testSlot(t)
	p := schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 5, Margin: 0.1}
	j := jobOf(t, s, "test/two-faced", p, 3, 10)
	first := runJob(t, s, j)
	recheck := runJob(t, s, rechecked(j, trial.RecheckShuffled, 2, 5))
	differ, failed := differing(first, recheck)
	if slices.Contains(first.Status, ledger.Failed) || differ != 2 || failed != 2 {
		t.Errorf("%d trials of 2 differ, %d failed: %v", differ, failed, recheck.Reason)
	}
	const want = "answers differ from the declared hypothesis: point"
	if reason := recheck.Reason[0]; !strings.HasPrefix(reason, want) {
		t.Error(reason)
	}
}
