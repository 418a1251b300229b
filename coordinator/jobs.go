package coordinator

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/shatterlab/shatter/pipeline"
	"github.com/shatterlab/shatter/pipeline/estimate"
)

// Aims for a job's length. Below the least, a job costs more to carry than to run; above the most, the end of a sweep is uneven.
const (
	leastJob = 0.010 // seconds
	aimJob   = 0.250
	pilot    = 16 // trials of a job whose cost is unknown
)

// job is a range of repetitions that was handed out and has not come back whole.
type job struct {
	id       string
	cell     *cell
	block    estimate.Block
	missing  int
	deadline time.Time // after which it is taken for lost, if the server does not have it either
	tries    int
}

// dispatch keeps as many jobs queued as slots will take soon: wanted work first, cells with the least progress first, and
// guesses only where a slot would idle.
func (r *run) dispatch(ctx context.Context) error {
	for len(r.jobs) < 2*r.slots {
		c, b, ok := r.wanted()
		if !ok {
			break
		}
		if err := r.submit(ctx, c, r.widen(c, b), 1); err != nil {
			return err
		}
	}
	for _, c := range r.cells {
		if len(r.jobs) >= r.slots || r.open == 0 {
			return nil
		}
		if err := r.guess(ctx, c); err != nil {
			return err
		}
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
	switch t := c.secondsPerTrial(b.N); {
	case r.JobSizes != nil:
		most = min(most, 1+r.JobSizes.IntN(64))
	case t == 0:
		most = min(most, pilot)
	default:
		most = min(most, max(1, int(aimJob/t)))
		if share := (b.Count + r.slots - 1) / r.slots; float64(share)*t > leastJob {
			most = min(most, share) // every slot gets its part of a small block
		}
	}
	b.Count = min(b.Count, most)
	return b
}

// widen lets a job that would be too short to be worth its carriage run on into repetitions that will probably be needed next.
func (r *run) widen(c *cell, b estimate.Block) estimate.Block {
	t := c.secondsPerTrial(b.N)
	if c.Find == nil || t == 0 || r.JobSizes != nil {
		return b
	}
	want := min(int(leastJob/t), c.SessionTrials(b.N))
	end := min(int64(b.First+want), c.MaxTrials)
	if end > int64(b.First+b.Count) {
		b.Count = int(c.size(b.N).taken.firstSet(int64(b.First), end)) - b.First
	}
	return b
}

func (r *run) submit(ctx context.Context, c *cell, b estimate.Block, tries int) error {
	r.serial++
	j := &job{id: fmt.Sprintf("%s-%d-%d", c.Key.Short(), b.N, r.serial), cell: c, block: b, missing: b.Count, tries: tries}
	expected := c.secondsPerTrial(b.N) * float64(b.Count)
	j.deadline = time.Now().Add(lease + time.Duration(3*expected*float64(time.Second)))
	if err := r.send(ctx, c, j.id, b); err != nil {
		return err
	}
	taken := &c.size(b.N).taken
	for i := range b.Count {
		taken.set(int64(b.First + i))
	}
	c.trials += int64(b.Count)
	r.jobs[j.id] = j
	c.jobs = append(c.jobs, j)
	if c.place >= 0 {
		r.ready.push(c)
	}
	return nil
}

func (r *run) send(ctx context.Context, c *cell, id string, b estimate.Block) error {
	message := pipeline.Job{
		Sweep: r.Folder.ID, ID: id, Cell: c.Cell, N: b.N, First: int64(b.First), Count: int64(b.Count),
		Plugin: r.Digests[c.Plugin], Profile: r.profile,
	}
	data, err := message.Encode()
	if err != nil {
		return fmt.Errorf("encode job %q: %w", id, err)
	}
	if err := r.queue.Submit(ctx, id, data); err != nil && ctx.Err() == nil {
		return fmt.Errorf("queue job %q: %w", id, err)
	}
	return nil
}

// finished takes one repetition off the job that it belongs to.
func (r *run) finished(c *cell, n, rep int64) {
	for i, j := range c.jobs {
		if j.block.N != n || rep < int64(j.block.First) || rep >= int64(j.block.First+j.block.Count) {
			continue
		}
		if j.missing--; j.missing == 0 {
			delete(r.jobs, j.id)
			c.jobs = append(c.jobs[:i], c.jobs[i+1:]...)
		}
		return
	}
}

// heal queues again what has gone missing: jobs past their deadline that the server does not have any more.
func (r *run) heal(ctx context.Context, now time.Time) error {
	state, err := r.queue.State(ctx)
	if err != nil {
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

// lateJobs are those past their deadline, or, where the server has none at all, all that are older than a moment.
func (r *run) lateJobs(now time.Time, none bool) []*job {
	var late []*job
	for _, j := range r.jobs {
		limit := j.deadline
		if none {
			limit = limit.Add(-lease + 2*time.Second)
		}
		if now.After(limit) {
			late = append(late, j)
		}
	}
	return late
}

// again frees the missing repetitions of a job and queues them under a new id, or gives them up.
func (r *run) again(ctx context.Context, j *job) error {
	c, n := j.cell, j.block.N
	delete(r.jobs, j.id)
	for i := range c.jobs {
		if c.jobs[i] == j {
			c.jobs = append(c.jobs[:i], c.jobs[i+1:]...)
			break
		}
	}
	if j.tries >= mostTries {
		reason := fmt.Sprintf("job %s was queued %d times and never came back", j.id, j.tries)
		r.note(reason)
		for i := range j.block.Count {
			if rep := int64(j.block.First + i); !r.ledger.Has(c.Key, n, rep) {
				c.Lost(n, int(rep), reason)
				c.lost++
			}
		}
		return r.advance(ctx, c)
	}
	r.note(fmt.Sprintf("job %s was lost on the way; its missing trials are queued again", j.id))
	taken := &c.size(n).taken
	for i := range j.block.Count {
		if rep := int64(j.block.First + i); !r.ledger.Has(c.Key, n, rep) {
			taken.clear(rep)
		}
	}
	for end := int64(j.block.First + j.block.Count); ; {
		first := taken.firstClear(int64(j.block.First))
		if first >= end {
			return nil
		}
		count := int(taken.firstSet(first, end) - first)
		if err := r.submit(ctx, c, estimate.Block{N: n, First: int(first), Count: count}, j.tries+1); err != nil {
			return err
		}
	}
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
