package result

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// The table of online games has a row per number of rounds, with the means and the maximum over the
// trials that did not fail, and nulls if nothing was reported.
func TestGames(t *testing.T) {
	l := ledgertest.Open(t, "")
	c := &trial.Cell{
		Key: trial.Key{7}, Task: "online", As: "soa",
		Adversary: &schemas.Adversary{Kind: "random"}, N: []int64{10, 20, 30},
		Bounds:  []*pluginv1.Bound{{Name: "reported", Proved: true}},
		Problem: &schemas.Problem{Class: "points", Noise: schemas.Noise{Kind: "none"}}, Evaluation: &problem.Evaluation{},
	}
	send := func(n int64, mistakes, regret, proved []float64) {
		b := &ledger.Batch{Sweep: "s", Cell: c.Key, N: n, Metrics: []string{task.Mistakes, theory.ProvedRegret, task.Regret},
			Values: [][]float64{mistakes, proved, regret}}
		for rep := range mistakes {
			b.Repetition, b.Status, b.Error = append(b.Repetition, int64(rep)), append(b.Status, ledger.OK), append(b.Error, 0.5)
		}
		last := len(mistakes) - 1 // the last trial failed
		b.Status[last], b.Error[last] = ledger.Failed, math.NaN()
		b.Kind, b.Reason = make([]string, last+1), make([]string, last+1)
		b.Kind[last], b.Reason[last] = "panic", "!"
		ledgertest.Add(t, l, b)
	}
	none := math.NaN()
	send(10, []float64{3, 5, 4, none}, []float64{-1, 2, 2, none}, []float64{5, none, 1, none})
	send(20, []float64{1, none}, []float64{7, none}, []float64{6.5, none})
	send(30, []float64{3, 5, 4, none}, []float64{-1, 2, 2, none}, []float64{5, 1, 3, none})
	rows, err := gamesOf(l, c, []Point{{N: 10, Consumed: 4}, {N: 20, Consumed: 2}, {N: 30, Consumed: 4}})
	if err != nil {
		t.Fatal(err)
	}
	r := rows[0]
	if r.Rounds != 10 || r.Trials != 4 || r.Failed != 1 || r.MistakesMean != 4 || r.MistakesMax != 5 ||
		r.RegretMean != 1 || math.Abs(r.RegretDeviation-math.Sqrt(3)) > 1e-12 {
		t.Errorf("%+v", r)
	}
	if !math.IsNaN(r.BestLoss) || !math.IsNaN(r.Theory.Value) || !math.IsNaN(rows[1].RegretDeviation) {
		t.Errorf("%+v", rows)
	}
	for i, want := range [][3]float64{ // bound; mean and standard deviation of the excess over it
		{none, none, none}, {6.5, 0.5, none}, {3, -2, math.Sqrt(13)},
	} {
		r := rows[i]
		if d := cmp.Diff(want, [3]float64{r.Theory.Value, r.ExcessMean, r.ExcessDeviation}, cmpopts.EquateNaNs(),
			cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Errorf("%d rounds: %s", r.Rounds, d)
		}
	}
	_, err = gamesOf(l, c, []Point{{N: 10, Consumed: 5}})
	if err == nil || !strings.Contains(err.Error(), "is not in the ledger") {
		t.Errorf("a trial that is missing: %v", err)
	}
	sheet, err := (&Result{Games: rows}).Sheet("table")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := render.Render(sheet, &b, "csv"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	const names = "rounds,predictable,trials,failed,lost,mistakes_mean,mistakes_max,best_loss,regret_mean"
	if !strings.Contains(lines[0], names) ||
		!strings.Contains(lines[1], ",10,false,4,1,0,4,5,,1,") {
		t.Errorf("%s", b.String())
	}
}

// A bound that no game can exceed is no bound: the row says so instead.
func TestTrivialRegretBound(t *testing.T) {
	reported := &pluginv1.Bound{Name: "reported", Proved: true}
	stated := &pluginv1.Bound{Name: "stated", Proved: true, Unit: theory.Regret}
	for _, c := range []struct {
		bound *pluginv1.Bound
		value float64
		want  float64
	}{{reported, 7, 7}, {reported, 8, math.NaN()}, {stated, 7, 7}, {stated, 8, math.NaN()}} {
		row := GameRow{Cell: &trial.Cell{N: []int64{10}}, Rounds: 10, BestLoss: 2, PaperRegret: math.NaN()}
		if row.Theory.Value = c.value; c.bound == stated {
			row.Theory.Value, stated.Value = math.NaN(), c.value
		}
		row.Cell.Bounds = []*pluginv1.Bound{c.bound}
		setRegretBounds(&row)
		if d := cmp.Diff(c.want, row.Theory.Value, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%s %v: %s", c.bound.Name, c.value, d)
		}
		if said := strings.Contains(row.Theory.Missing, "no learner can exceed"); said != math.IsNaN(c.want) {
			t.Errorf("%s %v: reason %q", c.bound.Name, c.value, row.Theory.Missing)
		}
	}
}
