package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

func TestWithMetrics(t *testing.T) {
	text, whole := schemas.TextColumn, schemas.IntColumn
	columns := []schemas.Column{{Name: "cell", Type: text}, {Name: "n", Type: whole}, metricColumn("a"), metricColumn("b")}
	curve := sheet.Of("curve", columns,
		[]any{"x", int64(20), 0.2, nil}, []any{"x", int64(10), 0.1, 1.5}, []any{"x", int64(5), 0.0, 7.0},
		[]any{"y", int64(9), 0.9, 9.0}, []any{"y", int64(30), 0.3, nil}, []any{"y", int64(10), 8.0, 8.0})
	for _, tt := range []struct {
		name string
		row  []any
		want []any
	}{
		{"at n_star", []any{"x", int64(10)}, []any{0.1, 1.5}},
		{"at the largest n", []any{"x", nil}, []any{0.2, nil}},
		{"another cell, by number and not by digits", []any{"y", nil}, []any{0.3, nil}},
		{"of another cell alone", []any{"y", int64(20)}, []any{nil, nil}},
		{"not measured", []any{"z", nil}, []any{nil, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := sheet.Of("table", []schemas.Column{{Name: "cell", Type: text}, {Name: "n_star", Type: whole}}, tt.row)
			got := WithMetrics(table, curve)
			if diff := cmp.Diff(tt.want, got.Row(0)[2:]); diff != "" {
				t.Error(diff)
			}
			if len(table.Columns) != 2 || len(table.Row(0)) != 2 {
				t.Error("the table itself has changed")
			}
		})
	}
	games := sheet.Of("table", []schemas.Column{{Name: "cell", Type: text}, {Name: "rounds", Type: whole}},
		[]any{"y", int64(9)})
	if diff := cmp.Diff([]any{"y", int64(9), 0.9, 9.0}, WithMetrics(games, curve).Row(0)); diff != "" {
		t.Error("games:", diff)
	}
}
