package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// RefusedError reports that the algorithm refuses a trial's sample size.
type RefusedError struct{ Trial, Reason string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("trial %s is never run: the algorithm refuses its n: %s", e.Trial, e.Reason)
}

// use receives the outcome of a trial that was run again: a row of b, which is valid until it returns.
type use func(r *pool.Request, b *ledger.Batch, row int) error

// A rerun is the source of trials that are run again.
type rerun struct {
	pool    *pool.Pool
	waiting []*pool.Request        // not published yet
	more    func() []*pool.Request // returns further requests when none is waiting, and nil at the end; nil: none
	open    int                    // published requests with missing trials
	use     use
	other   pool.Source // receives the results of other jobs, and ticks; nil: they are dropped
	show    func()      // called at ticks; nil: not
	ignored []string    // workers whose results do not count
}

// newRequest returns a request to run trials of a cell again.
func newRequest(c *trial.Cell, n int64, recheck trial.Recheck, repetitions ...int64) *pool.Request {
	r := pool.NewRequest(c, n, repetitions...)
	r.Again, r.Recheck = true, recheck
	return r
}

// run runs requests again and calls use once for each of their trials.
func run(ctx context.Context, p *pool.Pool, other pool.Source, requests []*pool.Request, use use) error {
	return p.Run(ctx, &rerun{pool: p, waiting: requests, use: use, other: other})
}

// Done implements [pool.Source].
func (x *rerun) Done() (bool, error) {
	x.refill()
	return x.open == 0 && len(x.waiting) == 0, nil
}

// refill fetches further requests if none is waiting.
func (x *rerun) refill() {
	if len(x.waiting) == 0 && x.more != nil {
		x.waiting = x.more()
	}
}

// Next implements [pool.Source].
func (x *rerun) Next() (*pool.Request, error) {
	x.refill()
	if len(x.waiting) == 0 {
		return nil, nil
	}
	r := x.waiting[0]
	x.waiting = x.waiting[1:]
	x.open++
	return r, nil
}

// Tick implements [pool.Source].
func (x *rerun) Tick(ctx context.Context) error {
	if x.show != nil {
		x.show()
	}
	if x.other == nil {
		return nil
	}
	return x.other.Tick(ctx)
}

// Accept implements [pool.Source].
func (x *rerun) Accept(m *queue.Message, r *pool.Request) error {
	switch {
	case r != nil && r.Again:
		b, err := ledger.Decode(m.Data)
		if err != nil || b.Worker != m.Worker {
			return nil //nolint:nilerr // the pool publishes the missing trials again
		}
		return x.accept(r, b)
	case pool.IsAgain(m.Job) || x.other == nil:
		return nil
	}
	return x.other.Accept(m, r)
}

// accept uses the rows of a batch that answer a request.
func (x *rerun) accept(r *pool.Request, b *ledger.Batch) error {
	if slices.Contains(x.ignored, b.Worker) || b.Sweep != x.pool.Term.Sweep || b.Profile != x.pool.Profile ||
		b.Cell != r.Cell.Key || b.N != r.N ||
		!schemas.SameCode(b.Digest, x.pool.Digests[r.Cell.Code()]) {
		return nil
	}
	x.pool.Usual.Record(b.Seconds)
	if b.Refusal != nil {
		return &RefusedError{r.Cell.TrialID(r.N, r.Open()[0]), b.Refusal.Message}
	}
	for row, repetition := range b.Repetition {
		if !r.Return(repetition) {
			continue
		}
		if r.Missing() == 0 {
			x.open--
		}
		if err := x.use(r, b, row); err != nil {
			return err
		}
	}
	return nil
}

// A position orders trials as the tables do.
type position struct {
	cell          int // position in the plan
	n, repetition int64
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.cell, q.cell), cmp.Compare(p.n, q.n), cmp.Compare(p.repetition, q.repetition))
}

// indexOf returns the places of a plan's cells.
func indexOf(cells []*trial.Cell) map[trial.Key]int {
	index := make(map[trial.Key]int, len(cells))
	for i, c := range cells {
		index[c.Key] = i
	}
	return index
}

// blockTrials is the largest number of trials in a request if their cost is unknown.
const blockTrials = 64

// cut makes requests of repetitions of a sample size, in any order.
func cut(c *trial.Cell, n int64, recheck trial.Recheck, repetitions []int64, most int) (requests []*pool.Request) {
	slices.Sort(repetitions)
	for part := range slices.Chunk(repetitions, min(most, c.SessionTrials(n))) {
		requests = append(requests, newRequest(c, n, recheck, slices.Clone(part)...))
	}
	return requests
}
