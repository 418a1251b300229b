package result

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// trials is the consumed trials of one cell at one sample size, by repetition.
type trials struct {
	n      int64
	status []uint8 // unread where not read yet
	error  []float64
	kind   map[int64]string // of failed trials
	values map[string][]float64
	left   int64 // trials not read yet
}

const unread = 0xFF

// gather reads the trials of a cell that entered the result, one element per point.
func gather(l *ledger.Ledger, c *Cell, points []Point) ([]*trials, error) {
	all := make([]*trials, len(points))
	byN := map[int64]*trials{}
	for i, p := range points {
		if p.N < 1 || p.Consumed < 0 || p.Consumed > ledger.MaxRepetition || i > 0 && p.N <= points[i-1].N {
			return nil, fmt.Errorf("cell %s: point of %d trials at n = %d: sample sizes must ascend", c.id(), p.Consumed, p.N)
		}
		t := &trials{n: p.N, left: p.Consumed, kind: map[int64]string{}, values: map[string][]float64{}}
		t.status = slices.Repeat([]uint8{unread}, int(p.Consumed))
		t.error = make([]float64, p.Consumed)
		all[i], byN[p.N] = t, t
	}
	err := l.Each(c.Key, func(b *ledger.Batch) error {
		if t := byN[b.N]; t != nil {
			t.take(b)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.left > 0 {
			return nil, fmt.Errorf("trial %s/%d/%d is not in the ledger, and %d more: run the sweep again", c.id(), t.n,
				slices.Index(t.status, unread), t.left-1)
		}
	}
	return all, nil
}

// take copies the rows of a batch that are among the first len(t.status) repetitions. Each trial comes once.
func (t *trials) take(b *ledger.Batch) {
	consumed := int64(len(t.status))
	for i, rep := range b.Repetition {
		if rep >= consumed {
			break
		}
		t.status[rep] = b.Status[i]
		t.error[rep] = b.Error[i]
		if b.Kind != nil && b.Kind[i] != "" {
			t.kind[rep] = b.Kind[i]
		}
		t.left--
	}
	for m, name := range b.Metrics {
		v := t.values[name]
		if v == nil {
			v = slices.Repeat([]float64{math.NaN()}, len(t.status))
			t.values[name] = v
		}
		for i, rep := range b.Repetition {
			if rep >= consumed {
				break
			}
			v[rep] = b.Values[m][i]
		}
	}
}

// Success says whether an outcome is a success: error - above <= alpha, compared after adding 1e-12 to alpha.
func Success(status uint8, err, above, alpha float64) bool {
	return status == ledger.OK && err-above <= alpha+1e-12
}

// Curve reads the trials of a cell that entered the result, and makes its rows of the curve, one per point, but for Rate,
// RateLow and RateHigh. Points ascend in N. A trial that is missing is an error that names it.
func Curve(l *ledger.Ledger, c *Cell, points []Point) ([]CurveRow, error) {
	all, err := gather(l, c, points)
	if err != nil {
		return nil, fmt.Errorf("make curve: %w", err)
	}
	rows := make([]CurveRow, len(all))
	for i, t := range all {
		rows[i] = t.curve(c)
	}
	return rows, nil
}

func (t *trials) curve(c *Cell) CurveRow {
	r := CurveRow{Cell: c, N: t.n, Trials: int64(len(t.status)), Rate: math.NaN(), RateLow: math.NaN(), RateHigh: math.NaN()}
	var errs []float64
	for i, status := range t.status {
		if status == ledger.OK {
			errs = append(errs, t.error[i])
		}
		if Success(status, t.error[i], c.Above, c.Alpha) {
			r.Successes++
		}
	}
	r.OK, r.Failed = int64(len(errs)), r.Trials-int64(len(errs))
	r.ErrorMean = mean(errs)
	r.ErrorP90 = math.NaN()
	if len(errs) > 0 {
		slices.Sort(errs)
		r.ErrorP90 = errs[(9*len(errs)+9)/10-1]
	}
	for name, v := range t.values {
		if m := mean(v); !math.IsNaN(m) {
			if r.Metrics == nil {
				r.Metrics = map[string]float64{}
			}
			r.Metrics[name] = m
		}
	}
	return r
}

// mean is the mean of what is not NaN, summed in order; NaN where all is.
func mean(v []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range v {
		if x == x {
			sum += x
			n++
		}
	}
	return sum / float64(n)
}

// buildRows is the rows that are made into columns at a time.
const buildRows = 1 << 16

// writeTrials writes trials.parquet, one cell in memory at a time.
func (r *Result) writeTrials(w io.Writer) error {
	metrics := r.metrics()
	pw, err := sheet.NewResultWriter(w, "trials", slices.Concat(schemas.TrialColumns(), metrics))
	if err != nil {
		return err
	}
	for _, c := range r.Trials {
		var all []*trials
		if all, err = gather(r.Ledger, c.Cell, c.Points); err != nil {
			break
		}
		if err = writeCell(pw, c.Cell, all, metrics); err != nil {
			break
		}
	}
	return cmp.Or(err, pw.Close())
}

func writeCell(w *sheet.ParquetWriter, c *Cell, all []*trials, metrics []schemas.Column) error {
	for _, t := range all {
		for first := 0; first < len(t.status); first += buildRows {
			last := min(first+buildRows, len(t.status))
			err := w.Append(func(to []array.Builder) { t.Build(c, metrics, first, last, to) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// build appends the trials first to last-1 to the builders of schemas.TrialColumns and of the metrics.
func (t *trials) Build(c *Cell, metrics []schemas.Column, first, last int, to []array.Builder) {
	id := c.id()
	for _, b := range to {
		b.Reserve(last - first)
	}
	for rep := first; rep < last; rep++ {
		status := t.status[rep]
		to[0].(*array.StringBuilder).Append(id)
		to[1].(*array.Int64Builder).Append(t.n)
		to[2].(*array.Int64Builder).Append(int64(rep))
		if status == ledger.OK {
			to[3].(*array.StringBuilder).Append("ok")
			to[4].AppendNull()
		} else {
			to[3].(*array.StringBuilder).Append("failed")
			appendText(to[4], t.kind[int64(rep)])
		}
		appendFloat(to[5], t.error[rep])
		if c.goal() {
			to[6].(*array.BooleanBuilder).Append(Success(status, t.error[rep], c.Above, c.Alpha))
		} else {
			to[6].AppendNull()
		}
	}
	for i, metric := range metrics {
		b := to[len(to)-len(metrics)+i]
		v := t.values[strings.TrimPrefix(metric.Name, schemas.MetricPrefix)]
		for rep := first; rep < last; rep++ {
			if v == nil {
				b.AppendNull()
			} else {
				appendFloat(b, v[rep])
			}
		}
	}
}

// appendFloat appends v, with 0 for -0 and null for NaN.
func appendFloat(b array.Builder, v float64) {
	switch {
	case math.IsNaN(v):
		b.AppendNull()
	case v == 0:
		b.(*array.Float64Builder).Append(0)
	default:
		b.(*array.Float64Builder).Append(v)
	}
}

func appendText(b array.Builder, v string) {
	if v == "" {
		b.AppendNull()
	} else {
		b.(*array.StringBuilder).Append(v)
	}
}
