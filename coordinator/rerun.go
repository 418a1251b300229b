package coordinator

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// recheckPrefix begins the names of jobs whose results are compared and not recorded.
const recheckPrefix = "recheck-"

// rerunBlock holds trials of a cell at one sample size that are run again, as a job of their own.
type rerunBlock struct {
	cell     *cell
	n        int64
	picked   []int64        // repetitions, ascending
	look     trial.Look     // how they are run again
	returned numeric.BitSet // places in picked whose trials have come back
	missing  int            // number of those that have not
	profile  string         // float profile that runs them
	seconds  float64        // that they will take, as far as is known
	road     way
}

func (r *rerunBlock) way() *way     { return &r.road }
func (r *rerunBlock) open() int     { return r.missing }
func (r *rerunBlock) words() string { return r.cell.At(r.n) }

// left returns the job of the trials that have not come back.
func (r *rerunBlock) left() *trial.Job {
	if r.missing == 0 {
		return nil
	}
	var picked []int64
	for i, rep := range r.picked {
		if !r.returned.Has(int64(i)) {
			picked = append(picked, rep)
		}
	}
	t := &trial.Job{
		ID: recheckPrefix, Cell: r.cell.Cell.Cell, N: r.n, First: picked[0], Count: int64(len(picked)),
		Profile: r.profile, Look: r.look, Seconds: r.seconds,
	}
	if last := picked[len(picked)-1]; last-t.First+1 != t.Count {
		t.Picked = picked
	}
	return t
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
	crew    *crew
	intake  *intake
	workers <-chan struct{} // see Config
	healing time.Duration

	waiting []*rerunBlock        // to be sent
	more    func() []*rerunBlock // returns further ones when none is waiting, and nil at the end; nil: there are none
	out     int                  // blocks that were sent and are not back whole
	profile string               // float profile that the results must have
	use     useRow
	show    func() // called now and then; nil: never
}

// run runs the blocks again and calls use once for each of their trials. Results that an earlier
// run has left on the server are taken in as ever.
func (x *rerun) run(ctx context.Context) error {
	x.crew.forget()
	x.crew.setProfile(x.profile)
	tick := time.NewTicker(x.healing)
	defer tick.Stop()
	for {
		if err := x.send(ctx); err != nil {
			return err
		}
		if x.out == 0 && len(x.waiting) == 0 {
			return nil
		}
		queue := x.crew.queue
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-x.workers:
			return workersEnded(ctx)
		case m := <-queue.Results():
			if err := x.acceptAll(m, queue.Results()); err != nil {
				return err
			}
		case said := <-queue.Heartbeats():
			x.crew.hear(said, time.Now())
		case <-queue.Closed():
			return errClosed
		case now := <-tick.C:
			if x.show != nil {
				x.show()
			}
			if err := x.intake.flush(); err != nil {
				return err
			}
			if err := x.crew.heal(ctx, now); err != nil {
				return err
			}
		}
	}
}

// send keeps jobs on the server.
func (x *rerun) send(ctx context.Context) error {
	if err := x.crew.sendAgain(ctx); err != nil {
		return err
	}
	x.refill()
	for len(x.waiting) > 0 && x.crew.room() {
		r := x.waiting[0]
		r.profile = x.profile
		if err := x.crew.send(ctx, r); err != nil {
			return err
		}
		x.waiting = x.waiting[1:]
		x.out++
		x.refill()
	}
	return nil
}

// refill has jobs waiting if there are further ones.
func (x *rerun) refill() {
	if len(x.waiting) == 0 && x.more != nil {
		x.waiting = x.more()
	}
}

// acceptAll takes in a message and all that wait behind it, so that jobs are sent for all of them at once.
func (x *rerun) acceptAll(m *queue.Message, waiting <-chan *queue.Message) error {
	for {
		if err := x.accept(m); err != nil {
			return err
		}
		select {
		case m = <-waiting:
		default:
			return nil
		}
	}
}

// accept checks one message against the job that it answers, and uses its rows.
func (x *rerun) accept(m *queue.Message) error {
	if !strings.HasPrefix(m.Job, recheckPrefix) {
		return x.intake.accept(m)
	}
	e := x.crew.arrived(m)
	b, err := ledger.Decode(m.Data)
	if err == nil && e != nil {
		err = x.useRows(e, b)
		x.crew.swept(e, m.Worker, time.Now())
		return err
	}
	return nil
}

// useRows uses the rows of a result that answers an errand.
func (x *rerun) useRows(e *errand, b *ledger.Batch) error {
	r, ok := e.cargo.(*rerunBlock)
	if !ok || b.Sweep != x.crew.lead.Sweep || b.Profile != x.profile || b.Cell != r.cell.Key || b.N != r.n ||
		b.Digest != x.crew.digests[r.cell.Code()] {
		return nil
	}
	x.crew.took(b.Seconds)
	if b.Refusal != nil {
		return &RefusedError{r.cell.TrialID(r.n, r.picked[0]), b.Refusal.Message}
	}
	for row, rep := range b.Repetition {
		i, ok := slices.BinarySearch(r.picked, rep)
		if !ok || r.returned.Has(int64(i)) {
			continue
		}
		r.returned.Set(int64(i))
		if r.missing--; r.missing == 0 {
			x.out--
		}
		if err := x.use(r.cell, b, row); err != nil {
			return err
		}
	}
	return nil
}
