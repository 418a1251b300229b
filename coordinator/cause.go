package coordinator

import (
	"context"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// mostExamined is the most trials of a cell that are run alone to find out what they depend on.
const mostExamined = 4

// differing is a trial that came out differently when it was run again.
type differing struct {
	cell   *cell
	n, rep int64
	second *ledger.Batch   // its outcome then, one row
	alone  []*ledger.Batch // its outcomes when it was run alone, one row each
	lost   string          // why one of these is missing
}

func (d *differing) position() position { return position{d.cell.index, d.n, d.rep} }

// differences counts trials that came out differently and keeps the first of them in the order of
// the tables.
type differences struct {
	count int64
	first []*differing // at most mostExamined
}

// add adds the trial in a row of b.
func (x *differences) add(c *cell, b *ledger.Batch, row int) {
	x.count++
	d := &differing{cell: c, n: b.N, rep: b.Repetition[row]}
	i, _ := slices.BinarySearchFunc(x.first, d.position(), func(d *differing, p position) int {
		return d.position().compare(p)
	})
	if i == mostExamined {
		return
	}
	d.second = copyRow(c, b, row).batch
	x.first = slices.Insert(x.first, i, d)
	x.first = x.first[:min(len(x.first), mostExamined)]
}

// examine runs trials that came out differently twice alone, each time in a fresh process.
func (r *run) examine(ctx context.Context, trials []*differing, profile string) error {
	var blocks []*rerunBlock
	at := map[position]*differing{}
	for _, d := range trials {
		at[d.position()] = d
		for range 2 {
			blocks = append(blocks, again(d.cell, d.n, d.rep, trial.LookAlone))
		}
	}
	x := r.newRerun(blocks, profile, func(c *cell, b *ledger.Batch, row int) error {
		d := at[position{c.index, b.N, b.Repetition[row]}]
		if b.Status[row] == ledger.Lost {
			d.lost = strings.Clone(b.ReasonOf(row))
			return nil
		}
		d.alone = append(d.alone, copyRow(c, b, row).batch)
		return nil
	})
	return x.run(ctx)
}

// cause returns what the outcome of an examined trial depends on. old is the recorded outcome.
func (d *differing) cause(old *ledger.Batch) schemas.Cause {
	switch {
	case len(d.alone) < 2:
		return schemas.CauseUnknown
	case difference(d.alone[0], d.alone[1], 0) != "":
		return schemas.CauseChance
	case difference(old, d.alone[0], 0) != "":
		return schemas.CauseEarlier
	case d.second.KindOf(0) == string(schemas.CauseDeclared):
		return schemas.CauseDeclared
	}
	return schemas.CausePoints
}

// causes lists the causes, the strongest evidence first: a trial that differs for one of them may
// look as if it did for a later one.
var causes = []schemas.Cause{
	schemas.CauseChance, schemas.CauseEarlier, schemas.CauseDeclared, schemas.CausePoints, schemas.CauseUnknown,
}

// contradiction describes what the examined trials show: the one with the strongest evidence.
func (x *differences) contradiction(l *ledger.Ledger) (worst *differing, found schemas.Contradiction, err error) {
	least := len(causes)
	for _, d := range x.first {
		old, err := l.Trial(d.cell.Key, d.n, d.rep)
		if err != nil {
			return nil, found, err
		}
		cause := d.cause(old)
		if i := slices.Index(causes, cause); i >= least {
			continue
		} else {
			least, worst = i, d
		}
		found = schemas.Contradiction{
			Cell: d.cell.Key.Short(), Trial: d.cell.TrialID(d.n, d.rep), What: d.cell.Words(), Cause: cause,
			Difference: difference(old, d.second, 0), Worker: old.Worker, Second: d.second.Worker, Different: x.count,
		}
		if cause == schemas.CauseUnknown {
			found.Note = d.lost
		}
	}
	return worst, found, nil
}
