package sheet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/schemas"
)

// textOf returns a sheet's header and rows, one line each.
func textOf(s *Sheet) string {
	var lines []string
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	lines = append(lines, strings.Join(names, " "))
	for row := range s.Rows() {
		lines = append(lines, strings.Trim(fmt.Sprint(row), "[]"))
	}
	return strings.Join(lines, "|")
}

func TestChoose(t *testing.T) {
	s := Of("table", []schemas.Column{
		{Name: "cell", Type: schemas.TextColumn}, {Name: "n", Type: schemas.IntColumn},
		{Name: "p_eta", Type: schemas.FloatColumn}, {Name: "held", Type: schemas.BoolColumn},
	}, []any{"a", int64(10), 0.5, true}, []any{"b", int64(9), nil, false}, []any{"c", int64(10), 0.25, false},
		[]any{"d", nil, 2.0, true})
	for _, c := range []struct{ columns, sort, want string }{
		{"", "", "cell n p_eta held|a 10 0.5 true|b 9 <nil> false|c 10 0.25 false|d <nil> 2 true"},
		{"eta cell eta", "", "p_eta cell p_eta|0.5 a 0.5|<nil> b <nil>|0.25 c 0.25|2 d 2"},
		{"cell", "n", "cell|b|a|c|d"},
		{"cell", "-n eta", "cell|c|a|b|d"},
		{"cell", "eta", "cell|c|a|d|b"},
		{"cell", "-eta", "cell|d|a|c|b"},
		{"cell", "held -cell", "cell|c|b|d|a"},
		{"cell", "-x", "x: table has no such column; it has cell, n, p_eta, held"},
		{"hled", "n", "hled: table has no such column, did you mean held?"},
	} {
		sorted, err := s.Sort(strings.Fields(c.sort)...)
		var chosen []int
		if err == nil {
			chosen, err = s.FindAll(strings.Fields(c.columns))
		}
		got := fmt.Sprint(err)
		if err == nil {
			got = textOf(sorted.Select(chosen))
		}
		if got != c.want {
			t.Errorf("columns %q sort %q: %s, want %s", c.columns, c.sort, got, c.want)
		}
	}
	bounds := Of("bounds", []schemas.Column{{Name: "cell"}, {Name: "n"}}, []any{"c", 1}, []any{"a", 2}, []any{"x", 3})
	joined := bounds.WithColumns(s, func(name string) bool { return name != "held" })
	if got, want := textOf(joined), "cell p_eta n|c 0.25 1|a 0.5 2|x <nil> 3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := textOf(bounds); got != "cell n|c 1|a 2|x 3" {
		t.Errorf("the sheet itself changed: %s", got)
	}
}
