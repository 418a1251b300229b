package coordinator

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shatterlab/shatter/pipeline/estimate"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// Aims for a job's length. Below the least, a job costs more to carry than to run; above the most, the end of a sweep is uneven.
const (
	leastJob = 0.010 // seconds
	aimJob   = 0.250
	pilot    = 16 // trials of a job whose cost is unknown

	roundTrip = 100e-6 // seconds for one query of all trials of a game: the same for one trial and for a thousand
)

// aims are the least and the best length of a job, in seconds. The trials of a game share its round trips, so a job should be much longer
// than these alone.
func (c *cell) aims() (least, best float64) {
	trips := 0.0
	if c.Adversary != nil && !c.Adversary.Offline {
		trips = roundTrip * float64(c.Queries)
	}
	return leastJob + 2*trips, aimJob + 20*trips
}

// job is a range of repetitions that was handed out and has not come back whole.
type job struct {
	id       string
	cell     *cell
	block    estimate.Block
	missing  int           // repetitions that are out
	sent     time.Time     // when it was queued
	expected time.Duration // that it takes, with much to spare
	tries    int
}

// dispatch keeps as many jobs queued as slots will take soon: wanted work first, cells with the least progress first, and
// guesses only where a slot would idle.
func (r *run) dispatch(ctx context.Context) error {
	r.spent = false
	for len(r.jobs) < 2*r.slots {
		c, b, ok := r.wanted()
		if !ok {
			break
		}
		if b, r.spent = r.afford(c, b); r.spent {
			return nil
		}
		if err := r.submit(ctx, c, r.widen(c, b), 1); err != nil {
			return err
		}
	}
	for _, c := range r.cells {
		if len(r.jobs) >= r.slots || r.Budget.Given() {
			break
		}
		if err := r.guess(ctx, c); err != nil {
			return err
		}
	}
	if len(r.jobs) == 0 {
		return fmt.Errorf("%d cells are neither decided nor want anything: this is a fault in shatter; run again to go on from the ledger", r.open)
	}
	return nil
}

// guess hands out one block that a cell will probably want later.
func (r *run) guess(ctx context.Context, c *cell) error {
	if c.done {
		return nil
	}
	for _, b := range c.Guess(8) {
		free, ok := c.free(b)
		if !ok {
			continue
		}
		a, err := r.ask(ctx, c, b.N)
		if err != nil {
			return err
		}
		if a.yes() {
			return r.submit(ctx, c, r.cut(c, free), 1)
		}
	}
	return nil
}

// wanted finds the next block that some cell needs and nobody works on.
func (r *run) wanted() (*cell, estimate.Block, bool) {
	for r.ready.Len() > 0 {
		c := r.ready.cells[0]
		if !c.done {
			if b, ok := c.next(c.Want()); ok {
				return c, r.cut(c, b), true
			}
		}
		r.ready.pop()
	}
	return nil, estimate.Block{}, false
}

// cut shortens a block to one job.
func (r *run) cut(c *cell, b estimate.Block) estimate.Block {
	most := c.SessionTrials(b.N)
	least, best := c.aims()
	switch t := c.secondsPerTrial(b.N); {
	case r.JobSizes != nil:
		most = min(most, 1+r.JobSizes.IntN(64))
	case t == 0:
		most = min(most, pilot)
	default:
		most = max(1, int(min(float64(most), best/t)))
		if share := (b.Count + r.slots - 1) / r.slots; float64(share)*t > least {
			most = min(most, share) // every slot gets its part of a small block
		}
	}
	b.Count = min(b.Count, most)
	return b
}

// widen lets a job that would be too short to be worth its carriage run on into repetitions that will probably be needed next.
func (r *run) widen(c *cell, b estimate.Block) estimate.Block {
	t := c.secondsPerTrial(b.N)
	if c.Find == nil || t == 0 || r.JobSizes != nil || r.Budget.Given() {
		return b
	}
	least, _ := c.aims()
	want := int(min(least/t, float64(c.SessionTrials(b.N))))
	end := min(int64(b.First+want), c.MaxTrials)
	if end > int64(b.First+b.Count) {
		b.Count = int(c.size(b.N).taken.FirstSet(int64(b.First), end)) - b.First
	}
	return b
}

func (r *run) submit(ctx context.Context, c *cell, b estimate.Block, tries int) error {
	const longest = 1e6 // seconds; a worker may say anything
	r.serial++
	j := &job{id: fmt.Sprintf("%s-%d-%d", c.Key.Short(), b.N, r.serial), cell: c, block: b, missing: b.Count, sent: time.Now(), tries: tries}
	j.expected = time.Duration(3 * min(longest, c.secondsPerTrial(b.N)*float64(b.Count)) * float64(time.Second))
	if err := r.send(ctx, c, j.id, b); err != nil {
		return err
	}
	size := c.size(b.N)
	for i := range b.Count {
		size.taken.Set(int64(b.First + i))
		size.out.Set(int64(b.First + i))
	}
	c.trials += int64(b.Count)
	if tries == 1 {
		r.handed += int64(b.Count)
	}
	r.jobs[j.id] = j
	c.jobs = append(c.jobs, j)
	r.working = fmt.Sprintf("%s, n = %d", c.words(), b.N)
	if c.place >= 0 {
		r.ready.push(c)
	}
	return nil
}

func (r *run) send(ctx context.Context, c *cell, id string, b estimate.Block) error {
	message := trial.Job{
		Sweep: r.Folder.ID, ID: id, Cell: c.Cell, N: b.N, First: int64(b.First), Count: int64(b.Count),
		Plugin: r.Digests[c.Plugin], Profile: r.profile,
	}
	return r.queueJob(ctx, message)
}

func (r *run) queueJob(ctx context.Context, j trial.Job) error {
	data, err := j.Encode()
	if err != nil {
		return fmt.Errorf("encode job %q: %w", j.ID, err)
	}
	if err := r.queue.Submit(ctx, j.ID, data); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("queue job %q: %w", j.ID, err)
	}
	return nil
}

// back takes one repetition off the job that it belongs to. It reports whether the repetition was out.
func (r *run) back(c *cell, s *sizing, n, rep int64) bool {
	if !s.out.Has(rep) {
		return false
	}
	s.out.Clear(rep)
	for _, j := range c.jobs {
		if j.block.N != n || rep < int64(j.block.First) || rep >= int64(j.block.First+j.block.Count) {
			continue
		}
		if j.missing--; j.missing == 0 {
			r.forget(j)
		}
		break
	}
	return true
}

// forget strikes a job off.
func (r *run) forget(j *job) {
	delete(r.jobs, j.id)
	if i := slices.Index(j.cell.jobs, j); i >= 0 {
		j.cell.jobs = slices.Delete(j.cell.jobs, i, i+1)
	}
}

// heal queues again what has gone missing: jobs that the server does not have any more.
func (r *run) heal(ctx context.Context, now time.Time) error {
	state, err := r.queue.State(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.note(fmt.Sprintf("the queue does not answer: %v", err))
		return nil
	}
	asking := state.Waiting + state.Unacked // each slot works on one job and asks for the next; remote ones come and go
	r.slots = max(1, r.Slots, (asking+1)/2)
	r.counts.idle = asking == 0
	if state.Jobs >= len(r.jobs) || state.Results > len(r.unsynced) || len(r.queue.Results()) > 0 {
		return nil
	}
	for _, j := range r.lateJobs(now, state.Jobs == 0) {
		if err := r.again(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// lateJobs are those that are overdue, or, where the server has none at all, all that should have come back.
func (r *run) lateJobs(now time.Time, none bool) []*job {
	wait := r.Lease
	if none {
		wait = 2 * r.Healing // what is on its way has arrived by then
	}
	var late []*job
	for _, j := range r.jobs {
		if now.Sub(j.sent) > j.expected+wait {
			late = append(late, j)
		}
	}
	return late
}

// again queues what is missing of a job under a new id, or gives it up.
func (r *run) again(ctx context.Context, j *job) error {
	c, n, end := j.cell, j.block.N, int64(j.block.First+j.block.Count)
	out := &c.size(n).out
	r.forget(j)
	switch {
	case c.done: // nobody needs it any more
		return nil
	case j.tries >= mostTries:
		reason := fmt.Sprintf("its job was queued %d times and never came back", j.tries)
		r.note(fmt.Sprintf("job %s is given up: %s", j.id, reason))
		for rep := out.FirstSet(int64(j.block.First), end); rep < end; rep = out.FirstSet(rep, end) {
			out.Clear(rep)
			r.counts.failure(c, n, rep, "machine", reason)
			c.Lost(n, int(rep), reason)
		}
		r.touch(c)
		return nil
	}
	r.note(fmt.Sprintf("job %s was lost on the way; its missing trials are queued again", j.id))
	for first := out.FirstSet(int64(j.block.First), end); first < end; {
		stop := min(out.FirstClear(first), end)
		if err := r.submit(ctx, c, estimate.Block{N: n, First: int(first), Count: int(stop - first)}, j.tries+1); err != nil {
			return err
		}
		first = out.FirstSet(stop, end)
	}
	return nil
}

// cellQueue orders cells that may want something by progress, then by place.
type cellQueue struct{ cells []*cell }

func (q *cellQueue) Len() int { return len(q.cells) }
func (q *cellQueue) Less(i, j int) bool {
	a, b := q.cells[i], q.cells[j]
	if a.trials != b.trials {
		return a.trials < b.trials
	}
	return a.index < b.index
}
func (q *cellQueue) Swap(i, j int) {
	q.cells[i], q.cells[j] = q.cells[j], q.cells[i]
	q.cells[i].place, q.cells[j].place = i, j
}
func (q *cellQueue) Push(x any) {
	c := x.(*cell)
	c.place = len(q.cells)
	q.cells = append(q.cells, c)
}
func (q *cellQueue) Pop() any {
	c := q.cells[len(q.cells)-1]
	q.cells = q.cells[:len(q.cells)-1]
	c.place = -1
	return c
}

// push adds a cell, or puts it in its new place.
func (q *cellQueue) push(c *cell) {
	if c.place >= 0 {
		heap.Fix(q, c.place)
		return
	}
	heap.Push(q, c)
}

func (q *cellQueue) pop() { heap.Pop(q) }
