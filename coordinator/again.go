package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/numeric"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// recheckPrefix begins the names of jobs whose results are compared and not recorded.
const recheckPrefix = "recheck-"

// mostAgain is the most jobs of trials that are run again that are out at a time.
const mostAgain = 256

// again is a block of recorded trials that is run again, as a job of its own.
type again struct {
	cell  *cell
	block estimate.Block
	left  int
	back  numeric.BitSet // repetitions, less the first one
	tries int
}

// rerun runs trials again: a few jobs at a time, whose results go to take and nowhere else.
type rerun struct {
	*run
	blocks  []*again // to be sent
	out     map[string]*again
	profile string // float profile that the results have to have
	take    func(c *cell, b *ledger.Batch, row int) error
	quiet   int // looks at the server in a row that found nothing of this sweep
}

// runAgain runs the blocks, and calls take once for each of their trials. Results that an earlier run left are taken as ever.
func (r *run) runAgain(ctx context.Context, blocks []*again, profile string, take func(c *cell, b *ledger.Batch, row int) error) error {
	x := &rerun{run: r, blocks: blocks, out: map[string]*again{}, profile: profile, take: take}
	tick := time.NewTicker(r.Healing)
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
		case <-r.Workers:
			return r.deserted(ctx)
		case m := <-r.queue.Results():
			x.quiet = 0
			if err := x.result(m); err != nil {
				return err
			}
		case <-tick.C:
			if err := x.look(ctx); err != nil {
				return err
			}
		}
	}
}

// send keeps jobs out.
func (x *rerun) send(ctx context.Context) error {
	for len(x.blocks) > 0 && len(x.out) < mostAgain {
		a := x.blocks[0]
		x.blocks = x.blocks[1:]
		if a.tries++; a.tries > mostTries {
			return fmt.Errorf("run trial %s again: it never came back", a.cell.TrialID(a.block.N, a.back.FirstClear(0)+int64(a.block.First)))
		}
		if a.tries == 1 {
			a.left = a.block.Count
		}
		x.serial++
		id := fmt.Sprintf("%s%d", recheckPrefix, x.serial)
		message := trial.Job{
			Sweep: x.Folder.ID, ID: id, Cell: a.cell.Cell, N: a.block.N, First: int64(a.block.First), Count: int64(a.block.Count),
			Plugin: x.Digests[a.cell.Plugin], Profile: x.profile,
		}
		if err := x.queueJob(ctx, message); err != nil {
			return err
		}
		x.out[id] = a
	}
	return nil
}

// look sends again what two looks at the server in a row have not found there.
func (x *rerun) look(ctx context.Context) error {
	if err := x.flush(); err != nil {
		return err
	}
	if state, err := x.queue.State(ctx); err != nil || state.Jobs+state.Results > 0 {
		x.quiet = 0
		return nil
	}
	if x.quiet++; x.quiet < 2 {
		return nil
	}
	x.quiet = 0
	for _, id := range slices.Sorted(maps.Keys(x.out)) {
		x.blocks = append(x.blocks, x.out[id])
	}
	clear(x.out)
	return nil
}

// result holds one message against the job that it answers.
func (x *rerun) result(m *bus.Message) error {
	if m == nil || !strings.HasPrefix(m.ID, recheckPrefix) {
		return x.run.take(m)
	}
	b, err := ledger.Decode(m.Data)
	if err != nil || b.Sweep != x.Folder.ID || b.Profile != x.profile {
		return m.Ack()
	}
	id, _, _ := strings.Cut(m.ID, ".")
	a, ok := x.out[id]
	if !ok || b.Cell != a.cell.Key || b.N != a.block.N || b.Digest != x.Digests[a.cell.Plugin] {
		return m.Ack()
	}
	for row, rep := range b.Repetition {
		i := rep - int64(a.block.First)
		if i < 0 || i >= int64(a.block.Count) || a.back.Has(i) {
			continue
		}
		a.back.Set(i)
		a.left--
		if err := x.take(a.cell, b, row); err != nil {
			return err
		}
	}
	if a.left == 0 {
		delete(x.out, id)
	}
	return m.Ack()
}
