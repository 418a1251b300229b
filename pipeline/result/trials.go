package result

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"unique"

	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// trials holds the outcomes of a cell at one sample size that enter the result, by repetition.
type trials struct {
	cell   *trial.Cell
	n      int64
	final  int64   // number of the last trials that a search read after its decision
	status []uint8 // unread if the ledger has not returned the trial yet
	error  []float64
	kind   map[int64]string // kinds of failed trials
	values map[string][]float64
	judged []float64 // error, or regret per round: see decision.Judged
}

const unread = 0xFF

func nans(n int64) []float64 { return slices.Repeat([]float64{math.NaN()}, int(n)) }

// column returns the values of a metric; NaN if a trial has none.
func (t *trials) column(metric string) []float64 {
	if t.values[metric] == nil {
		t.values[metric] = nans(int64(len(t.status)))
	}
	return t.values[metric]
}

// readTrials reads the trials of a point. The error names the first missing trial.
func readTrials(l *ledger.Ledger, c *trial.Cell, p Point) (*trials, error) {
	t := &trials{cell: c, n: p.N, final: p.Final, kind: map[int64]string{}, values: map[string][]float64{},
		status: slices.Repeat([]uint8{unread}, int(p.Consumed)), error: nans(p.Consumed)}
	for _, rep := range p.Lost {
		if rep < p.Consumed {
			t.status[rep] = ledger.Lost
		}
	}
	if err := l.Range(c.Key, p.N, 0, p.Consumed, t.add); err != nil {
		return nil, err
	}
	if missing := t.count(unread); missing > 0 {
		return nil, fmt.Errorf("trial %s/%d/%d is not in the ledger, and %d more: run the sweep again",
			c.Key.Short(), p.N, slices.Index(t.status, unread), missing-1)
	}
	t.judged = t.error
	if metric := c.Kind().Judged; metric != "" {
		t.judged = slices.Clone(t.column(metric))
		for i := range t.judged {
			t.judged[i] /= float64(p.N)
		}
	}
	return t, nil
}

// add copies the rows of a batch.
func (t *trials) add(b *ledger.Batch) error {
	for i, rep := range b.Repetition {
		t.status[rep], t.error[rep] = b.Status[i], b.Error[i]
		if kind := b.KindOf(i); kind != "" {
			t.kind[rep] = kind
		}
	}
	for m, name := range b.Metrics {
		v := t.column(name)
		for i, rep := range b.Repetition {
			v[rep] = b.Values[m][i]
		}
	}
	return nil
}

// eachPoint iterates over the points of a cell and reads the trials of each that enter the result.
// It stops after an error.
func eachPoint(l *ledger.Ledger, c *trial.Cell, points []Point) iter.Seq2[*trials, error] {
	return func(yield func(*trials, error) bool) {
		if err := checkPoints(c, points); err != nil {
			yield(nil, err)
			return
		}
		for _, p := range points {
			if t, err := readTrials(l, c, p); !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// checkPoints returns an error if the points of a cell violate an invariant of [Point] or
// [Consumed].
func checkPoints(c *trial.Cell, points []Point) error {
	for i, p := range points {
		if p.N < 1 || p.Consumed < int64(len(p.Lost)) || p.Consumed > trial.MaxRepetition || i > 0 && p.N <= points[i-1].N {
			return fmt.Errorf("cell %s: point of %d trials at n = %d: sample sizes must ascend",
				c.Key.Short(), p.Consumed, p.N)
		}
	}
	return nil
}

// success reports whether the trial of an index succeeded.
func (t *trials) success(i int) bool {
	return decision.Success(t.status[i], t.judged[i], t.cell.Reference, t.cell.Alpha)
}

// Curve reads the trials of a cell that entered the result. It returns its rows of the curve, one
// per point. Points ascend in N. If a trial is missing, the error names it.
func Curve(l *ledger.Ledger, c *trial.Cell, points []Point) (rows []CurveRow, err error) {
	for t, err := range eachPoint(l, c, points) {
		if err != nil {
			return nil, fmt.Errorf("make curve: %w", err)
		}
		rows = append(rows, t.curve())
	}
	return rows, nil
}

// timings returns a row for each message with outcomes of a cell.
func (r *Result) timings() (rows []TimingRow, err error) {
	for _, c := range r.Trials {
		err := r.Ledger.Each(c.Cell.Key, func(b *ledger.Batch) error {
			rows = append(rows, TimingRow{
				Cell: c.Cell, N: b.N, First: b.Repetition[0], Rows: int64(len(b.Repetition)), Seconds: b.Seconds,
				PluginSeconds: b.PluginSeconds, Worker: once(b.Worker), Digest: once(b.Digest), Profile: once(b.Profile),
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// once interns a text.
func once(text string) string { return unique.Make(text).Value() }

// curve makes the row of the curve. It reorders the errors of t.
func (t *trials) curve() CurveRow {
	r := CurveRow{Cell: t.cell, N: t.n, Trials: int64(len(t.status))}
	r.Rate, r.RateLow, r.RateHigh = math.NaN(), math.NaN(), math.NaN()
	errs := make([]float64, 0, len(t.error))
	for i, status := range t.status {
		if t.success(i) {
			r.Successes++
		}
		if status == ledger.OK {
			errs = append(errs, t.error[i])
		}
	}
	r.Lost = t.count(ledger.Lost)
	if t.cell.CanSucceed() {
		r.Rate = float64(r.Successes) / float64(r.Trials)
		r.RateLow, r.RateHigh = estimate.ClopperPearson(int(r.Successes), int(r.Lost), int(r.Trials), 0.05)
	}
	r.OK, r.Failed = int64(len(errs)), t.count(ledger.Failed)
	r.DependentFailures, r.DependentKind = t.dependentFailures()
	unbiased, sequential := errs, t.cell.Evaluation.Looks != nil
	last := t.error
	if sequential {
		unbiased = t.values[task.FirstError]
		last = unbiased
	}
	r.UnbiasedError = mean(last[max(0, len(last)-int(t.final)):])
	r.ErrorMean = mean(unbiased)
	r.ErrorLow, r.ErrorHigh = estimate.MeanInterval(r.ErrorMean, deviation(unbiased, r.ErrorMean), len(errs), 0.05)
	r.ErrorP90 = math.NaN()
	if len(errs) > 0 && !sequential {
		slices.Sort(errs)
		r.ErrorP90 = errs[(9*len(errs)+9)/10-1]
	}
	for name, v := range t.values {
		if m := mean(v); !math.IsNaN(m) {
			r.Metrics = append(r.Metrics, MetricMean{once(name), m})
		}
	}
	return r
}

func (t *trials) count(status uint8) (n int64) {
	for _, s := range t.status {
		if s == status {
			n++
		}
	}
	return n
}

// mean returns the mean of the values that are not NaN, summed in order; NaN if there are none.
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

// A trialRow is a row of the file trials: the trial of an index.
type trialRow struct {
	*trials
	i int
}

func (r *trialRow) failed() bool { return r.status[r.i] != ledger.OK }

// writeTrials writes trials.parquet. It keeps the trials of one point and one row group in memory.
func (r *Result) writeTrials(w io.Writer) error {
	columns := slices.Clone(trialColumns)
	for _, name := range r.metrics() {
		columns = append(columns, numbers(metricColumn(name), func(r *trialRow) float64 {
			if values := r.values[name]; values != nil {
				return values[r.i]
			}
			return math.NaN()
		}))
	}
	var failed error
	err := sheet.WriteStream(w, "trials", columns, func(yield func(trialRow) bool) {
		for _, c := range r.Trials {
			for t, err := range eachPoint(r.Ledger, c.Cell, c.Points) {
				if failed = err; err != nil {
					return
				}
				for i := range t.status {
					if !yield(trialRow{t, i}) {
						return
					}
				}
			}
		}
	}, r.origin)
	return cmp.Or(failed, err)
}
