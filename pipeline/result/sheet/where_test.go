package sheet_test

import (
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

func TestWhere(t *testing.T) {
	columns := []schemas.Column{
		{Name: "cell", Type: schemas.TextColumn}, {Name: "epsilon", Type: schemas.FloatColumn},
		{Name: "noise", Type: schemas.TextColumn}, {Name: "p_rounds", Type: schemas.IntColumn},
	}
	s := sheet.Of("table", columns,
		[]any{"a", 0.5, "none", int64(10)},
		[]any{"b", 0.5, "random", int64(20)},
		[]any{"c", 1.0, "random", int64(10)},
		[]any{"d", nil, "random", nil},
	)
	for _, x := range []struct{ where, want string }{
		{"", "abcd"},
		{"epsilon=0.5", "ab"},
		{"epsilon=5e-1", "ab"},
		{"epsilon=0.5,1", "abc"},
		{"epsilon=none", "d"},
		{"noise=none", "a"},
		{"rounds=10", "ac"},
		{"p_rounds=10 epsilon=1", "c"},
		{"rounds=20 epsilon=1", "error: no row meets all 2 conditions: each is met by some, but not together"},
		{"epsilon=2", "error: epsilon=2: no row has this value; there are 0.5, 1, none"},
		{"epsilon=0.5,2", "error: epsilon=2: no row has this value; there are 0.5, 1, none"},
		{"epsilo=2", "error: epsilo: table has no such column, did you mean epsilon?"},
		{"round=2", "error: round: table has no such column, did you mean rounds?"},
		{"privacy=2", "error: privacy: table has no such column; it has cell, epsilon, noise, p_rounds"},
		{"epsilon=0.5,noise=random", "error: epsilon=0.5,noise=random: a second condition needs a --where of its own"},
		{"epsilon", `error: "epsilon": key=value is needed, like epsilon=0.5, or key=value,value`},
		{"epsilon=", `error: "epsilon=": key=value is needed, like epsilon=0.5, or key=value,value`},
	} {
		got := ""
		conditions, err := sheet.ParseConditions(strings.Fields(x.where))
		if err == nil {
			var kept *sheet.Sheet
			if kept, err = s.Where(conditions...); err == nil {
				for row := range kept.Rows() {
					got += row[0].(string)
				}
			}
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != x.want {
			t.Errorf("--where %q keeps %s, not %s", x.where, got, x.want)
		}
	}
	if s.Len() != 4 {
		t.Error("the sheet itself has lost rows")
	}
}
