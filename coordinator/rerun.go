package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// recheckPrefix begins the names of jobs whose results are compared and not recorded.
const recheckPrefix = "recheck-"

// mostReruns is the most jobs of trials to be run again that are out at a time.
const mostReruns = 256

// rerunBlock holds trials of a cell at one sample size that are run again, as a job of their own.
type rerunBlock struct {
	cell     *cell
	n        int64
	picked   []int64        // repetitions, ascending
	look     trial.Look     // how they are run again
	returned numeric.BitSet // places in picked whose trials have come back
	missing  int            // number of those that have not
	tries    int
}

// add adds a repetition that is above those of the block.
func (r *rerunBlock) add(rep int64) {
	r.picked = append(r.picked, rep)
	r.missing++
}

// again returns a new block of one trial.
func again(c *cell, n, rep int64, look trial.Look) *rerunBlock {
	return &rerunBlock{cell: c, n: n, picked: []int64{rep}, look: look, missing: 1}
}

// useRow is told the outcome of a trial that was run again: it stands in one row of b, which is
// valid until useRow returns.
type useRow func(c *cell, b *ledger.Batch, row int) error

// rerun runs trials again. Its results go to use and nowhere else.
type rerun struct {
	sender  *sender
	intake  *intake
	workers <-chan struct{} // see Config
	healing time.Duration

	waiting []*rerunBlock // to be sent
	out     map[string]*rerunBlock
	profile string // float profile that the results must have
	use     useRow
	lose    func(r *rerunBlock) // told of a block whose trials do not all come back; nil: that is an error
	show    func(idle bool)     // called now and then: whether nobody asks for work; nil: never
	quiet   int                 // looks at the server in a row that found nothing of this sweep
}

// run runs the blocks again and calls use once for each of their trials. Results that an earlier
// run has left on the server are taken in as ever.
func (x *rerun) run(ctx context.Context) error {
	x.out = map[string]*rerunBlock{}
	tick := time.NewTicker(x.healing)
	defer tick.Stop()
	for {
		if err := x.send(ctx); err != nil {
			return err
		}
		if len(x.out) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-x.workers:
			return workersEnded(ctx)
		case m := <-x.sender.queue.Results():
			x.quiet = 0
			if err := x.accept(m); err != nil {
				return err
			}
		case <-tick.C:
			if err := x.heal(ctx); err != nil {
				return err
			}
		}
	}
}

// send keeps jobs out.
func (x *rerun) send(ctx context.Context) error {
	for len(x.waiting) > 0 && len(x.out) < mostReruns {
		r := x.waiting[0]
		x.waiting = x.waiting[1:]
		if r.tries++; r.tries > mostTries {
			if x.lose == nil {
				missing := r.picked[r.returned.FirstClear(0)]
				return fmt.Errorf("run trial %s again: it never came back", r.cell.TrialID(r.n, missing))
			}
			x.lose(r)
			continue
		}
		id := fmt.Sprintf("%s%s%d", recheckPrefix, r.look, x.sender.next())
		if err := x.sender.sendAgain(ctx, id, r, x.profile); err != nil {
			return err
		}
		x.out[id] = r
	}
	return nil
}

// heal queues again what two looks at the server in a row have not found there.
func (x *rerun) heal(ctx context.Context) error {
	if err := x.intake.flush(); err != nil {
		return err
	}
	state, err := x.sender.queue.State(ctx)
	if err == nil && x.show != nil {
		x.show(state.Waiting+state.Unacked == 0)
	}
	if err != nil || state.Jobs+state.Results > 0 {
		x.quiet = 0
		return nil
	}
	if x.quiet++; x.quiet < 2 {
		return nil
	}
	x.quiet = 0
	for _, id := range slices.Sorted(maps.Keys(x.out)) {
		x.waiting = append(x.waiting, x.out[id])
	}
	clear(x.out)
	return nil
}

// accept checks one message against the job that it answers, and uses its rows.
func (x *rerun) accept(m *bus.Message) error {
	if m == nil || !strings.HasPrefix(m.ID, recheckPrefix) {
		return x.intake.accept(m)
	}
	b, err := ledger.Decode(m.Data)
	if err != nil || b.Sweep != x.sender.sweep || b.Profile != x.profile {
		return m.Ack()
	}
	id, _, _ := strings.Cut(m.ID, ".")
	r, ok := x.out[id]
	if !ok || b.Cell != r.cell.Key || b.N != r.n || b.Digest != x.sender.digests[r.cell.Plugin] {
		return m.Ack()
	}
	for row, rep := range b.Repetition {
		i, ok := slices.BinarySearch(r.picked, rep)
		if !ok || r.returned.Has(int64(i)) {
			continue
		}
		r.returned.Set(int64(i))
		r.missing--
		if err := x.use(r.cell, b, row); err != nil {
			return err
		}
	}
	if r.missing == 0 {
		delete(x.out, id)
	}
	return m.Ack()
}
