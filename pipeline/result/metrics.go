package result

import (
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// WithMetrics returns the table with the metrics of the curve as its last columns: of each cell their
// means at n_star or, where it has none, at the largest sample size that was measured; of a row of
// games, at its rounds.
func WithMetrics(table, curve *sheet.Sheet) *sheet.Sheet {
	cell, star := schemas.IndexOf(table.Columns, "cell"), schemas.IndexOf(table.Columns, "n_star")
	if star < 0 {
		star = schemas.IndexOf(table.Columns, "rounds")
	}
	of, at := schemas.IndexOf(curve.Columns, "cell"), schemas.IndexOf(curve.Columns, "n")
	if cell < 0 || of < 0 || at < 0 { // files may hold anything
		return table
	}
	var metrics []int
	joined := *table
	joined.Columns = slices.Clone(table.Columns)
	for i, c := range curve.Columns {
		if strings.HasPrefix(c.Name, schemas.MetricPrefix) {
			metrics, joined.Columns = append(metrics, i), append(joined.Columns, c)
		}
	}
	type point struct{ cell, n any }
	rows, last := map[point][]any{}, map[any][]any{}
	for _, row := range curve.Rows {
		rows[point{row[of], row[at]}] = row
		n, _ := row[at].(int64)
		if old := last[row[of]]; old == nil {
			last[row[of]] = row
		} else if most, _ := old[at].(int64); most < n {
			last[row[of]] = row
		}
	}
	joined.Rows = make([][]any, len(table.Rows))
	for j, row := range table.Rows {
		measured := last[row[cell]]
		if star >= 0 && row[star] != nil {
			measured = rows[point{row[cell], row[star]}]
		}
		joined.Rows[j] = slices.Clone(row)
		for _, i := range metrics {
			var mean any
			if measured != nil {
				mean = measured[i]
			}
			joined.Rows[j] = append(joined.Rows[j], mean)
		}
	}
	return &joined
}
