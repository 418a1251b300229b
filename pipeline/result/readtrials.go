package result

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// Outcomes holds what trials.parquet says of one cell at one sample size, by repetition.
type Outcomes struct {
	Success []bool
	Error   []float64 // NaN where the trial failed
	Metric  []float64 // the one asked for; NaN where it was not reported
}

// ReadTrials reads the trials of a result folder that entered its tables, by cell (as the column
// cell names it) and sample size. metric names a metric to read as well; where it is empty, Metric
// is nil. The result takes 9 or 17 bytes a trial.
func ReadTrials(dir, metric string) (map[string]map[int64]*Outcomes, error) {
	path := filepath.Join(dir, "trials.parquet")
	t := &trialReader{metric: metric, all: map[string]map[int64]*Outcomes{}}
	if err := sheet.ReadParquet(path, "trials", t.read); err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return t.all, nil
}

// trialReader collects the rows of a file.
type trialReader struct {
	metric string
	all    map[string]map[int64]*Outcomes
	cell   string // of the last row
	n      int64
	to     *Outcomes
}

func (t *trialReader) read(r *sheet.Reader) error {
	names := []string{"cell", "n", "repetition", "success", "error"}
	types := []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64,
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Float64}
	if t.metric != "" {
		names, types = append(names, schemas.MetricPrefix+t.metric), append(types, arrow.PrimitiveTypes.Float64)
	}
	columns := make([]*pqarrow.ColumnReader, len(names))
	for i, name := range names {
		c, err := r.OpenColumn(name, types[i])
		if err != nil {
			return err
		}
		defer c.Release()
		columns[i] = c
	}
	for group := range r.File.NumRowGroups() { // a whole one, so that the columns keep step
		rows := r.File.MetaData().RowGroup(group).NumRows()
		if rows == 0 {
			continue
		}
		batch := make([]arrow.Array, len(columns))
		for i, c := range columns {
			var err error
			if batch[i], err = nextBatch(c, rows); err != nil {
				return fmt.Errorf("column %q: %w", names[i], err)
			}
		}
		if err := t.add(batch); err != nil {
			return err
		}
	}
	return nil
}

// nextBatch reads the given number of values of a column, in one piece.
func nextBatch(c *pqarrow.ColumnReader, rows int64) (arrow.Array, error) {
	data, err := c.NextBatch(rows)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	if int64(data.Len()) != rows {
		return nil, fmt.Errorf("%d values for %d rows", data.Len(), rows)
	}
	return array.Concatenate(data.Chunks(), memory.DefaultAllocator)
}

// add collects the rows of one batch: cell, n, repetition, success, error and, if asked for, the
// metric.
func (t *trialReader) add(batch []arrow.Array) error {
	cell, n, repetition := batch[0].(*array.String), batch[1].(*array.Int64), batch[2].(*array.Int64)
	success, failure := batch[3].(*array.Boolean), batch[4].(*array.Float64)
	for i := range cell.Len() {
		if id := cell.Value(i); t.to == nil || id != t.cell || n.Value(i) != t.n {
			t.begin(id, n.Value(i))
		}
		if repetition.IsNull(i) || repetition.Value(i) != int64(len(t.to.Error)) {
			return fmt.Errorf("repetition %d of cell %q at n = %d is not where it belongs", len(t.to.Error), t.cell, t.n)
		}
		t.to.Success = append(t.to.Success, success.IsValid(i) && success.Value(i))
		t.to.Error = append(t.to.Error, floatAt(failure, i))
		if len(batch) > 5 {
			t.to.Metric = append(t.to.Metric, floatAt(batch[5].(*array.Float64), i))
		}
	}
	return nil
}

// begin makes a cell and a sample size those that rows are added to.
func (t *trialReader) begin(cell string, n int64) {
	t.cell, t.n = strings.Clone(cell), n
	sizes := t.all[t.cell]
	if sizes == nil {
		sizes = map[int64]*Outcomes{}
		t.all[t.cell] = sizes
	}
	if sizes[n] == nil {
		sizes[n] = new(Outcomes)
	}
	t.to = sizes[n]
}

// floatAt returns value i, or NaN where it is null.
func floatAt(a *array.Float64, i int) float64 {
	if a.IsNull(i) {
		return math.NaN()
	}
	return a.Value(i)
}
