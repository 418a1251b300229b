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

// A cell has at most maxReasons rows for a sample size and kind; further reasons share the row otherReasons. A
// reason has at most maxReason letters.
const (
	maxReasons   = 9
	maxReason    = 300
	otherReasons = "other reasons"
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
		f := failures{rows: map[FailureRow]*FailureRow{}, reasons: map[FailureRow]int{}}
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
		all = append(all, f.sorted()...)
	}
	return all, nil
}

// failures counts the failures of one cell. The keys are rows without trials; those of reasons have no reason.
type failures struct {
	rows    map[FailureRow]*FailureRow
	reasons map[FailureRow]int
}

// add adds the trials of a row.
func (f failures) add(x FailureRow) {
	kind := FailureRow{Cell: x.Cell, N: x.N, Status: x.Status, Kind: x.Kind}
	key := kind
	key.Reason = wording.OneLine(x.Reason, maxReason)
	if f.rows[key] == nil && f.reasons[kind] == maxReasons {
		key.Reason = otherReasons
	}
	row := f.rows[key]
	if row == nil {
		row = &FailureRow{x.Cell, x.N, x.Status, x.Kind, key.Reason, 0, x.First}
		f.rows[key] = row
		if key.Reason != otherReasons {
			f.reasons[kind]++
		}
	}
	row.Trials, row.First = row.Trials+x.Trials, min(row.First, x.First)
}

// sorted returns the rows in the order of sample sizes and kinds, the most frequent reasons first.
func (f failures) sorted() (all []FailureRow) {
	for _, row := range slices.SortedFunc(maps.Values(f.rows), func(a, b *FailureRow) int {
		other := btoi(a.Reason == otherReasons) - btoi(b.Reason == otherReasons)
		return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Status, b.Status), strings.Compare(a.Kind, b.Kind), other,
			cmp.Compare(b.Trials, a.Trials), cmp.Compare(a.First, b.First))
	}) {
		all = append(all, *row)
	}
	return all
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
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
	type failed struct {
		trials int64
		kinds  map[string]int64
		reason any
	}
	of := map[any]*failed{} // by cell
	for row := range failures.Len() {
		if failures.At(row, at["status"]) != ledger.StatusName(ledger.Failed) {
			continue
		}
		id := failures.At(row, at["cell"])
		if of[id] == nil {
			of[id] = &failed{kinds: map[string]int64{}}
		}
		n, _ := failures.At(row, at["trials"]).(int64)
		of[id].trials += n
		of[id].kinds[sheet.Text(failures.At(row, at["kind"]))] += n
		of[id].reason = cmp.Or(of[id].reason, failures.At(row, at["reason"]))
	}
	return table.Replace(reason, func(row int) any {
		f, why := of[table.At(row, cell)], table.At(row, reason)
		if f == nil {
			return why
		}
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
			kinds = append(kinds, fmt.Sprintf("%d %s", f.kinds[kind], kind))
		}
		said := fmt.Sprintf("%s failed (%s)", wording.Count(int(f.trials), "trial"), strings.Join(kinds, ", "))
		if f.reason != nil {
			said += ", for example: " + sheet.Text(f.reason)
		}
		if why != nil {
			said = sheet.Text(why) + "; " + said
		}
		return said
	})
}
