package result

import (
	"strings"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// WithMetrics returns the table with the metrics of the curve as its last columns. For a cell these
// are the means at n_star or, if it has none, at the largest measured sample size; for a row of
// games, the means at its rounds.
func WithMetrics(table, curve *sheet.Sheet) *sheet.Sheet {
	star := "n_star"
	if table.Index(star) < 0 {
		star = "rounds"
	}
	type point struct{ cell, n any }
	rows, last := map[point]int{}, map[any]int{}
	for row := range curve.Len() {
		id := curve.Value(row, "cell")
		rows[point{id, curve.Value(row, "n")}] = row
		if old, known := last[id]; !known || curve.Number(old, "n") < curve.Number(row, "n") {
			last[id] = row
		}
	}
	joined := table
	for i, c := range curve.Columns {
		if !strings.HasPrefix(c.Name, schemas.MetricPrefix) {
			continue
		}
		joined = joined.Insert(len(joined.Columns), c, func(row int) any {
			id := table.Value(row, "cell")
			measured, known := last[id]
			if n := table.Value(row, star); n != nil {
				measured, known = rows[point{id, n}]
			}
			if !known {
				return nil
			}
			return curve.At(measured, i)
		})
	}
	return joined
}
