package coordinator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A job below leastJob costs more to carry than to run; far above aimJob, the end of a
// sweep is uneven.
const (
	leastJob  = 0.001 // seconds
	aimJob    = 0.250 // seconds, in a fleet of up to aimJob*jobRate slots
	jobRate   = 256   // jobs that end in a second, at most, where they can be long enough: each costs a disk a sync
	pilot     = 16    // trials of a job whose cost is unknown
	roundTrip = 30e-6 // seconds for one query of all trials of a job: the same for one trial and for a thousand
)

// job is a range of repetitions that was handed out and has not come back whole.
type job struct {
	from    *dispatcher
	cell    *cell
	block   estimate.Block
	missing int     // repetitions that are out
	seconds float64 // that it will take, as far as is known
	road    way
}

func (j *job) way() *way     { return &j.road }
func (j *job) open() int     { return j.missing }
func (j *job) words() string { return j.cell.At(j.block.N) }

// left returns the job of the repetitions that are still out.
func (j *job) left() *trial.Job {
	if j.cell.done || j.missing == 0 {
		return nil
	}
	t := &trial.Job{
		Cell: j.cell.Cell.Cell, N: j.block.N, First: int64(j.block.First), Count: int64(j.block.Count),
		Profile: j.from.tally.profile, Seconds: j.seconds,
	}
	if j.missing == j.block.Count {
		return t
	}
	out, end := &j.cell.size(j.block.N).out, t.First+t.Count
	for rep := out.FirstSet(t.First, end); rep < end; rep = out.FirstSet(rep+1, end) {
		t.Picked = append(t.Picked, rep)
	}
	t.First, t.Count = t.Picked[0], int64(len(t.Picked))
	t.Seconds *= float64(t.Count) / float64(j.block.Count)
	return t
}

// dispatcher hands out jobs and keeps account of those that have not come back whole.
type dispatcher struct {
	grid   *grid
	crew   *crew
	tally  *tally
	budget Budget

	jobs    map[*job]bool
	doubts  map[doubt]*job // what runs a trial that was lost once again
	slots   int            // that work, as far as is known
	handed  int64          // trials that were handed out
	spent   bool           // the budget is spent
	working string         // the cell that was handed out last, in words
}

// hasProfile reports whether the sweep has a float profile. The first workers that can run it determine it.
func (d *dispatcher) hasProfile() bool {
	if d.tally.profile == "" && d.crew.room() {
		d.tally.profile = d.crew.usualProfile()
	}
	d.crew.setProfile(d.tally.profile)
	return d.tally.profile != ""
}

// doubt is a trial that a limit of a machine has ended.
type doubt struct {
	cell   *cell
	n, rep int64
}

// dispatch keeps as many jobs out as slots will take soon: first the jobs that came back, then the trials that
// cells want, cells with the least progress first.
func (d *dispatcher) dispatch(ctx context.Context) error {
	d.spent = false
	d.slots = max(1, d.crew.slots())
	if !d.hasProfile() {
		return nil
	}
	if err := d.crew.sendAgain(ctx); err != nil {
		return err
	}
	if err := d.sendWanted(ctx); err != nil || d.spent {
		return err
	}
	if len(d.jobs) == 0 && d.grid.open > 0 && d.grid.ready.Len() == 0 && d.crew.room() {
		return fmt.Errorf("%d cells are neither decided nor want anything: this is a fault in shatter; "+
			"run again to go on from the ledger", d.grid.open)
	}
	return nil
}

// sendWanted hands out what cells want.
func (d *dispatcher) sendWanted(ctx context.Context) error {
	for d.crew.room() {
		c, b, ok := d.grid.wanted()
		if !ok {
			return nil
		}
		b = d.cut(c, b)
		if b, d.spent = d.afford(c, b); d.spent {
			return nil
		}
		if err := d.submit(ctx, c, b); err != nil {
			return err
		}
	}
	return nil
}

// leastParts is the number of slots that share a small block, where there are so many, however many
// cells want trials: not all of these may have a block to give.
const leastParts = 16

// cut shortens a block to one job.
func (d *dispatcher) cut(c *cell, b estimate.Block) estimate.Block {
	most := c.SessionTrials(b.N)
	least, best := c.aims(b.N)
	switch t := c.secondsPerTrial(b.N); t {
	case 0:
		most = min(most, pilot)
	default:
		large := float64(d.slots) / jobRate
		most = max(1, int(min(float64(most), max(best, large)/t)))
		parts, floor := d.slots/max(1, d.grid.ready.Len()), 0
		if few := min(d.slots, leastParts); parts < few {
			parts, floor = few, int(large/leastParts/t) // of many cells, for a disk to bear all their jobs
		}
		if share := (b.Count + parts - 1) / parts; float64(share)*t > least {
			most = min(most, max(share, floor)) // every slot gets its part of a small block
		}
	}
	b.Count = min(b.Count, most)
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
		for j := range d.jobs {
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

// submit hands out a block as a job.
func (d *dispatcher) submit(ctx context.Context, c *cell, b estimate.Block) error {
	j := &job{from: d, cell: c, block: b, missing: b.Count}
	j.seconds = believable(c.secondsPerTrial(b.N) * float64(b.Count))
	if err := d.crew.send(ctx, j); err != nil {
		return err
	}
	d.add(j)
	d.handed += int64(b.Count)
	d.working = j.words()
	if c.place >= 0 {
		d.grid.ready.push(c)
	}
	return nil
}

// add keeps account of a job that is handed out.
func (d *dispatcher) add(j *job) {
	size := j.cell.size(j.block.N)
	for i := range j.block.Count {
		size.taken.Set(int64(j.block.First + i))
		size.out.Set(int64(j.block.First + i))
	}
	j.cell.trials += int64(j.block.Count)
	j.cell.jobs = append(j.cell.jobs, j)
	d.jobs[j] = true
}

// returned strikes one repetition of a sample size of a cell off the job that it belongs to. It reports
// whether the repetition was out.
func (d *dispatcher) returned(c *cell, size *sizing, rep int64) bool {
	if !size.out.Has(rep) {
		return false
	}
	size.out.Clear(rep)
	for _, j := range c.jobs {
		if j.block.N != size.n || rep < int64(j.block.First) || rep >= int64(j.block.First+j.block.Count) {
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
	delete(d.jobs, j)
	if i := slices.Index(j.cell.jobs, j); i >= 0 {
		j.cell.jobs = slices.Delete(j.cell.jobs, i, i+1)
	}
}

// lost deals with a trial that a limit of a worker's machine has ended. The first time, it is run
// again, by another worker if there is one; it reports whether this was the second time.
func (d *dispatcher) lost(c *cell, n, rep int64, worker string, e *errand) (agreed bool) {
	x := doubt{c, n, rep}
	again := d.doubts[x]
	if again != nil && e != nil && worker == again.road.first && len(d.crew.members) > 1 && again.road.sent < mostTries {
		return false // not a second machine: it is published again
	}
	if e == nil || again != nil && e.cargo != again || !d.returned(c, c.size(n), rep) {
		return false // told already, or left over from an earlier run: this one tries again
	}
	if again != nil {
		return true
	}
	j := &job{from: d, cell: c, block: estimate.Block{N: n, First: int(rep), Count: 1}, missing: 1}
	j.road.avoid, j.road.first = worker, worker
	d.doubts[x] = j
	d.add(j)
	d.crew.wait(j)
	return false
}

// heal compares the account of jobs with the server's.
func (d *dispatcher) heal(ctx context.Context, now time.Time) error {
	if err := d.crew.heal(ctx, now); err != nil {
		return err
	}
	for j := range d.jobs {
		if j.cell.done && len(j.road.errands) == 0 { // it is not needed any more
			d.forget(j)
		}
	}
	return nil
}
