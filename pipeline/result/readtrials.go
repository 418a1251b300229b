package result

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// Outcomes holds the outcomes of one cell at one sample size in trials.parquet, by repetition.
type Outcomes struct {
	Success []bool
	Error   []float64 // NaN if the trial failed
	Metric  []float64 // values of the requested metric; NaN if not reported
}

// ReadTrials reads the trials of a result folder that entered its tables, by cell (as the column
// cell names it) and sample size. metric names a metric to read as well; if it is empty, Metric
// is nil. The result takes 9 or 17 bytes per trial.
func ReadTrials(dir, metric string) (map[string]map[int64]*Outcomes, error) {
	path := filepath.Join(dir, "trials.parquet")
	all := map[string]map[int64]*Outcomes{}
	err := sheet.ReadParquet(path, "trials", func(r *sheet.Reader) error {
		wanted := []schemas.Column{{Name: "cell", Type: schemas.TextColumn}, {Name: "n", Type: schemas.IntColumn},
			{Name: "repetition", Type: schemas.IntColumn}, {Name: "success", Type: schemas.BoolColumn},
			{Name: "error", Type: schemas.FloatColumn}}
		if metric != "" {
			wanted = append(wanted, metricColumn(metric))
		}
		var columns []int
		for _, c := range wanted {
			i, err := r.FindColumn(c.Name, sheet.ArrowType(c.Type))
			if err != nil {
				return err
			}
			columns = append(columns, i)
		}
		return r.Batches(columns, func(batch []arrow.Array) error { return addOutcomes(all, batch) })
	})
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return all, nil
}

// addOutcomes adds the rows of a batch: cell, n, repetition, success, error and, if requested, the
// metric.
func addOutcomes(all map[string]map[int64]*Outcomes, batch []arrow.Array) error {
	cell, n, repetition := batch[0].(*array.String), batch[1].(*array.Int64), batch[2].(*array.Int64)
	success, failure := batch[3].(*array.Boolean), batch[4].(*array.Float64)
	var to *Outcomes
	for i := range cell.Len() {
		if to == nil || cell.Value(i) != cell.Value(i-1) || n.Value(i) != n.Value(i-1) {
			id := strings.Clone(cell.Value(i))
			if all[id] == nil {
				all[id] = map[int64]*Outcomes{}
			}
			if all[id][n.Value(i)] == nil {
				all[id][n.Value(i)] = new(Outcomes)
			}
			to = all[id][n.Value(i)]
		}
		if repetition.IsNull(i) || repetition.Value(i) != int64(len(to.Error)) {
			return fmt.Errorf("repetition %d of cell %q at n = %d is not where it belongs",
				len(to.Error), cell.Value(i), n.Value(i))
		}
		to.Success = append(to.Success, success.IsValid(i) && success.Value(i))
		to.Error = append(to.Error, floatAt(failure, i))
		if len(batch) > 5 {
			to.Metric = append(to.Metric, floatAt(batch[5].(*array.Float64), i))
		}
	}
	return nil
}

// floatAt returns element i, or NaN if it is null.
func floatAt(a *array.Float64, i int) float64 {
	if a.IsNull(i) {
		return math.NaN()
	}
	return a.Value(i)
}
