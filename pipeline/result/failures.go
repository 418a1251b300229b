package result

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// A FailureRow counts the trials of a cell at one sample size that failed or were lost with one
// kind of failure.
type FailureRow struct {
	Cell   *trial.Cell
	N      int64
	Status uint8 // ledger.Failed or ledger.Lost
	Kind   string
	Reason string // reason of the first of them; may differ from run to run
	Trials int64
	First  int64 // first repetition
}

// maxReason is the maximum length of a reason in characters.
const maxReason = 300

// failureColumns holds the columns of the file failures: one row per cell, n, status and kind. The
// file is not part of the result, because reasons may differ between runs.
var failureColumns = []schemas.ColumnOf[FailureRow]{
	cellColumn((*FailureRow).cell),
	count("n", "sample size", func(r *FailureRow) int64 { return r.N }),
	word("status", "failed, which counts as no success, or lost: without an outcome",
		func(r *FailureRow) string { return ledger.StatusName(r.Status) }),
	label("kind", "kind of failure: crash, error, panic, answer, time, memory, machine, ...",
		func(r *FailureRow) string { return r.Kind }),
	label("reason", "message of the plugin or the worker about the first such trial, on one line",
		func(r *FailureRow) string { return r.Reason }),
	count("trials", "number of such trials", func(r *FailureRow) int64 { return r.Trials }),
	word("first", "first such trial, as `shatter trial` accepts it",
		func(r *FailureRow) string { return fmt.Sprintf("%s/%d/%d", r.Cell.Key.Short(), r.N, r.First) }),
}

func (r *FailureRow) cell() *trial.Cell { return r.Cell }

// failures counts the failed trials that entered the result and the lost trials, by kind.
func (r *Result) failures() (all []FailureRow, err error) {
	for _, c := range r.Trials {
		type kind struct {
			n      int64
			status uint8
			kind   string
		}
		rows := map[kind]*FailureRow{}
		add := func(x FailureRow) {
			k := kind{x.N, x.Status, x.Kind}
			if rows[k] == nil {
				rows[k] = &FailureRow{Cell: c.Cell, N: x.N, Status: x.Status, Kind: x.Kind, First: math.MaxInt64}
			}
			row := rows[k]
			if row.Trials++; x.First < row.First {
				row.First, row.Reason = x.First, wording.OneLine(x.Reason, maxReason)
			}
		}
		for _, x := range r.Ledger.Losses(c.Cell.Key) {
			add(FailureRow{N: x.N, Status: ledger.Lost, Kind: x.Kind, Reason: x.Reason, First: x.Repetition})
		}
		consumed := map[int64]int64{}
		for _, p := range c.Points {
			consumed[p.N] = p.Consumed
		}
		err := r.Ledger.Each(c.Cell.Key, func(b *ledger.Batch) error {
			for i, rep := range b.Repetition {
				if b.Status[i] == ledger.Failed && rep < consumed[b.N] {
					add(FailureRow{N: b.N, Status: ledger.Failed, Kind: b.KindOf(i), Reason: b.ReasonOf(i), First: rep})
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read failures: %w", err)
		}
		for _, row := range slices.SortedFunc(maps.Values(rows), func(a, b *FailureRow) int {
			return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Status, b.Status), strings.Compare(a.Kind, b.Kind))
		}) {
			all = append(all, *row)
		}
	}
	return all, nil
}

// AddFailures returns the table with the failures of each cell in its column reason: "3 trials
// failed, for example: no luck". The column already explains lost trials, because such a cell is
// not decided. failures is the sheet of the table's folder.
func AddFailures(table, failures *sheet.Sheet) *sheet.Sheet {
	reason := table.Index("reason")
	if reason < 0 { // files may hold anything
		return table
	}
	count, example := map[any]int64{}, map[any]any{} // by cell
	for row := range failures.Len() {
		if failures.Value(row, "status") == ledger.StatusName(ledger.Failed) {
			c := failures.Value(row, "cell")
			n, _ := failures.Value(row, "trials").(int64)
			count[c], example[c] = count[c]+n, cmp.Or(example[c], failures.Value(row, "reason"))
		}
	}
	return table.Replace(reason, func(row int) any {
		c, known := table.Value(row, "cell"), table.At(row, reason)
		if count[c] == 0 {
			return known
		}
		text := wording.Count(int(count[c]), "trial") + " failed"
		if example[c] != nil {
			text += ", for example: " + sheet.Text(example[c])
		}
		if known != nil {
			text = sheet.Text(known) + "; " + text
		}
		return text
	})
}
