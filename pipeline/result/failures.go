package result

import (
	"cmp"
	"fmt"
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
	label("reason", "what the plugin or the worker said, on one line", func(r *FailureRow) string { return r.Reason }),
	count("trials", "trials that failed or were lost so", func(r *FailureRow) int64 { return r.Trials }),
	word("first", "the first of them, as `shatter trial` takes it",
		func(r *FailureRow) string { return fmt.Sprintf("%s/%d/%d", r.Cell.Key.Short(), r.N, r.First) }),
}

func (r *FailureRow) cell() *trial.Cell { return r.Cell }

// failures counts the failed trials that entered the result and the trials that were lost, by
// reason.
func (r *Result) failures() (all []FailureRow, err error) {
	lost := map[trial.Key][]ledger.Loss{}
	if len(r.Trials) > 0 {
		for _, x := range r.Ledger.Losses() {
			lost[x.Cell] = append(lost[x.Cell], x)
		}
	}
	for _, c := range r.Trials {
		f := failures{}
		known, consumed := map[[2]int64]bool{}, map[int64]int64{}
		for _, x := range lost[c.Cell.Key] {
			known[[2]int64{x.N, x.Repetition}] = true
			f.add(FailureRow{c.Cell, x.N, ledger.Lost, x.Kind, x.Reason, 1, x.Repetition})
		}
		for _, p := range c.Points {
			consumed[p.N] = p.Consumed
			for _, rep := range p.Lost {
				if !known[[2]int64{p.N, rep}] {
					f.add(FailureRow{c.Cell, p.N, ledger.Lost, "machine", "its job was queued several times and never came back",
						1, rep})
				}
			}
		}
		err := r.Ledger.Each(c.Cell.Key, func(b *ledger.Batch) error {
			for i, rep := range b.Repetition {
				if b.Status[i] == ledger.Failed && rep < consumed[b.N] {
					f.add(FailureRow{c.Cell, b.N, ledger.Failed, strings.Clone(b.KindOf(i)), b.ReasonOf(i), 1, rep})
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read failures: %w", err)
		}
		all = append(all, f.rows()...)
	}
	return all, nil
}

// failures holds the rows of one cell by sample size, status, kind and reason.
type failures map[failureKind]map[string]*FailureRow

type failureKind struct {
	n      int64
	status uint8
	kind   string
}

// otherReasons stands for the reasons that are not told apart.
const otherReasons = "other reasons"

// add adds the trials of a row.
func (f failures) add(x FailureRow) {
	k := failureKind{x.N, x.Status, x.Kind}
	if f[k] == nil {
		f[k] = map[string]*FailureRow{}
	}
	x.Reason = wording.OneLine(x.Reason, reasonLetters)
	if f[k][x.Reason] == nil && len(f[k]) >= countedReasons {
		x.Reason = otherReasons
	}
	if row := f[k][x.Reason]; row != nil {
		row.Trials, row.First = row.Trials+x.Trials, min(row.First, x.First)
	} else {
		f[k][x.Reason] = &x
	}
}

// rows returns the rows in the order of sample sizes and kinds, the most frequent reasons first.
func (f failures) rows() (all []FailureRow) {
	for _, k := range slices.SortedFunc(maps.Keys(f), func(a, b failureKind) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.status, b.status), strings.Compare(a.kind, b.kind))
	}) {
		for i, row := range slices.SortedFunc(maps.Values(f[k]), func(a, b *FailureRow) int {
			return cmp.Or(cmp.Compare(b.Trials, a.Trials), cmp.Compare(a.First, b.First))
		}) {
			if i < mostReasons {
				all = append(all, *row)
				continue
			}
			last := &all[len(all)-1]
			last.Reason, last.Trials, last.First = otherReasons, last.Trials+row.Trials, min(last.First, row.First)
		}
	}
	return all
}

// AddFailures returns the table with the failures of each cell in its column reason: "3 trials failed (2
// error, 1 panic), for example: no luck". Lost trials are explained there already, because such a cell is not
// decided. The failures are the sheet of the table's folder.
func AddFailures(table, failures *sheet.Sheet) *sheet.Sheet {
	cell, reason := schemas.IndexOf(table.Columns, "cell"), schemas.IndexOf(table.Columns, "reason")
	if cell < 0 || reason < 0 {
		return table
	}
	at := map[string]int{}
	for _, name := range []string{"cell", "status", "kind", "reason", "trials"} {
		if at[name] = schemas.IndexOf(failures.Columns, name); at[name] < 0 { // files may hold anything
			return table
		}
	}
	trials, kinds, example := map[any]int64{}, map[any]map[string]int64{}, map[any]any{}
	for row := range failures.Len() {
		if failures.At(row, at["status"]) != ledger.StatusName(ledger.Failed) {
			continue
		}
		id, kind := failures.At(row, at["cell"]), sheet.Text(failures.At(row, at["kind"]))
		if kinds[id] == nil {
			kinds[id] = map[string]int64{}
		}
		n, _ := failures.At(row, at["trials"]).(int64)
		trials[id] += n
		kinds[id][kind] += n
		example[id] = cmp.Or(example[id], failures.At(row, at["reason"]))
	}
	return table.Replace(reason, func(row int) any {
		id, why := table.At(row, cell), table.At(row, reason)
		if kinds[id] == nil {
			return why
		}
		var of []string
		for _, kind := range slices.Sorted(maps.Keys(kinds[id])) {
			of = append(of, fmt.Sprintf("%d %s", kinds[id][kind], kind))
		}
		said := fmt.Sprintf("%s failed (%s)", wording.Count(int(trials[id]), "trial"), strings.Join(of, ", "))
		if example[id] != nil {
			said += ", for example: " + sheet.Text(example[id])
		}
		if why != nil {
			said = sheet.Text(why) + "; " + said
		}
		return said
	})
}
