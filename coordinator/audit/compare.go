package audit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// difference describes how a row of b differs from the recorded outcome of its trial, the only row of old; "" if it
// does not. Reasons are for people and may differ.
func difference(old, b *ledger.Batch, row int) string {
	was, is := statusWords(old, 0), statusWords(b, row)
	if was != is {
		return fmt.Sprintf("%s was recorded, now it is %s", was, is)
	}
	if !sameBits(old.Error[0], b.Error[row]) {
		return fmt.Sprintf("error %v was recorded, now it is %v", old.Error[0], b.Error[row])
	}
	if !slices.Equal(old.Metrics, b.Metrics) {
		return fmt.Sprintf("metrics %v were recorded, now they are %v", old.Metrics, b.Metrics)
	}
	for m, name := range old.Metrics {
		if x, y := old.Values[m][0], b.Values[m][row]; !sameBits(x, y) {
			return fmt.Sprintf("metric %s = %v was recorded, now it is %v", name, x, y)
		}
	}
	return ""
}

// statusWords returns the status of a row, with its kind if it is not ok.
func statusWords(b *ledger.Batch, row int) string {
	status := ledger.StatusName(b.Status[row])
	if kind := b.KindOf(row); kind != "" {
		return fmt.Sprintf("%s (%s)", status, kind)
	}
	return status
}

// sameBits reports whether x and y are the same number to the last bit, or both NaN.
func sameBits(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || (math.IsNaN(x) && math.IsNaN(y))
}

// maxExamined is the largest number of differing trials of a cell that are run alone to find the cause.
const maxExamined = 4

// A differing trial has another outcome when it is run again.
type differing struct {
	at     position
	cell   *trial.Cell
	old    *ledger.Batch   // recorded outcome, one row; nil: not read yet
	second *ledger.Batch   // outcome of the recheck, one row
	alone  []*ledger.Batch // outcomes of the trial alone in a process, one row each
	lost   string          // reason why an outcome in alone is missing; "": none is missing
}

// differences counts trials that came out differently, and keeps the first of them in the order of the tables.
type differences struct {
	count int64
	first []*differing // at most maxExamined
}

// add adds the trial in a row of b. index is the place of its cell in the plan.
func (x *differences) add(c *trial.Cell, index int, b *ledger.Batch, row int) {
	x.count++
	d := &differing{at: position{index, b.N, b.Repetition[row]}, cell: c}
	i, _ := slices.BinarySearchFunc(x.first, d, func(a, b *differing) int { return a.at.compare(b.at) })
	if i == maxExamined {
		return
	}
	d.second = b.Select([]int{row})
	x.first = slices.Insert(x.first, i, d)
	x.first = x.first[:min(len(x.first), maxExamined)]
}

// examine runs differing trials twice alone, each time in a fresh process, on a third worker if there is one.
func examine(ctx context.Context, p *pool.Pool, other pool.Source, l *ledger.Ledger, trials []*differing) error {
	var requests []*pool.Request
	of := map[*pool.Request]*differing{}
	for _, d := range trials {
		var err error
		if d.old, err = l.Trial(d.cell.Key, d.at.n, d.at.repetition); err != nil {
			return err
		}
		for range 2 {
			r := newRequest(d.cell, d.at.n, trial.RecheckAlone, d.at.repetition)
			r.Avoid = []string{d.old.Worker, d.second.Worker}
			requests, of[r] = append(requests, r), d
		}
	}
	return run(ctx, p, other, requests, func(r *pool.Request, b *ledger.Batch, row int) error {
		d := of[r]
		if b.Status[row] == ledger.Lost {
			d.lost = b.ReasonOf(row)
			return nil
		}
		d.alone = append(d.alone, b.Select([]int{row}))
		return nil
	})
}

// suspect returns the worker that is alone with its outcome of an examined trial, because all third workers agree with
// the other one; "": there is none.
func (d *differing) suspect() string {
	third := slices.DeleteFunc(slices.Clone(d.alone), func(b *ledger.Batch) bool {
		return b.Worker == d.old.Worker || b.Worker == d.second.Worker
	})
	agree := func(x *ledger.Batch) bool {
		return !slices.ContainsFunc(third, func(b *ledger.Batch) bool { return difference(x, b, 0) != "" })
	}
	switch {
	case len(third) == 0 || d.old.Worker == d.second.Worker:
	case agree(d.second):
		return d.old.Worker
	case agree(d.old):
		return d.second.Worker
	}
	return ""
}

// cause returns what the outcome of an examined trial depends on.
func (d *differing) cause() schemas.Cause {
	switch {
	case d.second.Status[0] == ledger.Lost:
		return schemas.CauseLimit
	case len(d.alone) < 2:
		return schemas.CauseUnknown
	case difference(d.alone[0], d.alone[1], 0) != "":
		return schemas.CauseChance
	case difference(d.old, d.alone[0], 0) != "":
		return schemas.CauseEarlier
	case d.second.KindOf(0) == string(schemas.CauseDeclared):
		return schemas.CauseDeclared
	}
	return schemas.CausePoints
}

// causes lists the causes, the strongest evidence first: a trial that differs for one of them may look as if it did for
// a later one.
var causes = []schemas.Cause{
	schemas.CauseChance, schemas.CauseEarlier, schemas.CauseDeclared, schemas.CausePoints, schemas.CauseLimit,
	schemas.CauseUnknown,
}

// contradiction describes the examined trial with the strongest evidence.
func (x *differences) contradiction() (worst *differing, found schemas.Contradiction) {
	strongest := len(causes)
	for _, d := range x.first {
		cause := d.cause()
		i := slices.Index(causes, cause)
		if i >= strongest {
			continue
		}
		strongest, worst = i, d
		found = schemas.Contradiction{
			Cell: d.cell.Key.Short(), Trial: d.cell.TrialID(d.at.n, d.at.repetition), What: d.cell.Description(), Cause: cause,
			Difference: difference(d.old, d.second, 0), Worker: d.old.Worker, Second: d.second.Worker, Different: x.count,
		}
		switch cause {
		case schemas.CauseLimit:
			found.Note, _, _ = strings.Cut(d.second.ReasonOf(0), "\n")
		case schemas.CauseUnknown:
			found.Note = d.lost
		}
	}
	return worst, found
}
