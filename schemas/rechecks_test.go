package schemas_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/schemas"
)

// The footer of some rows describes only their cells.
func TestFooter(t *testing.T) {
	rechecks := &schemas.Rechecks{
		Share: 0.01,
		Cells: []schemas.CellRechecks{{Cell: "a"}, {Cell: "b", Why: "too slow for more"}, {Cell: "c", Why: "lost"}},
		Contradictions: []schemas.Contradiction{
			{Cell: "a", What: "em", Cause: schemas.CauseChance}, {Cell: "c", What: "erm", Cause: schemas.CauseChance},
		},
		Notes: []string{"note of b", "note of c"},
	}
	none := &schemas.Rechecks{Cells: []schemas.CellRechecks{{Cell: "a"}, {Cell: "b"}}, Notes: []string{"no rechecks"}}
	for _, c := range []struct {
		rechecks *schemas.Rechecks
		cells    string
		want     string // beginning of each line
	}{
		{rechecks, "abc", "integrity alarm: n* of em|integrity alarm: n* of erm|note of b|note of c"},
		{rechecks, "a", "integrity alarm: n* of em"},
		{rechecks, "b", "rechecks: fewer than requested for trials of 1 of these cells"},
		{rechecks, "bc", "integrity alarm: n* of erm|rechecks: fewer than requested for trials of 2 of these cells"},
		{none, "a", "no rechecks"},
	} {
		shown := map[string]bool{}
		for _, cell := range c.cells {
			shown[string(cell)] = true
		}
		got, want := c.rechecks.Footer(shown), strings.Split(c.want, "|")
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s: %s, want %s", c.cells, fmt.Sprintf("%q", got), c.want)
		}
	}
}
