package result

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// FailureRow counts the trials of a cell at one sample size that failed or were lost in one way.
type FailureRow struct {
	Cell   *trial.Cell
	N      int64
	Status uint8 // ledger.Failed or ledger.Lost
	Kind   string
	Reason string // on one line; may differ from run to run
	Trials int64
	First  int64 // repetition
}

// Limits of what plugins say: a reason has at most reasonLetters letters, and a cell has, for a
// sample size and kind, at most mostReasons rows, of which the last may stand for several reasons.
// No more than countedReasons of them are counted one by one.
const (
	reasonLetters  = 300
	mostReasons    = 10
	countedReasons = 1000
)

// failureColumns are those of failures, which is no part of the result, because reasons may differ
// between runs: one row per cell, n, kind and reason.
var failureColumns = []schemas.ColumnOf[FailureRow]{
	cellColumn((*FailureRow).cell),
	count("n", "sample size", func(r *FailureRow) int64 { return r.N }),
	word("status", "failed, which counts as no success, or lost: without an outcome",
		func(r *FailureRow) string { return ledger.StatusName(r.Status) }),
	label("kind", "what went wrong: crash, error, panic, answer, time, memory, machine, ...",
		func(r *FailureRow) string { return r.Kind }),
	text("reason", "what the plugin or the worker said, on one line", func(r *FailureRow) string { return r.Reason }),
	count("trials", "trials that failed or were lost so", func(r *FailureRow) int64 { return r.Trials }),
	word("first", "the first of them, as `shatter trial` takes it",
		func(r *FailureRow) string { return fmt.Sprintf("%s/%d/%d", r.Cell.Key.Short(), r.N, r.First) }),
}

func (r *FailureRow) cell() *trial.Cell { return r.Cell }

// failures counts the failed trials that entered the result and the trials that were lost, by
// reason.
func (r *Result) failures() ([]FailureRow, error) {
	if len(r.Trials) == 0 {
		return nil, nil
	}
	lost := map[trial.Key][]ledger.Loss{}
	for _, x := range r.Ledger.Losses() {
		lost[x.Cell] = append(lost[x.Cell], x)
	}
	var all []FailureRow
	for _, c := range r.Trials {
		f := failures{cell: c.Cell, groups: map[failureKind]map[string]*FailureRow{}}
		f.addLost(c.Points, lost[c.Cell.Key])
		if c.mayHaveFailed(r.Ledger) {
			if err := f.addFailed(c.Points, r.Ledger); err != nil {
				return nil, fmt.Errorf("read failures: %w", err)
			}
		}
		all = append(all, f.rows()...)
	}
	return all, nil
}

// mayHaveFailed reports whether some trial of the cell failed, in the result or beyond it.
func (c Consumed) mayHaveFailed(l *ledger.Ledger) bool {
	for _, p := range c.Points {
		for o := range l.Outcomes(c.Cell.Key, p.N) {
			if o.Status == ledger.Failed {
				return true
			}
		}
	}
	return false
}

// failures counts the failures of one cell.
type failures struct {
	cell   *trial.Cell
	groups map[failureKind]map[string]*FailureRow // by reason
}

type failureKind struct {
	n      int64
	status uint8
	kind   string
}

// otherReasons stands for the reasons that are not told apart.
const otherReasons = "other reasons"

func (f *failures) add(k failureKind, rep int64, reason string) {
	reasons := f.groups[k]
	if reasons == nil {
		reasons = map[string]*FailureRow{}
		f.groups[k] = reasons
	}
	reason = wording.OneLine(reason, reasonLetters)
	if reasons[reason] == nil && len(reasons) >= countedReasons {
		reason = otherReasons
	}
	row := reasons[reason]
	if row == nil {
		row = &FailureRow{Cell: f.cell, N: k.n, Status: k.status, Kind: k.kind, Reason: reason, First: rep}
		reasons[reason] = row
	}
	row.Trials++
	row.First = min(row.First, rep)
}

// addLost adds the trials that the ledger knows as lost, and those of the points that never came
// back.
func (f *failures) addLost(points []Point, recorded []ledger.Loss) {
	known := map[[2]int64]bool{}
	for _, x := range recorded {
		known[[2]int64{x.N, x.Repetition}] = true
		f.add(failureKind{x.N, ledger.Lost, x.Kind}, x.Repetition, x.Reason)
	}
	for _, p := range points {
		for _, rep := range p.Lost {
			if !known[[2]int64{p.N, rep}] {
				f.add(failureKind{p.N, ledger.Lost, "machine"}, rep, "its job was queued several times and never came back")
			}
		}
	}
}

// addFailed adds the failed trials that entered the result.
func (f *failures) addFailed(points []Point, l *ledger.Ledger) error {
	consumed := map[int64]int64{}
	for _, p := range points {
		consumed[p.N] = p.Consumed
	}
	return l.Each(f.cell.Key, func(b *ledger.Batch) error {
		for i, rep := range b.Repetition {
			if b.Status[i] != ledger.Failed || rep >= consumed[b.N] {
				continue
			}
			f.add(failureKind{b.N, ledger.Failed, strings.Clone(b.KindOf(i))}, rep, b.ReasonOf(i))
		}
		return nil
	})
}

// rows returns the rows in the order of sample sizes and kinds, the most frequent reasons first.
func (f *failures) rows() []FailureRow {
	var all []FailureRow
	for _, k := range slices.SortedFunc(maps.Keys(f.groups), func(a, b failureKind) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.status, b.status), strings.Compare(a.kind, b.kind))
	}) {
		reasons := slices.SortedFunc(maps.Values(f.groups[k]), func(a, b *FailureRow) int {
			return cmp.Or(cmp.Compare(b.Trials, a.Trials), cmp.Compare(a.First, b.First))
		})
		for i, row := range reasons {
			if i < mostReasons {
				all = append(all, *row)
				continue
			}
			last := &all[len(all)-1]
			if i == mostReasons {
				last.Reason = otherReasons
			}
			last.Trials, last.First = last.Trials+row.Trials, min(last.First, row.First)
		}
	}
	return all
}

// ReadFailures reads the failures of a result folder; it has no rows where the folder has no such
// file, which earlier versions did not write.
func ReadFailures(dir string) (*sheet.Sheet, error) {
	s, err := sheet.ReadTable(dir, "failures")
	if errors.Is(err, fs.ErrNotExist) {
		return sheet.Of("failures", schemas.Plain(failureColumns)), nil
	}
	return s, err
}

// AddFailures returns the table with what failed in each cell in its column reason: how many trials of
// which kinds, and a reason. What was lost is said there already: such a cell is not decided. The failures
// are what ReadFailures returns for the table's folder.
func AddFailures(table, failures *sheet.Sheet) *sheet.Sheet {
	cell, reason := schemas.IndexOf(table.Columns, "cell"), schemas.IndexOf(table.Columns, "reason")
	if cell < 0 || reason < 0 {
		return table
	}
	said := describeFailures(failures)
	if len(said) == 0 {
		return table
	}
	return table.Replace(reason, func(row int) any {
		id, _ := table.At(row, cell).(string)
		what := said[id]
		if what == "" {
			return table.At(row, reason)
		}
		if why, _ := table.At(row, reason).(string); why != "" {
			what = why + "; " + what
		}
		return what
	})
}

// describeFailures says in words which trials failed, by cell: "3 trials failed (2 error, 1 panic),
// for example: no luck".
func describeFailures(failures *sheet.Sheet) map[string]string {
	type told struct {
		trials int64
		kinds  map[string]int64
		reason string
	}
	at := map[string]int{}
	for i, c := range failures.Columns {
		at[c.Name] = i
	}
	text := func(row int, name string) string {
		s, _ := failures.At(row, at[name]).(string)
		return s
	}
	cells := map[string]*told{}
	for row := range failures.Len() {
		if text(row, "status") != ledger.StatusName(ledger.Failed) {
			continue
		}
		id := text(row, "cell")
		t := cells[id]
		if t == nil {
			t = &told{kinds: map[string]int64{}}
			cells[id] = t
		}
		trials, _ := failures.At(row, at["trials"]).(int64)
		t.trials += trials
		t.kinds[text(row, "kind")] += trials
		t.reason = cmp.Or(t.reason, text(row, "reason"))
	}
	said := map[string]string{}
	for id, t := range cells {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
			kinds = append(kinds, fmt.Sprintf("%d %s", t.kinds[kind], kind))
		}
		said[id] = fmt.Sprintf("%s failed (%s)", wording.Count(int(t.trials), "trial"), strings.Join(kinds, ", "))
		if t.reason != "" {
			said[id] += ", for example: " + t.reason
		}
	}
	return said
}
