package result

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A row shows bounds that hold, except bounds that are only orders of magnitude.
func TestTableRowBounds(t *testing.T) {
	proved := func(n float64) *pluginv1.Bound { return &pluginv1.Bound{Name: "p", Value: n, Proved: true} }
	printed := func(n float64) *pluginv1.Bound { return &pluginv1.Bound{Name: "q", Value: n} }
	failing := func(b *pluginv1.Bound) *pluginv1.Bound {
		b.Fails = "labels are noisy"
		return b
	}
	order := &pluginv1.Bound{Name: "o", Value: 5, Order: true}
	for _, c := range []struct {
		bounds        []*pluginv1.Bound
		theory, paper float64
	}{
		{[]*pluginv1.Bound{proved(30), proved(20), printed(50), printed(40)}, 20, 50},
		{[]*pluginv1.Bound{failing(proved(10)), proved(20), failing(printed(30)), printed(40)}, 20, 40},
		{[]*pluginv1.Bound{proved(20), order, printed(40)}, 20, 40},
		{[]*pluginv1.Bound{proved(20), order}, 20, 0},
	} {
		x := decision.Of(&trial.Cell{Bounds: c.bounds}, nil)
		row := tableRow(x, estimate.Result{Status: estimate.StatusFailed})
		if row.Theory.Value != c.theory || row.PaperN != c.paper || (row.PaperSource != "") != (c.paper > 0) {
			t.Errorf("%v: theory_n %v, paper_n %v %q", c.bounds, row.Theory.Value, row.PaperN, row.PaperSource)
		}
	}
}

// A row of games shows the reported bound or, if there is none, the least regret that a bound with
// a unit states for its number of rounds.
func TestGameRowBounds(t *testing.T) {
	bound := func(unit string, value float64) *pluginv1.Bound {
		return &pluginv1.Bound{Name: unit, Unit: unit, Value: value, Proved: true}
	}
	printed := func(b *pluginv1.Bound) *pluginv1.Bound {
		b.Proved = false
		return b
	}
	none := math.NaN()
	for _, c := range []struct {
		bounds        []*pluginv1.Bound
		rounds        int64
		reported      float64
		theory, paper float64
		excess        [2]float64 // mean and standard deviation
		why           string
	}{
		{[]*pluginv1.Bound{bound("", 7)}, 20, none, none, none, [2]float64{none, none}, ": not reported of every sequence"},
		{[]*pluginv1.Bound{bound("", 7)}, 20, 5, 5, none, [2]float64{none, none}, ""},
		{[]*pluginv1.Bound{bound("regret", 7)}, 20, 5, 5, none, [2]float64{none, none}, ""},
		{[]*pluginv1.Bound{bound("regret", 7)}, 20, none, 7, none, [2]float64{-1, 2}, ""},
		{[]*pluginv1.Bound{bound("mistakes", 7)}, 20, none, 4, none, [2]float64{2, 9}, ""},
		{[]*pluginv1.Bound{bound("regret", 7), bound("mistakes", 7)}, 20, none, 4, none, [2]float64{2, 9}, ""},
		{[]*pluginv1.Bound{bound("mistakes", 7), bound("regret", 7)}, 20, none, 4, none, [2]float64{2, 9}, ""},
		{[]*pluginv1.Bound{bound("regret", 7)}, 10, none, none, none, [2]float64{none, none},
			"regret: stated for 20 rounds, and not reported of every sequence"},
		{[]*pluginv1.Bound{bound("regret", math.Inf(1))}, 20, none, none, none, [2]float64{none, none},
			"regret: not reported of every sequence"},
		{[]*pluginv1.Bound{printed(bound("mistakes", 7))}, 20, none, none, 4, [2]float64{none, none}, ""},
		{[]*pluginv1.Bound{printed(bound("", 7))}, 20, none, none, none, [2]float64{none, none}, ""},
	} {
		row := GameRow{
			Cell: &trial.Cell{Bounds: c.bounds, N: []int64{10, 20}}, Rounds: c.rounds, BestLoss: 3,
			RegretMean: 6, RegretDeviation: 2, LossDeviation: 9, PaperRegret: none, ExcessMean: none, ExcessDeviation: none,
		}
		row.Theory.Value = c.reported
		setRegretBounds(&row)
		got := []any{row.Theory.Value, row.PaperRegret, [2]float64{row.ExcessMean, row.ExcessDeviation}, row.Theory.Missing}
		if d := cmp.Diff([]any{c.theory, c.paper, c.excess, c.why}, got, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%v, %d rounds, reported %v: %s", c.bounds, c.rounds, c.reported, d)
		}
		if (row.Theory.Source != "") != (c.theory == c.theory) || (row.PaperSource != "") != (c.paper == c.paper) {
			t.Errorf("%v: sources %q and %q", c.bounds, row.Theory.Source, row.PaperSource)
		}
	}
}
