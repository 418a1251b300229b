package schemas_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/schemas"
)

// The footer of some rows tells of their cells alone.
func TestFooter(t *testing.T) {
	looks := &schemas.Looks{
		Share: 0.01,
		Cells: []schemas.CellLooks{{Cell: "a"}, {Cell: "b", Why: "too slow for more"}, {Cell: "c", Why: "lost"}},
		Contradictions: []schemas.Contradiction{
			{Cell: "a", What: "em", Cause: schemas.CauseChance}, {Cell: "c", What: "erm", Cause: schemas.CauseChance},
		},
		Notes: []string{"note of b", "note of c"},
	}
	none := &schemas.Looks{Cells: []schemas.CellLooks{{Cell: "a"}, {Cell: "b"}}, Notes: []string{"no second looks"}}
	for _, c := range []struct {
		looks *schemas.Looks
		cells string
		want  string // the begin of each line
	}{
		{looks, "abc", "integrity alarm: n* of em|integrity alarm: n* of erm|note of b|note of c"},
		{looks, "a", "integrity alarm: n* of em"},
		{looks, "b", "second looks: fewer than asked for at trials of 1 of these cells"},
		{looks, "bc", "integrity alarm: n* of erm|second looks: fewer than asked for at trials of 2 of these cells"},
		{none, "a", "no second looks"},
	} {
		shown := map[string]bool{}
		for _, cell := range c.cells {
			shown[string(cell)] = true
		}
		got, want := c.looks.Footer(shown), strings.Split(c.want, "|")
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s: %s, want %s", c.cells, fmt.Sprintf("%q", got), c.want)
		}
	}
}
