package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/estimate"
)

// Lengths of jobs: see cut. A job shorter than minJob costs more to transport than to run. Jobs
// much longer than targetJob leave slots idle at the end of a sweep.
const (
	minJob    = 0.005 // smallest run time of a job in seconds, if there are enough trials
	targetJob = 0.250 // run time of a job in seconds, with up to targetJob*jobRate slots
	jobRate   = 256   // largest number of jobs that may end per second: each costs an fsync
	firstJob  = 16    // number of trials in a job whose cost is unknown
	roundTrip = 30e-6 // seconds for one query of all trials of a job; independent of the number of trials
)

// A scheduler requests the trials that cells need, and tracks the requests with missing trials.
type scheduler struct {
	*state
	budget Budget

	jobs   map[*pool.Request]*cell
	doubts map[doubt]doubtful
	slots  int   // estimated number of slots that work, at least 1
	handed int64 // number of requested trials
	spent  bool  // the budget is spent
	last   *pool.Request
}

// A doubt identifies a trial that a resource limit of a worker's machine has ended.
type doubt struct {
	cell   *cell
	n, rep int64
}

// A doubtful is the second run of such a trial.
type doubtful struct {
	request *pool.Request
	worker  string // worker that lost the trial the first time
}

// next returns a request for trials of the first cell in the order of work that needs some. It
// returns nil if no cell needs trials at present, or if the budget is spent.
func (d *scheduler) next() (*pool.Request, error) {
	d.slots, d.spent = max(1, d.pool.Roster.Slots(time.Now())), false
	c, b, whole, found := d.grid.wanted()
	if !found {
		if len(d.jobs) == 0 && d.grid.open > 0 {
			return nil, fmt.Errorf("%d cells are neither decided nor need trials: this is a fault in shatter: "+
				"report it, and run again to continue from the ledger", d.grid.open)
		}
		return nil, nil
	}
	if b, d.spent = d.afford(c, d.cut(c, b, whole)); d.spent {
		return nil, nil
	}
	r := pool.NewRequest(c.Cell, b.N, pool.Range(b.First, b.Count)...)
	r.Seconds = pool.Believable(c.secondsPerTrial(b.N) * float64(b.Count))
	d.add(c, r)
	size := c.size(b.N)
	for i := range b.Count {
		size.taken.Set(int64(b.First + i))
	}
	d.handed += int64(b.Count)
	d.last = r
	return r, nil
}

// minParts is the number of slots that share a small block, if that many slots exist. It is
// independent of the number of cells that need trials, because not all of them may have a block.
const minParts = 16

// cut shortens the rest of a block of whole trials to one job. Let t be the predicted seconds per
// trial, and least and best the results of c.jobSeconds. A job has at most max(best,
// slots/jobRate)/t trials, at least 1, and at most SessionTrials; if t is unknown, at most firstJob.
// If the block has fewer trials than that for every slot, the slots share it: each job has 1/parts
// of it, where parts is the larger of slots/cells and min(slots, minParts). If such a share takes no
// longer than least, the block is not shared. In the second case of parts, a share has at least
// slots/jobRate/minParts/t trials, which limits the rate of fsyncs.
func (d *scheduler) cut(c *cell, b estimate.Block, whole int) estimate.Block {
	most := c.SessionTrials(b.N)
	least, best := c.jobSeconds(b.N)
	switch t := c.secondsPerTrial(b.N); t {
	case 0:
		most = min(most, firstJob)
	default:
		large := float64(d.slots) / jobRate
		most = max(1, int(min(float64(most), max(best, large)/t)))
		parts, floor := d.slots/max(1, d.grid.ready), 0
		if few := min(d.slots, minParts); parts < few {
			parts, floor = few, int(large/minParts/t) // one of many cells
		}
		if share := (whole + parts - 1) / parts; float64(share)*t > least {
			most = min(most, max(share, floor)) // every slot gets its share of a small block
		}
	}
	b.Count = min(b.Count, most)
	return b
}

// afford cuts a block to the rest of the budget, or reports that the budget is spent.
func (d *scheduler) afford(c *cell, b estimate.Block) (_ estimate.Block, spent bool) {
	switch {
	case d.budget.Trials > 0:
		left := d.budget.Trials - d.handed
		b.Count = int(min(int64(b.Count), left))
		return b, left <= 0
	case d.budget.Time > 0:
		left := d.budget.Time.Seconds() - d.tally.seconds
		for r, cell := range d.jobs {
			left -= cell.secondsPerTrial(r.N) * float64(r.Missing())
		}
		most := 1.0 // trials of unknown cost
		if t := c.secondsPerTrial(b.N); t > 0 {
			most = max(1, left/t)
		}
		b.Count = int(min(float64(b.Count), most))
		return b, left <= 0
	}
	return b, false
}

func (d *scheduler) add(c *cell, r *pool.Request) {
	c.trials += int64(r.Len())
	c.jobs = append(c.jobs, r)
	d.jobs[r] = c
}

// returned records that a trial has returned, possibly in answer to a request, which may be nil. It
// reports whether the trial was missing.
func (d *scheduler) returned(c *cell, n, rep int64, answered *pool.Request) bool {
	if answered != nil && d.jobs[answered] == c && answered.N == n && answered.Return(rep) {
		d.complete(c, answered)
		return true
	}
	for _, r := range c.jobs {
		if r.N == n && r.Return(rep) {
			d.complete(c, r)
			return true
		}
	}
	return false
}

// complete stops tracking a request if all of its trials have returned.
func (d *scheduler) complete(c *cell, r *pool.Request) {
	if r.Missing() > 0 {
		return
	}
	delete(d.jobs, r)
	if i := slices.Index(c.jobs, r); i >= 0 {
		c.jobs = slices.Delete(c.jobs, i, i+1)
	}
}

// cancelDecided cancels the requests of decided cells.
func (d *scheduler) cancelDecided() {
	maps.DeleteFunc(d.jobs, func(r *pool.Request, c *cell) bool {
		if c.done {
			r.Cancel()
			c.jobs = nil
		}
		return c.done
	})
}

// lost handles a trial that a resource limit of a worker's machine has ended. After the first loss
// the trial runs again, on another worker if there is one. lost reports whether the loss is final:
// a second worker has lost the trial, or the same worker has lost it again and is the only worker,
// or the retry has failed pool.MaxTries times.
func (d *scheduler) lost(c *cell, n, rep int64, worker string, r *pool.Request) (final bool) {
	x := doubt{c, n, rep}
	again, second := d.doubts[x]
	if second && worker == again.worker && d.pool.Roster.Several() && again.request.Failures() < pool.MaxTries {
		return false // not a second machine: the pool publishes the trial again
	}
	if r == nil || second && r != again.request || !d.returned(c, n, rep, r) {
		return false // known already, or from an earlier run: this run tries again
	}
	if second {
		return true
	}
	retry := pool.NewRequest(c.Cell, n, rep)
	retry.Avoid = []string{worker}
	d.doubts[x] = doubtful{retry, worker}
	d.add(c, retry)
	d.pool.Retry(retry)
	return false
}
