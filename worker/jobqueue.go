package worker

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A leasedJob waits for a slot, runs, or its results are being published.
type leasedJob struct {
	*queue.Job
	trial   *trial.Job
	sweep   *sweepState
	started time.Time       // zero while the job waits
	runTime time.Duration   // 0 until the job has run
	ctx     context.Context // ends with the worker, or when the leader drops the job
	cancel  context.CancelFunc
}

// A sweepState holds the last offer of a sweep's leader, and the sweep's share of this worker.
type sweepState struct {
	name      string
	offer     *fleet.Offer
	lastOffer time.Time      // time of the offer
	usedTime  float64        // seconds divided by weight; predicted for jobs that have not run yet
	jobs      int            // number of leased jobs
	idle      bool           // the server had no job when this worker last requested one
	refusal   *fleet.Refusal // reason to lease no jobs; nil: none
}

// leasable reports whether the worker may lease jobs of the sweep.
func (a *sweepState) leasable(now time.Time) bool {
	return !a.offer.Over && now.Sub(a.lastOffer) < fleet.Silence && (a.refusal == nil || !a.refusal.Holds(now))
}

// compare orders sweeps by their turn: higher priority first, then less used time.
func (a *sweepState) compare(b *sweepState) int {
	return cmp.Or(cmp.Compare(b.offer.Priority, a.offer.Priority), cmp.Compare(a.usedTime, b.usedTime),
		strings.Compare(a.name, b.name))
}

// A jobQueue holds the leased jobs of a worker, and orders the sweeps that may supply more: by
// priority, then by weighted fair share. It is safe for concurrent use.
type jobQueue struct {
	ctx     context.Context // ends all jobs
	slots   int
	changed chan struct{}   // holds a value if more jobs may be leased than before
	ready   chan *leasedJob // jobs that wait for a slot
	closing chan struct{}   // closed by close

	mu           sync.Mutex
	sweeps       map[string]*sweepState
	leased       map[*leasedJob]bool
	unfinished   int     // number of leased jobs that have not run yet
	totalSeconds float64 // run time of all jobs that have run
	closed       bool
}

func newJobQueue(ctx context.Context, slots int) *jobQueue {
	return &jobQueue{
		ctx: ctx, slots: slots, sweeps: map[string]*sweepState{}, leased: map[*leasedJob]bool{},
		changed: make(chan struct{}, 1), ready: make(chan *leasedJob, 1<<16),
		closing: make(chan struct{}),
	}
}

// signal sends a value to a channel with room for one, unless the channel is full.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// updateOffer records a leader's offer, with the reason why this worker can never run the sweep (nil if it can). It
// cancels jobs that the leader dropped. It reports whether the sweep or its leader is new.
func (q *jobQueue) updateOffer(sweep string, o *fleet.Offer, refusal *fleet.Refusal) (isNew bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.sweeps[sweep]
	if a == nil {
		maps.DeleteFunc(q.sweeps, func(_ string, a *sweepState) bool {
			return a.jobs == 0 && time.Since(a.lastOffer) > fleet.Silence
		})
		a = &sweepState{name: sweep, offer: &fleet.Offer{}, usedTime: q.leastUsedTime()}
		q.sweeps[sweep] = a
		isNew = true
	}
	isNew = isNew || a.offer.Epoch != o.Epoch
	if a.idle || !a.leasable(time.Now()) { // it cannot claim the time in which it had no jobs
		a.usedTime = max(a.usedTime, q.leastUsedTime())
	}
	a.offer, a.lastOffer = o, time.Now()
	if refusal != nil || a.refusal != nil && a.refusal.Never {
		a.refusal = refusal
	}
	for h := range q.leased {
		if h.sweep == a && (o.Over || slices.Contains(o.Dropped, h.ID)) {
			h.cancel()
		}
	}
	signal(q.changed)
	return isNew
}

// leastUsedTime returns the minimum over the sweeps that have jobs here; 0 if there are none.
func (q *jobQueue) leastUsedTime() float64 {
	least := math.Inf(1)
	for _, a := range q.sweeps {
		if a.jobs > 0 {
			least = min(least, a.usedTime)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// demand returns how many jobs to lease now, and the sweeps that may supply them, next turn first.
// No job is leased for a slot that runs one, nor while the results of as many jobs as there are
// slots wait for the server.
func (q *jobQueue) demand(now time.Time) (sweeps []string, jobs int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs = min(q.slots-q.unfinished, 2*q.slots-len(q.leased))
	if q.closed || jobs <= 0 {
		return nil, 0
	}
	var open []*sweepState
	for _, a := range q.sweeps {
		if a.leasable(now) {
			open = append(open, a)
		}
	}
	slices.SortFunc(open, (*sweepState).compare)
	for _, a := range open {
		sweeps = append(sweeps, a.name)
	}
	return sweeps, jobs
}

// add queues a leased job. It returns false if the queue is closed or the sweep is over.
func (q *jobQueue) add(leased *queue.Job, job *trial.Job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.sweeps[leased.Sweep]
	if q.closed || a == nil || a.offer.Over {
		return false
	}
	h := &leasedJob{Job: leased, trial: job, sweep: a}
	h.ctx, h.cancel = context.WithCancel(q.ctx)
	q.leased[h] = true
	q.unfinished++
	a.jobs++
	a.idle = false
	a.usedTime += job.Seconds / a.offer.Weight
	q.ready <- h
	return true
}

// next waits for a job and starts it; nil: the queue is closed, or its context has ended.
func (q *jobQueue) next() *leasedJob {
	select {
	case h := <-q.ready:
		q.mu.Lock()
		defer q.mu.Unlock()
		h.started = time.Now()
		return h
	case <-q.closing:
	case <-q.ctx.Done():
	}
	return nil
}

// setIdle records that the server had no job of a sweep.
func (q *jobQueue) setIdle(sweep string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a := q.sweeps[sweep]; a != nil && a.jobs == 0 {
		a.idle = true
	}
}

// recordRunTime records that a job has run, and replaces its predicted time by the measured one.
func (q *jobQueue) recordRunTime(h *leasedJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h.runTime = time.Since(h.started)
	took := h.runTime.Seconds()
	q.totalSeconds += took
	q.unfinished--
	h.sweep.usedTime += (took - h.trial.Seconds) / h.sweep.offer.Weight
	signal(q.changed)
}

// remove removes a job whose lease has ended.
func (q *jobQueue) remove(h *leasedJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h.cancel()
	delete(q.leased, h)
	h.sweep.jobs--
	signal(q.changed)
}

// refuse stops leasing jobs of a sweep, for [fleet.Backoff] or, if never is true, for good. It returns the
// refusal.
func (q *jobQueue) refuse(sweep, what, reason string, never bool) fleet.Refusal {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := &fleet.Refusal{Sweep: sweep, What: what, Reason: reason, Never: never, Faults: 1}
	a := q.sweeps[sweep]
	if a == nil {
		return *r
	}
	if a.refusal != nil {
		r.Faults += a.refusal.Faults
	}
	r.Until = time.Now().Add(fleet.Backoff(r.Faults))
	a.refusal = r
	return *r
}

// clearRefusal ends the refusal of a sweep after a job has run that needs the refused plugin and data.
func (q *jobQueue) clearRefusal(h *leasedJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := h.sweep.refusal; r != nil && r.What == h.trial.Subject() {
		h.sweep.refusal = nil
	}
}

// A refusal for results that the server does not store has the subject unstored and lasts at most maxUnstored.
const (
	unstored    = "its jobs"
	maxUnstored = 10 * time.Minute
)

// setUnstored refuses jobs of a sweep while the server does not store its results. The reason "" ends the refusal.
func (q *jobQueue) setUnstored(sweep, reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.sweeps[sweep]
	switch {
	case a == nil:
	case reason != "":
		a.refusal = &fleet.Refusal{
			Sweep: sweep, What: unstored, Reason: reason, Faults: 1, Until: time.Now().Add(maxUnstored),
		}
	case a.refusal != nil && a.refusal.What == unstored:
		a.refusal = nil
	}
}

// close closes the queue and returns the waiting jobs, which the caller must return to the server.
func (q *jobQueue) close() (waiting []*leasedJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	close(q.closing)
	for {
		select {
		case h := <-q.ready:
			delete(q.leased, h)
			waiting = append(waiting, h)
		default:
			return waiting
		}
	}
}

func (q *jobQueue) leasedJobs() (jobs []*leasedJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for h := range q.leased {
		jobs = append(jobs, h)
	}
	return jobs
}

// fillHeartbeat sets the jobs, refusals and run time of a heartbeat.
func (q *jobQueue) fillHeartbeat(w *fleet.Worker, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for h := range q.leased {
		one := fleet.Held{Sweep: h.Sweep, Epoch: h.Epoch, ID: h.ID}
		if !h.started.IsZero() && h.runTime == 0 {
			one.Running = max(1e-9, now.Sub(h.started).Seconds())
		}
		w.Held = append(w.Held, one)
	}
	slices.SortFunc(w.Held, func(a, b fleet.Held) int { return strings.Compare(a.ID, b.ID) })
	for _, a := range q.sweeps {
		if a.refusal != nil && now.Sub(a.lastOffer) < fleet.Silence {
			w.Refusals = append(w.Refusals, *a.refusal)
		}
	}
	slices.SortFunc(w.Refusals, func(a, b fleet.Refusal) int { return strings.Compare(a.Sweep, b.Sweep) })
	w.Seconds, w.Leaving = q.totalSeconds, q.closed
}
