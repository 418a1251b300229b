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
	cell, star := schemas.IndexOf(table.Columns, "cell"), schemas.IndexOf(table.Columns, "n_star")
	if star < 0 {
		star = schemas.IndexOf(table.Columns, "rounds")
	}
	of, at := schemas.IndexOf(curve.Columns, "cell"), schemas.IndexOf(curve.Columns, "n")
	if cell < 0 || of < 0 || at < 0 { // files may hold anything
		return table
	}
	type point struct{ cell, n any }
	rows, last := map[point]int{}, map[any]int{}
	for row := range curve.Len() {
		id := curve.At(row, of)
		rows[point{id, curve.At(row, at)}] = row
		n, _ := curve.At(row, at).(int64)
		old, known := last[id]
		if !known {
			last[id] = row
		} else if most, _ := curve.At(old, at).(int64); most < n {
			last[id] = row
		}
	}
	joined := table
	for i, c := range curve.Columns {
		if !strings.HasPrefix(c.Name, schemas.MetricPrefix) {
			continue
		}
		joined = joined.Insert(len(joined.Columns), c, func(row int) any {
			id := table.At(row, cell)
			measured, known := last[id]
			if star >= 0 && table.At(row, star) != nil {
				measured, known = rows[point{id, table.At(row, star)}]
			}
			if !known {
				return nil
			}
			return curve.At(measured, i)
		})
	}
	return joined
}
