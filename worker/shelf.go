package worker

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// held is a job that this worker holds: it waits, or runs in a slot.
type held struct {
	bus.Job
	trial *trial.Job
	sweep *account
	began time.Time          // zero while it waits
	took  time.Duration      // to run it, once it has run
	end   context.CancelFunc // ends the job while it runs
}

// account is what a worker has done for a sweep.
type account struct {
	name    string
	epoch   uint64    // greatest that was heard of
	heard   time.Time // when a leader of this epoch was last heard of
	ended   bool      // the leader of this epoch wants nothing more
	used    float64   // seconds over weight, of jobs that ran and, as predicted, of those that run
	waiting []*held   // in the order of their arrival
	running int
}

// busy reports whether the worker has a job of the sweep.
func (a *account) busy() bool { return a.running+len(a.waiting) > 0 }

// shelf holds the jobs of a worker and says which of them is next.
type shelf struct {
	mu      sync.Mutex
	filled  sync.Cond // a job was added, or the shelf closed
	sweeps  map[string]*account
	running map[*held]bool
	seconds float64 // that jobs have taken
	closed  bool
}

func newShelf() *shelf {
	s := &shelf{sweeps: map[string]*account{}, running: map[*held]bool{}}
	s.filled.L = &s.mu
	return s
}

// forgotten is the silence after which a worker follows a leader of an epoch that is over too: a server
// that has lost its store counts epochs anew.
const forgotten = 30 * time.Second

// add puts a job on the shelf. It reports false where the shelf is closed. A job whose leader has
// ended, or was followed by another, is dropped, and so is one that is there already.
func (s *shelf) add(message bus.Job, job *trial.Job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	a := s.account(message.Sweep)
	over := message.Epoch < a.epoch || message.Epoch == a.epoch && a.ended
	if over && !a.busy() && time.Since(a.heard) > forgotten {
		a.epoch, a.ended, over = 0, false, false
	}
	if over || message.Epoch == a.epoch && s.has(a, message.ID) {
		return true
	}
	if message.Epoch > a.epoch {
		s.drop(a, message.Epoch-1, nil)
		a.epoch, a.ended = message.Epoch, false
	}
	a.heard = time.Now()
	if !a.busy() { // it has no claim on time in which it wanted nothing
		a.used = max(a.used, s.leastUsed())
	}
	h := &held{Job: message, trial: job, sweep: a}
	a.waiting = append(a.waiting, h)
	s.filled.Signal()
	return true
}

// account returns the account of a sweep. The first of those that want nothing makes room.
func (s *shelf) account(sweep string) *account {
	const most = 1 << 10
	a := s.sweeps[sweep]
	if a != nil {
		return a
	}
	for name, old := range s.sweeps {
		if len(s.sweeps) >= most && !old.busy() {
			delete(s.sweeps, name)
		}
	}
	a = &account{name: sweep}
	s.sweeps[sweep] = a
	return a
}

// has reports whether a job of a sweep's present epoch is held.
func (s *shelf) has(a *account, id string) bool {
	same := func(h *held) bool { return h.ID == id }
	if slices.ContainsFunc(a.waiting, same) {
		return true
	}
	for h := range s.running {
		if h.sweep == a && h.ID == id {
			return true
		}
	}
	return false
}

// leastUsed returns the least use among the sweeps that have jobs here; 0 if there is none.
func (s *shelf) leastUsed() float64 {
	least := math.Inf(1)
	for _, a := range s.sweeps {
		if a.busy() {
			least = min(least, a.used)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// next waits for a job and takes it off the shelf, to be run under the returned context, which ends
// with ctx or when the job is dropped. It returns nil when the shelf is closed.
func (s *shelf) next(ctx context.Context) (context.Context, *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.closed {
			return nil, nil
		}
		if h := s.take(); h != nil {
			h.began = time.Now()
			s.running[h] = true
			h.sweep.running++
			h.sweep.used += h.trial.Seconds / weight(h)
			ctx, h.end = context.WithCancel(ctx)
			return ctx, h
		}
		s.filled.Wait()
	}
}

// waits reports whether a job waits for a slot.
func (s *shelf) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.sweeps {
		if len(a.waiting) > 0 {
			return true
		}
	}
	return false
}

// take returns the job that is next: the first of the sweep of the highest priority and, among
// equals, of the least use.
func (s *shelf) take() *held {
	var best *account
	for _, a := range s.sweeps {
		if len(a.waiting) > 0 && (best == nil || before(a.waiting[0], best.waiting[0])) {
			best = a
		}
	}
	if best == nil {
		return nil
	}
	h := best.waiting[0]
	best.waiting = slices.Delete(best.waiting, 0, 1)
	return h
}

// before reports whether x, the first job of a sweep, comes before y, that of another.
func before(x, y *held) bool {
	if x.trial.Priority != y.trial.Priority {
		return x.trial.Priority > y.trial.Priority
	}
	if x.sweep.used != y.sweep.used {
		return x.sweep.used < y.sweep.used
	}
	return x.sweep.name < y.sweep.name
}

// weight returns the weight of a job's sweep.
func weight(h *held) float64 {
	if h.trial.Weight == 0 {
		return 1
	}
	return h.trial.Weight
}

// alike returns copies of jobs that wait, at most so many: of those that the process of the given one
// can run, because plugin, data and limits are the same, the ones that wanted reports true of.
func (s *shelf) alike(job *trial.Job, most int, wanted func(*trial.Job) bool) (jobs []*trial.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.sweeps {
		for _, h := range a.waiting {
			j := *h.trial
			same := j.Plugin == job.Plugin && j.Cell.DataKey == job.Cell.DataKey && j.Cell.Limits == job.Cell.Limits
			if j.Look != "" || !same || !wanted(&j) {
				continue
			}
			cell := *j.Cell
			j.Cell = &cell
			if jobs = append(jobs, &j); len(jobs) == most {
				return jobs
			}
		}
	}
	return jobs
}

// done strikes off a job that has run.
func (s *shelf) done(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.end()
	delete(s.running, h)
	h.sweep.running--
	took := h.took.Seconds()
	s.seconds += took
	h.sweep.used += (took - h.trial.Seconds) / weight(h)
}

// dropped takes jobs off the shelf that their leader does not need any more, and ends those that
// run.
func (s *shelf) dropped(d bus.Drop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(d.Sweep)
	s.drop(a, d.Epoch, d.IDs)
	if d.Epoch >= a.epoch {
		a.heard = time.Now()
	}
	if d.IDs == nil && d.Epoch >= a.epoch {
		a.epoch, a.ended = d.Epoch, true
	}
}

// drop drops jobs of a sweep's epoch, or, without ids, all those up to this epoch. s.mu is held.
func (s *shelf) drop(a *account, epoch uint64, ids []string) {
	goes := func(h *held) bool {
		if ids == nil {
			return h.Epoch <= epoch
		}
		return h.Epoch == epoch && slices.Contains(ids, h.ID)
	}
	a.waiting = slices.DeleteFunc(a.waiting, goes)
	for h := range s.running {
		if h.sweep == a && goes(h) {
			h.end()
		}
	}
}

// close takes all waiting jobs off the shelf, which takes no more, and returns them.
func (s *shelf) close() (waiting []*held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.sweeps {
		waiting = append(waiting, a.waiting...)
		a.waiting = nil
	}
	s.closed = true
	s.filled.Broadcast()
	return waiting
}

// list returns the jobs that are held, and the seconds that jobs have taken.
func (s *shelf) list(now time.Time) (jobs []fleet.Held, seconds float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	say := func(h *held) {
		one := fleet.Held{Sweep: h.Sweep, Epoch: h.Epoch, ID: h.ID}
		if !h.began.IsZero() {
			one.Running = max(1e-9, now.Sub(h.began).Seconds())
		}
		jobs = append(jobs, one)
	}
	for h := range s.running {
		say(h)
	}
	for _, a := range s.sweeps {
		for _, h := range a.waiting {
			say(h)
		}
	}
	slices.SortFunc(jobs, func(a, b fleet.Held) int { return strings.Compare(a.ID, b.ID) })
	return jobs, s.seconds
}
