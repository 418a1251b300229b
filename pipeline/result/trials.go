package result

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"unique"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// trials holds successive repetitions of a cell at one sample size, of which all have entered the
// result.
type trials struct {
	cell     *trial.Cell
	n, first int64   // the first repetition
	status   []uint8 // unread where not read yet
	error    []float64
	kind     map[int]string // of failed trials, by index
	values   map[string][]float64
	left     int        // trials not read yet
	memory   *arena     // of the columns
	adding   sync.Mutex // held by add's callers
}

const unread = 0xFF

// column returns the values of a metric, NaN where none was read yet.
func (t *trials) column(metric string) []float64 {
	v := t.values[metric]
	if v == nil {
		if t.values == nil {
			t.values = map[string][]float64{}
		}
		v = take(&t.memory.floats, len(t.status), math.NaN())
		t.values[metric] = v
	}
	return v
}

// arena is memory for columns of trials, which is used again after reset: millions of rows leave
// nothing to collect.
type arena struct {
	bytes  []uint8
	floats []float64
}

var arenas = sync.Pool{New: func() any { return new(arena) }}

// reset makes all memory free. Columns that were taken before must not be used after it.
func (a *arena) reset() { a.bytes, a.floats = a.bytes[:0], a.floats[:0] }

// take returns n elements with the value x, in the memory that is left in from or in new memory.
func take[T any](from *[]T, n int, x T) []T {
	at := len(*from)
	if cap(*from)-at < n {
		*from, at = make([]T, 0, max(n, 2*cap(*from))), 0 // the old memory is left to those who use it
	}
	*from = (*from)[:at+n]
	s := (*from)[at : at+n : at+n]
	for i := range s {
		s[i] = x
	}
	return s
}

// segment is the repetitions first to last-1 of a point of a cell.
type segment struct {
	cell        *trial.Cell
	point       Point
	first, last int64
}

// read reads the trials of a segment into memory. It reports an error that names the first trial
// that is missing.
func (s segment) read(l *ledger.Ledger, memory *arena) (*trials, error) {
	rows := int(s.last - s.first)
	t := &trials{cell: s.cell, n: s.point.N, first: s.first, left: rows, memory: memory,
		status: take(&memory.bytes, rows, unread), error: take(&memory.floats, rows, math.NaN())}
	t.lose(s.point.Lost)
	if rows <= partRows {
		if err := s.addTo(t, l); err != nil {
			return nil, err
		}
	} else {
		add := func(part segment) (none struct{}, err error) { return none, part.addTo(t, l) }
		for _, err := range inOrder(s.parts(), add) {
			if err != nil {
				return nil, err
			}
		}
	}
	if t.left > 0 {
		return nil, fmt.Errorf("trial %s/%d/%d is not in the ledger, and %d more: run the sweep again",
			s.cell.Key.Short(), t.n, s.first+int64(slices.Index(t.status, unread)), t.left-1)
	}
	return t, nil
}

// partRows is the number of rows that are read by one goroutine: many times those of a message, because
// both goroutines at a border read the message there.
const partRows = 1 << 20

// parts cuts a segment into successive ones of partRows, but for the last.
func (s segment) parts() iter.Seq[segment] {
	return func(yield func(segment) bool) {
		for first := s.first; first < s.last; first += partRows {
			if !yield(segment{s.cell, s.point, first, min(first+partRows, s.last)}) {
				return
			}
		}
	}
}

// addTo reads the trials of a segment and adds them to t. Several goroutines may call it at a time.
func (s segment) addTo(t *trials, l *ledger.Ledger) error {
	return l.Range(s.cell.Key, t.n, s.first, s.last, func(b *ledger.Batch) error {
		t.adding.Lock()
		defer t.adding.Unlock()
		t.add(b)
		return nil
	})
}

// eachPoint calls fn with the trials of each point of a cell, one point in memory at a time, which
// are valid until fn returns. Points ascend in N.
func eachPoint(l *ledger.Ledger, c *trial.Cell, points []Point, fn func(i int, t *trials)) error {
	if err := checkPoints(c, points); err != nil {
		return err
	}
	memory := arenas.Get().(*arena)
	defer arenas.Put(memory)
	for i, p := range points {
		memory.reset()
		t, err := segment{c, p, 0, p.Consumed}.read(l, memory)
		if err != nil {
			return err
		}
		fn(i, t)
	}
	return nil
}

// checkPoints reports an error where the points of a cell break a rule of Point or Consumed.
func checkPoints(c *trial.Cell, points []Point) error {
	for i, p := range points {
		if p.N < 1 || p.Consumed < int64(len(p.Lost)) || p.Consumed > ledger.MaxRepetition || i > 0 && p.N <= points[i-1].N {
			return fmt.Errorf("cell %s: point of %d trials at n = %d: sample sizes must ascend",
				c.Key.Short(), p.Consumed, p.N)
		}
	}
	return nil
}

// lose marks those of the trials that have no outcome.
func (t *trials) lose(repetitions []int64) {
	from, _ := slices.BinarySearch(repetitions, t.first)
	to, _ := slices.BinarySearch(repetitions, t.first+int64(len(t.status)))
	for _, rep := range repetitions[from:to] {
		t.status[rep-t.first] = ledger.Lost
		t.left--
	}
}

// add copies the rows of a batch, all of which belong to t. Each trial comes once.
func (t *trials) add(b *ledger.Batch) {
	for i, rep := range b.Repetition {
		at := rep - t.first
		t.status[at], t.error[at] = b.Status[i], b.Error[i]
		if kind := b.KindOf(i); kind != "" {
			if t.kind == nil {
				t.kind = map[int]string{}
			}
			t.kind[int(at)] = strings.Clone(kind)
		}
	}
	t.left -= len(b.Repetition)
	for m, name := range b.Metrics {
		v := t.column(name)
		for i, rep := range b.Repetition {
			v[rep-t.first] = b.Values[m][i]
		}
	}
}

// Success reports whether an outcome is a success: error - above <= alpha, as numeric.Within
// compares. In task online the error is the regret per round: see Judged.
func Success(status uint8, err, above, alpha float64) bool {
	return status == ledger.OK && numeric.Within(err, above, alpha)
}

// Judged returns what success goes by in a row of a batch of a cell: the error of the trial, or in task
// online its regret per round, where an outcome's error is the loss per round.
func Judged(c *trial.Cell, b *ledger.Batch, row int) float64 {
	if !c.Online() {
		return b.Error[row]
	}
	if i := slices.Index(b.Metrics, schemas.Regret); i >= 0 {
		return b.Values[i][row] / float64(b.N)
	}
	return math.NaN()
}

// judged returns what success goes by in each of the trials, as Judged does.
func (t *trials) judged() []float64 {
	if !t.cell.Online() {
		return t.error
	}
	perRound := slices.Clone(t.column(schemas.Regret))
	for i := range perRound {
		perRound[i] /= float64(t.n)
	}
	return perRound
}

// Curves reads the trials of cells that entered the result, and hands out what Curve returns of each
// cell in order. It reads several cells at a time.
func Curves(l *ledger.Ledger, cells []Consumed) iter.Seq2[[]CurveRow, error] {
	return inOrder(slices.Values(cells), func(c Consumed) ([]CurveRow, error) { return Curve(l, c.Cell, c.Points) })
}

// Curve reads the trials of a cell that entered the result, and returns its rows of the curve, one
// per point, without Rate, RateLow and RateHigh. Points ascend in N. Where a trial is missing, the
// error names it.
func Curve(l *ledger.Ledger, c *trial.Cell, points []Point) ([]CurveRow, error) {
	rows := make([]CurveRow, len(points))
	err := eachPoint(l, c, points, func(i int, t *trials) { rows[i] = t.curve() })
	if err != nil {
		return nil, fmt.Errorf("make curve: %w", err)
	}
	return rows, nil
}

// useTiming calls use with the rows of the sheet timing: one for each message that brought outcomes of
// a cell.
func (r *Result) useTiming(use func(iter.Seq[TimingRow]) error) error {
	cells := inOrder(slices.Values(r.Trials), func(c Consumed) ([]TimingRow, error) { return timing(r.Ledger, c.Cell) })
	var failed error
	err := use(func(yield func(TimingRow) bool) {
		for rows, err := range cells {
			if failed = err; err != nil {
				return
			}
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}
	})
	return cmp.Or(failed, err)
}

// timing returns a row for each message that brought outcomes of a cell.
func timing(l *ledger.Ledger, c *trial.Cell) (rows []TimingRow, err error) {
	err = l.Each(c.Key, func(b *ledger.Batch) error {
		rows = append(rows, TimingRow{
			Cell: c, N: b.N, First: b.Repetition[0], Rows: int64(len(b.Repetition)), Seconds: b.Seconds,
			Costs: b.Costs, Worker: once(b.Worker), Digest: once(b.Digest), Profile: once(b.Profile),
		})
		return nil
	})
	return rows, err
}

// once returns the text in memory that equal texts share: many messages say the same.
func once(text string) string { return unique.Make(text).Value() }

// curve makes the row of the curve. It reorders the errors of t.
func (t *trials) curve() CurveRow {
	c := t.cell
	r := CurveRow{Cell: c, N: t.n, Trials: int64(len(t.status))}
	r.Rate, r.RateLow, r.RateHigh = math.NaN(), math.NaN(), math.NaN()
	errs, judged := t.error[:0], t.judged()
	for i, status := range t.status {
		if Success(status, judged[i], c.Above, c.Alpha) {
			r.Successes++
		}
		if status == ledger.OK {
			errs = append(errs, t.error[i])
		}
	}
	r.Lost = t.count(ledger.Lost)
	r.OK, r.Failed = int64(len(errs)), t.count(ledger.Failed)
	unbiased, sequential := errs, c.Evaluation.Looks != nil
	if sequential {
		unbiased = t.values[schemas.FirstError]
	}
	r.ErrorMean = mean(unbiased)
	r.ErrorLow, r.ErrorHigh = estimate.MeanInterval(r.ErrorMean, deviation(unbiased, r.ErrorMean), len(errs), 0.05)
	r.ErrorP90 = math.NaN()
	if len(errs) > 0 && !sequential {
		r.ErrorP90 = numberAt(errs, (9*len(errs)+9)/10-1)
	}
	for name, v := range t.values {
		if m := mean(v); !math.IsNaN(m) {
			r.Metrics = append(r.Metrics, MetricMean{once(name), m})
		}
	}
	return r
}

// numberAt returns the number that would be at index i if v, which has no NaN, were sorted. It
// reorders v, in a time that is on average proportional to its length (Hoare's algorithm 65).
func numberAt(v []float64, i int) float64 {
	for len(v) > 1 {
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c)) // their median
		low, high := 0, len(v)-1
		for low <= high {
			for v[low] < pivot {
				low++
			}
			for v[high] > pivot {
				high--
			}
			if low <= high {
				v[low], v[high] = v[high], v[low]
				low++
				high--
			}
		}
		switch {
		case i <= high:
			v = v[:high+1]
		case i >= low:
			v, i = v[low:], i-low
		default:
			return v[i]
		}
	}
	return v[0]
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

// writeTrials writes trials.parquet. Several row groups are read and encoded at a time, in as many
// goroutines; what is in memory of them does not depend on the number of rows.
func (r *Result) writeTrials(w io.Writer) error {
	columns := slices.Clone(trialColumns)
	for _, name := range r.metrics() {
		columns = append(columns, trialMetric(name))
	}
	for _, c := range r.Trials {
		if err := checkPoints(c.Cell, c.Points); err != nil {
			return err
		}
	}
	groups := inOrder(r.groups(), func(group []segment) ([]*sheet.Chunk, error) {
		return encode(r.Ledger, group, columns)
	})
	return sheet.WriteGroups(w, "trials", plainTrials(columns), groups)
}

// groups splits the rows of trials.parquet into its row groups, which are full to the row but for
// the last.
func (r *Result) groups() iter.Seq[[]segment] {
	return func(yield func([]segment) bool) {
		var group []segment
		room := int64(sheet.RowGroup)
		for _, c := range r.Trials {
			for _, p := range c.Points {
				for first := int64(0); first < p.Consumed; {
					s := segment{c.Cell, p, first, min(first+room, p.Consumed)}
					group = append(group, s)
					first = s.last
					if room -= s.last - s.first; room == 0 {
						if !yield(group) {
							return
						}
						group, room = nil, sheet.RowGroup
					}
				}
			}
		}
		if group != nil {
			yield(group)
		}
	}
}

// encode reads the trials of a row group and returns a chunk for each column.
func encode(l *ledger.Ledger, group []segment, columns []trialColumn) ([]*sheet.Chunk, error) {
	memory := arenas.Get().(*arena)
	defer arenas.Put(memory)
	memory.reset()
	all := make([]*trials, len(group))
	for i, s := range group {
		var err error
		if all[i], err = s.read(l, memory); err != nil {
			return nil, err
		}
	}
	chunks := make([]*sheet.Chunk, len(columns))
	for i, c := range columns {
		chunks[i] = c.encode(all)
	}
	return chunks, nil
}
