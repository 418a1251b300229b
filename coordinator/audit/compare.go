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

// How differing trials are examined. Answers that change at random in 5 % of runs agree by chance in aloneRuns runs
// with probability 0.6, but change in all repeats of a session with probability 0.0025.
const (
	maxExamined    = 4  // largest number of differing trials of a cell that are examined, until one shows a cause
	manyExamined   = 32 // largest number in all cells, except that one of each cell is examined
	aloneRuns      = 10 // runs of a trial alone in a fresh process
	sessionRepeats = 2  // runs after other trials in a fresh process, and runs with points in another order
	companyTrials  = 7  // largest number of those other trials
)

// A differing trial has another outcome when it is run again.
type differing struct {
	at     position
	cell   *trial.Cell
	old    *ledger.Batch // recorded outcome, one row; nil: not read yet
	second *ledger.Batch // outcome of the recheck, one row

	// Outcomes of the trial in identical sessions, one row each.
	alone    []*ledger.Batch // only this trial, in a fresh process
	company  []*ledger.Batch // after the trials before it, in a fresh process
	shuffled []*ledger.Batch // only this trial, with points in another order
	lost     string          // reason why an outcome is missing; "": none is missing
}

// differences counts trials that came out differently, and keeps the first of them in the order of the tables.
type differences struct {
	count    int64
	first    []*differing // at most maxExamined
	examined int          // number of trials at the beginning of first that were examined
}

// explained reports whether the last examined trial shows a cause, or no other trial can show one.
func (x *differences) explained() bool {
	cause, _ := x.first[x.examined-1].cause()
	return cause != schemas.CauseUnknown || x.examined == len(x.first)
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

// examine examines trials of each of several differences, until one shows a cause. It returns the examined trials.
func examine(
	ctx context.Context, p *pool.Pool, other pool.Source, l *ledger.Ledger, found ...*differences,
) (trials []*differing, err error) {
	for len(found) > 0 {
		var next []*differing
		for _, x := range found {
			next = append(next, x.first[x.examined])
			x.examined++
		}
		if err := repeatSessions(ctx, p, other, l, next); err != nil {
			return nil, err
		}
		trials = append(trials, next...)
		found = slices.DeleteFunc(found, (*differences).explained)
		found = found[:max(0, min(len(found), manyExamined-len(trials)))]
	}
	return trials, nil
}

// repeatSessions repeats sessions of differing trials, on third workers if there are some.
func repeatSessions(ctx context.Context, p *pool.Pool, other pool.Source, l *ledger.Ledger, trials []*differing) error {
	type purpose struct {
		of       *differing
		outcomes *[]*ledger.Batch
	}
	var requests []*pool.Request
	purposes := map[*pool.Request]purpose{}
	for _, d := range trials {
		var err error
		if d.old, err = l.Trial(d.cell.Key, d.at.n, d.at.repetition); err != nil {
			return err
		}
		if byProblem(d.second) { // its cause is known
			continue
		}
		repeat := func(times int, outcomes *[]*ledger.Batch, how trial.Recheck, others int64) {
			var repetitions []int64
			for r := max(0, d.at.repetition-others); r <= d.at.repetition; r++ {
				repetitions = append(repetitions, r)
			}
			for range times {
				r := newRequest(d.cell, d.at.n, how, repetitions...)
				r.Avoid = []string{d.old.Worker, d.second.Worker}
				requests, purposes[r] = append(requests, r), purpose{d, outcomes}
			}
		}
		if d.second.Status[0] == ledger.Lost { // its cause is known, but perhaps not whether a worker is wrong
			repeat(sessionRepeats, &d.alone, trial.RecheckFresh, 0)
			continue
		}
		repeat(aloneRuns, &d.alone, trial.RecheckFresh, 0)
		repeat(sessionRepeats, &d.company, trial.RecheckFresh, companyTrials)
		repeat(sessionRepeats, &d.shuffled, trial.RecheckShuffled, 0)
	}
	return run(ctx, p, other, requests, func(r *pool.Request, b *ledger.Batch, row int) error {
		to := purposes[r]
		switch {
		case b.Repetition[row] != to.of.at.repetition:
		case b.Status[row] == ledger.Lost:
			to.of.lost = b.ReasonOf(row)
		default:
			*to.outcomes = append(*to.outcomes, b.Select([]int{row}))
		}
		return nil
	})
}

// byProblem reports whether a trial failed because its problem draws other examples again.
func byProblem(b *ledger.Batch) bool { return b.KindOf(0) == string(schemas.CauseProblem) }

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

// cause returns what the outcome of an examined trial depends on. A cause is named only if identical sessions agree
// with each other and show it; otherwise the note describes the findings.
func (d *differing) cause() (cause schemas.Cause, note string) {
	differ := func(x, y *ledger.Batch) bool { return difference(x, y, 0) != "" }
	varies := func(list []*ledger.Batch) (random, between bool) { // on one worker, and between workers
		for i, x := range list {
			for _, y := range list[:i] {
				random = random || x.Worker == y.Worker && differ(x, y)
				between = between || differ(x, y)
			}
		}
		return random, between
	}
	all := func(list []*ledger.Batch, holds func(*ledger.Batch) bool) bool {
		return len(list) == sessionRepeats && !slices.ContainsFunc(list, func(b *ledger.Batch) bool { return !holds(b) })
	}
	unlikeAlone := func(b *ledger.Batch) bool { return differ(d.alone[0], b) }
	random, between := varies(d.alone)
	randomLater, _ := varies(d.company)
	switch {
	case slices.ContainsFunc(slices.Concat([]*ledger.Batch{d.second}, d.alone, d.company, d.shuffled), byProblem):
		return schemas.CauseProblem, ""
	case d.second.Status[0] == ledger.Lost:
		note, _, _ = strings.Cut(d.second.ReasonOf(0), "\n")
		return schemas.CauseLimit, note
	case random || randomLater:
		return schemas.CauseChance, ""
	case len(d.alone) < aloneRuns:
		return schemas.CauseUnknown, "the trial was lost when run alone: " + d.lost
	case between:
		return schemas.CauseUnknown, "runs of the trial alone differ between workers"
	case all(d.company, unlikeAlone):
		return schemas.CauseEarlier, ""
	case differ(d.old, d.alone[0]):
		return schemas.CauseUnknown, fmt.Sprintf("%d runs of the trial alone agree with each other, and not with the record",
			aloneRuns)
	case all(d.shuffled, func(b *ledger.Batch) bool { return b.KindOf(0) == string(schemas.CauseDeclared) }):
		return schemas.CauseDeclared, ""
	case all(d.shuffled, unlikeAlone):
		return schemas.CausePoints, ""
	}
	return schemas.CauseUnknown, fmt.Sprintf("%d runs of the trial alone agree with the record", aloneRuns)
}

// causes lists the causes, the strongest evidence first: a trial that differs for one of them may look as if it did for
// a later one.
var causes = []schemas.Cause{
	schemas.CauseProblem, schemas.CauseChance, schemas.CauseEarlier, schemas.CauseDeclared, schemas.CausePoints,
	schemas.CauseLimit, schemas.CauseUnknown,
}

// contradiction describes the examined trial with the strongest evidence.
func (x *differences) contradiction() (worst *differing, found schemas.Contradiction) {
	strongest := len(causes)
	for _, d := range x.first[:x.examined] {
		cause, note := d.cause()
		i := slices.Index(causes, cause)
		if i >= strongest {
			continue
		}
		strongest, worst = i, d
		found = schemas.Contradiction{
			Cell: d.cell.Key.Short(), Trial: d.cell.TrialID(d.at.n, d.at.repetition), What: d.cell.Description(), Cause: cause,
			Difference: difference(d.old, d.second, 0), Worker: d.old.Worker, Second: d.second.Worker, Different: x.count,
			Note: note,
		}
	}
	return worst, found
}
