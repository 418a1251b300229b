package coordinator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A job below forecast.LeastJob costs more to carry than to run; far above aimJob, the end of a
// sweep is uneven.
const (
	aimJob    = 0.250 // seconds
	pilot     = 16    // trials of a job whose cost is unknown
	roundTrip = 30e-6 // seconds for one query of all trials of a job: the same for one trial and for a thousand
	mostTries = 5     // times that a job is queued before its missing trials are given up as lost
)

// sender queues jobs on the server.
type sender struct {
	queue   *bus.Queue
	sweep   string            // ID of the sweep
	digests map[string]string // of plugin files by path
	serial  int               // of the last job
}

// next returns a number that no job of this run has had.
func (s *sender) next() int {
	s.serial++
	return s.serial
}

// send queues a block of a cell's trials as a job. Only workers of the float profile take it; ""
// admits all of them.
func (s *sender) send(ctx context.Context, id string, c *cell, b estimate.Block, profile string) error {
	return s.submit(ctx, trial.Job{
		ID: id, Cell: c.Cell, N: b.N, First: int64(b.First), Count: int64(b.Count), Profile: profile,
	})
}

// sendAgain queues trials that are run again.
func (s *sender) sendAgain(ctx context.Context, id string, r *rerunBlock, profile string) error {
	j := trial.Job{
		ID: id, Cell: r.cell.Cell, N: r.n, First: r.picked[0], Count: int64(len(r.picked)), Profile: profile, Look: r.look,
	}
	if last := r.picked[len(r.picked)-1]; last-j.First+1 != j.Count {
		j.Picked = r.picked
	}
	return s.submit(ctx, j)
}

// submit queues a job of this sweep.
func (s *sender) submit(ctx context.Context, j trial.Job) error {
	j.Sweep, j.Plugin = s.sweep, s.digests[j.Cell.Plugin]
	data, err := j.Encode()
	if err != nil {
		return fmt.Errorf("encode job %q: %w", j.ID, err)
	}
	if err := s.queue.Submit(ctx, j.ID, data); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("queue job %q: %w", j.ID, err)
	}
	return nil
}

// job is a range of repetitions that was handed out and has not come back whole.
type job struct {
	id       string
	cell     *cell
	block    estimate.Block
	missing  int           // repetitions that are out
	sent     time.Time     // when it was queued
	expected time.Duration // time that it takes, generously
	tries    int           // times that its trials were queued
}

// dispatcher hands out jobs and keeps account of those that have not come back whole.
type dispatcher struct {
	grid    *grid
	sender  *sender
	tally   *tally
	journal *journal
	budget  Budget

	least   int           // slots that are known to work
	healing time.Duration // see Config
	lease   time.Duration
	sizes   *rand.Rand // draws the sizes of jobs; nil: they follow from their cost

	jobs    map[string]*job
	slots   int    // that work, as far as is known
	idle    bool   // nobody asks for work
	handed  int64  // trials that were handed out for the first time
	spent   bool   // the budget is spent
	working string // the cell that was handed out last, in words
}

// dispatch keeps as many jobs queued as slots will take soon: wanted work first, cells with the
// least progress first, and guesses only where a slot would idle.
func (d *dispatcher) dispatch(ctx context.Context) error {
	d.spent = false
	for len(d.jobs) < 2*d.slots {
		c, b, ok, err := d.grid.wanted(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		b = d.cut(c, b)
		if b, d.spent = d.afford(c, b); d.spent {
			return nil
		}
		if err := d.submit(ctx, c, d.widen(c, b), 1); err != nil {
			return err
		}
	}
	for _, c := range d.grid.cells {
		if len(d.jobs) >= d.slots || d.budget.Given() {
			break
		}
		if err := d.guess(ctx, c); err != nil {
			return err
		}
	}
	if len(d.jobs) == 0 && d.grid.open > 0 {
		return fmt.Errorf("%d cells are neither decided nor want anything: this is a fault in shatter; "+
			"run again to go on from the ledger", d.grid.open)
	}
	return nil
}

// guess hands out one block that a cell will probably want later, if there is one.
func (d *dispatcher) guess(ctx context.Context, c *cell) error {
	if c.done {
		return nil
	}
	for _, b := range c.Guess(8) {
		free, ok := c.free(b)
		if !ok {
			continue
		}
		a, err := d.grid.ask(ctx, c, b.N)
		if err != nil {
			return err
		}
		if a.yes() {
			return d.submit(ctx, c, d.cut(c, free), 1)
		}
	}
	return nil
}

// cut shortens a block to one job.
func (d *dispatcher) cut(c *cell, b estimate.Block) estimate.Block {
	most := c.SessionTrials(b.N)
	least, best := c.aims(b.N)
	switch t := c.secondsPerTrial(b.N); {
	case d.sizes != nil:
		most = min(most, 1+d.sizes.IntN(64))
	case t == 0:
		most = min(most, pilot)
	default:
		most = max(1, int(min(float64(most), best/t)))
		if share := (b.Count + d.slots - 1) / d.slots; float64(share)*t > least {
			most = min(most, share) // every slot gets its part of a small block
		}
	}
	b.Count = min(b.Count, most)
	return b
}

// widen lets a job that would be too short to be worth its carriage run on into repetitions that
// will probably be needed next.
func (d *dispatcher) widen(c *cell, b estimate.Block) estimate.Block {
	t := c.secondsPerTrial(b.N)
	if c.Find == nil || t == 0 || d.sizes != nil || d.budget.Given() {
		return b
	}
	least, _ := c.aims(b.N)
	want := forecast.Fill(least, t, c.SessionTrials(b.N))
	end := min(int64(b.First+want), c.MaxTrials)
	if end > int64(b.First+b.Count) {
		b.Count = int(c.size(b.N).taken.FirstSet(int64(b.First), end)) - b.First
	}
	return b
}

// afford cuts a block to what the budget still allows, or reports that it is spent.
func (d *dispatcher) afford(c *cell, b estimate.Block) (_ estimate.Block, spent bool) {
	switch {
	case d.budget.Trials > 0:
		left := d.budget.Trials - d.handed
		b.Count = int(min(int64(b.Count), left))
		return b, left <= 0
	case d.budget.Time > 0:
		left := d.budget.Time.Seconds() - d.tally.seconds
		for _, j := range d.jobs {
			left -= j.cell.secondsPerTrial(j.block.N) * float64(j.missing)
		}
		most := 1.0 // of unknown cost
		if t := c.secondsPerTrial(b.N); t > 0 {
			most = max(1, left/t)
		}
		b.Count = int(min(float64(b.Count), most))
		return b, left <= 0
	}
	return b, false
}

// believable returns at most the seconds that a job can take: a worker may report anything.
func believable(seconds float64) float64 { return min(seconds, 1e6) }

// submit queues a block as a job.
func (d *dispatcher) submit(ctx context.Context, c *cell, b estimate.Block, tries int) error {
	j := &job{
		id:   fmt.Sprintf("%s-%d-%d", c.Key.Short(), b.N, d.sender.next()),
		cell: c, block: b, missing: b.Count, sent: time.Now(), tries: tries,
	}
	seconds := believable(c.secondsPerTrial(b.N) * float64(b.Count))
	j.expected = time.Duration(3 * seconds * float64(time.Second))
	if err := d.sender.send(ctx, j.id, c, b, d.tally.profile); err != nil {
		return err
	}
	size := c.size(b.N)
	for i := range b.Count {
		size.taken.Set(int64(b.First + i))
		size.out.Set(int64(b.First + i))
	}
	c.trials += int64(b.Count)
	if tries == 1 {
		d.handed += int64(b.Count)
	}
	d.jobs[j.id] = j
	c.jobs = append(c.jobs, j)
	d.working = fmt.Sprintf("%s, n = %d", c.words(), b.N)
	if c.place >= 0 {
		d.grid.ready.push(c)
	}
	return nil
}

// returned strikes one repetition off the job that it belongs to. It reports whether the repetition
// was out.
func (d *dispatcher) returned(c *cell, n, rep int64) bool {
	size := c.size(n)
	if !size.out.Has(rep) {
		return false
	}
	size.out.Clear(rep)
	for _, j := range c.jobs {
		if j.block.N != n || rep < int64(j.block.First) || rep >= int64(j.block.First+j.block.Count) {
			continue
		}
		if j.missing--; j.missing == 0 {
			d.forget(j)
		}
		break
	}
	return true
}

// forget strikes a job off.
func (d *dispatcher) forget(j *job) {
	delete(d.jobs, j.id)
	if i := slices.Index(j.cell.jobs, j); i >= 0 {
		j.cell.jobs = slices.Delete(j.cell.jobs, i, i+1)
	}
}

// heal asks the server for its state and queues again the jobs that it does not have any more.
// unsynced is the number of results that are taken in and not acknowledged.
func (d *dispatcher) heal(ctx context.Context, now time.Time, unsynced int) error {
	state, err := d.sender.queue.State(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.journal.note(fmt.Sprintf("the queue does not answer: %v", err))
		return nil
	}
	asking := state.Waiting + state.Unacked // each slot works on one job and asks for the next; remote ones come and go
	d.slots = max(1, d.least, (asking+1)/2)
	d.idle = asking == 0
	if state.Jobs >= len(d.jobs) || state.Results > unsynced || len(d.sender.queue.Results()) > 0 {
		return nil
	}
	for _, j := range d.lateJobs(now, state.Jobs == 0) {
		if err := d.requeue(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// lateJobs returns the jobs that are overdue, or, where the server has none at all, all that should
// have come back.
func (d *dispatcher) lateJobs(now time.Time, none bool) []*job {
	wait := d.lease
	if none {
		wait = 2 * d.healing // what is on its way has arrived by then
	}
	var late []*job
	for _, j := range d.jobs {
		if now.Sub(j.sent) > j.expected+wait {
			late = append(late, j)
		}
	}
	return late
}

// requeue queues what is missing of a job under a new id, or gives it up as lost.
func (d *dispatcher) requeue(ctx context.Context, j *job) error {
	c, n, end := j.cell, j.block.N, int64(j.block.First+j.block.Count)
	out := &c.size(n).out
	d.forget(j)
	switch {
	case c.done: // nobody needs it any more
		return nil
	case j.tries >= mostTries:
		reason := fmt.Sprintf("its job was queued %d times and never came back", j.tries)
		d.journal.note(fmt.Sprintf("job %s is given up: %s", j.id, reason))
		for rep := out.FirstSet(int64(j.block.First), end); rep < end; rep = out.FirstSet(rep, end) {
			out.Clear(rep)
			d.tally.addFailure(c, n, rep, "machine", reason)
			c.Lost(n, int(rep), reason)
		}
		d.grid.queue(c)
		return nil
	}
	d.journal.note(fmt.Sprintf("job %s was lost on the way; its missing trials are queued again", j.id))
	for first := out.FirstSet(int64(j.block.First), end); first < end; {
		stop := min(out.FirstClear(first), end)
		missing := estimate.Block{N: n, First: int(first), Count: int(stop - first)}
		if err := d.submit(ctx, c, missing, j.tries+1); err != nil {
			return err
		}
		first = out.FirstSet(stop, end)
	}
	return nil
}
