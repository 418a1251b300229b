package result

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Every column of every file has a unique name and a doc.
func TestColumns(t *testing.T) {
	for _, name := range []string{"table", "games", "curve", "bounds", "fits", "trials", "timing"} {
		seen := map[string]bool{}
		for _, c := range Columns(name) {
			if c.Name == "" || seen[c.Name] || c.Doc == "" {
				t.Errorf("%s: %+v", name, c)
			}
			seen[c.Name] = true
		}
	}
}

// Every column returns values of its type for rows to which it applies, and values of its type or
// nulls for empty rows.
func TestColumnsReadTheirTypes(t *testing.T) {
	theory := Theory{Value: 4, Source: "t", Standing: trial.Proved, Missing: "m", Contradicts: "c"}
	population := &trial.Population{Positive: 0.25}
	c := &trial.Cell{
		Problem: &schemas.Problem{}, Alpha: 0.1, Prior: &trial.Prior{Success: 0.2}, Population: population,
	}
	c.Evaluation = &problem.Evaluation{Words: "exact"}
	c.Guarantee = &pluginv1.Guarantee{Source: "t", Rho: 0.1, Mu: 0.2}
	checkColumns(t, tableColumns, TableRow{
		Cell: c, NLow: 1, NHigh: 2, NStar: 2, NModel: 1.5, NModelLow: 1, NModelHigh: 2, Status: "s", Reason: "r",
		Privacy: PrivacyCheck{1, "u", "c"}, Theory: theory, PaperN: 5, PaperSource: "p", Trials: 9, Failed: 1, MeanError: 0.1,
	}, TableRow{Cell: &trial.Cell{Problem: &schemas.Problem{}, Evaluation: &problem.Evaluation{}}})
	checkColumns(t, gameColumns, GameRow{
		Cell: c, Rounds: 1, Trials: 2, Failed: 1, RegretMean: 1, RegretDeviation: 1, RegretLow: 1, RegretHigh: 2,
		Theory: theory, PaperRegret: 4, PaperSource: "p",
	}, GameRow{Cell: c})
	checkColumns(t, curveColumns, CurveRow{Cell: c}, CurveRow{
		Cell: &trial.Cell{Problem: &schemas.Problem{}, Evaluation: &problem.Evaluation{}},
	})
	checkColumns(t, boundColumns, BoundRow{
		Cell: c, Name: "n", Value: 1, Source: "s", Standing: trial.Proved, Fails: "f",
	}, BoundRow{Cell: c})
	checkColumns(t, fitColumns, FitRow{
		Group: "g", Algorithm: "a", Model: "power", Term: "d", Y: "n_model", Claimed: 1, ClaimedSource: "s",
		Verdict: "v", Reason: "r",
	}, FitRow{})
	checkColumns(t, timingColumns,
		TimingRow{Cell: c, Seconds: 2, PluginSeconds: 1, Worker: "w", Digest: "d", Profile: "p"}, TimingRow{Cell: c})
}

func checkColumns[R any](t *testing.T, columns []schemas.ColumnOf[R], full, empty R) {
	t.Helper()
	for _, c := range columns {
		if v := c.Value(&full); v == nil || schemas.TypeOf(v) != c.Type {
			t.Errorf("%s of %+v: %T %v in a column of %s", c.Name, full, v, v, c.Type)
		}
		if v := c.Value(&empty); v != nil && schemas.TypeOf(v) != c.Type {
			t.Errorf("%s of %+v: %T %v in a column of %s", c.Name, empty, v, v, c.Type)
		}
	}
}
