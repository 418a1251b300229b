package result

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// trials holds the consumed trials of one cell at one sample size, by repetition.
type trials struct {
	n      int64
	status []uint8 // unread where not read yet
	error  []float64
	kind   map[int64]string // of failed trials
	values map[string][]float64
	left   int64 // trials not read yet
}

const unread = 0xFF

// gather reads the trials of a cell that entered the result, and returns an element per point.
// Points ascend in N. It reports an error that names the first trial that is missing.
func gather(l *ledger.Ledger, c *trial.Cell, points []Point) ([]*trials, error) {
	all := make([]*trials, len(points))
	byN := map[int64]*trials{}
	for i, p := range points {
		if p.N < 1 || p.Consumed < int64(len(p.Lost)) || p.Consumed > ledger.MaxRepetition || i > 0 && p.N <= points[i-1].N {
			return nil, fmt.Errorf("cell %s: point of %d trials at n = %d: sample sizes must ascend",
				c.Key.Short(), p.Consumed, p.N)
		}
		t := &trials{n: p.N, left: p.Consumed, kind: map[int64]string{}, values: map[string][]float64{}}
		t.status = slices.Repeat([]uint8{unread}, int(p.Consumed))
		t.error = make([]float64, p.Consumed)
		t.lose(p.Lost)
		all[i], byN[p.N] = t, t
	}
	err := l.Each(c.Key, func(b *ledger.Batch) error {
		if t := byN[b.N]; t != nil {
			t.add(b)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.left > 0 {
			return nil, fmt.Errorf("trial %s/%d/%d is not in the ledger, and %d more: run the sweep again", c.Key.Short(), t.n,
				slices.Index(t.status, unread), t.left-1)
		}
	}
	return all, nil
}

// lose marks trials that have no outcome.
func (t *trials) lose(repetitions []int64) {
	for _, rep := range repetitions {
		t.status[rep], t.error[rep] = ledger.Lost, math.NaN()
		t.left--
	}
}

// add copies the rows of a batch that are among the first len(t.status) repetitions. Each trial
// comes once.
func (t *trials) add(b *ledger.Batch) {
	consumed := int64(len(t.status))
	for i, rep := range b.Repetition {
		if rep >= consumed {
			break
		}
		t.status[rep] = b.Status[i]
		t.error[rep] = b.Error[i]
		if kind := b.KindOf(i); kind != "" {
			t.kind[rep] = kind
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

// Success reports whether an outcome is a success: error - above <= alpha, as numeric.Within
// compares.
func Success(status uint8, err, above, alpha float64) bool {
	return status == ledger.OK && numeric.Within(err, above, alpha)
}

// Curve reads the trials of a cell that entered the result, and returns its rows of the curve, one
// per point, without Rate, RateLow and RateHigh. Points ascend in N. Where a trial is missing, the
// error names it.
func Curve(l *ledger.Ledger, c *trial.Cell, points []Point) ([]CurveRow, error) {
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

func (t *trials) curve(c *trial.Cell) CurveRow {
	r := CurveRow{Cell: c, N: t.n, Trials: int64(len(t.status))}
	r.Rate, r.RateLow, r.RateHigh = math.NaN(), math.NaN(), math.NaN()
	var errs []float64
	for i, status := range t.status {
		if status == ledger.OK {
			errs = append(errs, t.error[i])
		}
		if Success(status, t.error[i], c.Above, c.Alpha) {
			r.Successes++
		}
	}
	r.Lost = t.count(ledger.Lost)
	r.OK, r.Failed = int64(len(errs)), t.count(ledger.Failed)
	r.ErrorMean = mean(errs)
	r.ErrorLow, r.ErrorHigh = estimate.MeanInterval(r.ErrorMean, deviation(errs, r.ErrorMean), len(errs), 0.05)
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

// count returns the number of trials of a status.
func (t *trials) count(status uint8) (n int64) {
	for _, s := range t.status {
		if s == status {
			n++
		}
	}
	return n
}

// mean returns the mean of the values that are not NaN, summed in order, or NaN where all are.
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

// buildRows is the number of rows that are made into columns at a time.
const buildRows = 1 << 16

// writeTrials writes trials.parquet, one cell in memory at a time.
func (r *Result) writeTrials(w io.Writer) error {
	columns := slices.Clone(trialColumns)
	for _, name := range r.metrics() {
		columns = append(columns, trialMetric(name))
	}
	pw, err := sheet.NewResultWriter(w, "trials", plainTrials(columns))
	if err != nil {
		return err
	}
	for _, c := range r.Trials {
		var all []*trials
		if all, err = gather(r.Ledger, c.Cell, c.Points); err != nil {
			break
		}
		if err = writeCell(pw, c.Cell, all, columns); err != nil {
			break
		}
	}
	return cmp.Or(err, pw.Close())
}

func writeCell(w *sheet.ParquetWriter, c *trial.Cell, all []*trials, columns []trialColumn) error {
	for _, t := range all {
		for first := 0; first < len(t.status); first += buildRows {
			r := trialRange{t, c, first, min(first+buildRows, len(t.status))}
			err := w.Append(func(to []array.Builder) {
				for i, column := range columns {
					to[i].Reserve(r.last - r.first)
					column.build(r, to[i])
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
