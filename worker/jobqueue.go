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

// A leasedJob waits, runs in a slot, or its results are being published.
type leasedJob struct {
	*queue.Job
	trial   *trial.Job
	sweep   *sweepState
	started time.Time          // zero while the job waits
	runTime time.Duration      // 0 until the job has run
	cancel  context.CancelFunc // cancels the running job; nil while it waits
}

// A sweepState holds the last offer of a sweep's leader, and the sweep's jobs and share of this worker.
type sweepState struct {
	name      string
	offer     *fleet.Offer
	lastOffer time.Time    // time of the offer
	usedTime  float64      // seconds divided by weight, measured for finished jobs and predicted for running ones
	waiting   []*leasedJob // waiting jobs, ordered by arrival
	running   int
	refusal   *fleet.Refusal // reason to lease no jobs; nil: none
}

func (a *sweepState) hasJobs() bool { return a.running+len(a.waiting) > 0 }

// leasable reports whether the worker may lease jobs of the sweep.
func (a *sweepState) leasable(now time.Time) bool {
	return !a.offer.Over && now.Sub(a.lastOffer) < fleet.Silence && (a.refusal == nil || !a.refusal.Holds(now))
}

// compare orders sweeps by their turn: higher priority first, then less used time.
func (a *sweepState) compare(b *sweepState) int {
	return cmp.Or(cmp.Compare(b.offer.Priority, a.offer.Priority), cmp.Compare(a.usedTime, b.usedTime),
		strings.Compare(a.name, b.name))
}

// A jobQueue holds a worker's jobs, ordered by priority, then by weighted fair share between sweeps. It is safe for
// concurrent use.
type jobQueue struct {
	slots   int
	changed chan struct{} // holds a value if more jobs may be leased than before
	ready   chan struct{} // holds at least one value per waiting job
	closing chan struct{} // closed by close

	mu             sync.Mutex
	sweeps         map[string]*sweepState
	leased         map[*leasedJob]bool
	totalSeconds   float64 // run time of all finished jobs
	averageSeconds float64 // exponentially weighted mean run time of a job; 0: unknown
	closed         bool
}

func newJobQueue(slots int) *jobQueue {
	return &jobQueue{
		slots: slots, sweeps: map[string]*sweepState{}, leased: map[*leasedJob]bool{},
		changed: make(chan struct{}, 1), ready: make(chan struct{}, 1<<16), closing: make(chan struct{}),
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
// removes jobs that the leader dropped. It reports whether the sweep or its leader is new.
func (q *jobQueue) updateOffer(sweep string, o *fleet.Offer, refusal *fleet.Refusal) (isNew bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.sweeps[sweep]
	if a == nil {
		maps.DeleteFunc(q.sweeps, func(_ string, a *sweepState) bool {
			return !a.hasJobs() && time.Since(a.lastOffer) > fleet.Silence
		})
		a = &sweepState{name: sweep, offer: &fleet.Offer{}, usedTime: q.leastUsedTime()}
		q.sweeps[sweep] = a
		isNew = true
	}
	isNew = isNew || a.offer.Epoch != o.Epoch
	if !a.hasJobs() { // it cannot claim the time in which it had no jobs
		a.usedTime = max(a.usedTime, q.leastUsedTime())
	}
	a.offer, a.lastOffer = o, time.Now()
	if refusal != nil || a.refusal != nil && a.refusal.Never {
		a.refusal = refusal
	}
	q.dropJobs(a, func(h *leasedJob) bool { return o.Over || slices.Contains(o.Dropped, h.ID) })
	signal(q.changed)
	return isNew
}

// dropJobs removes waiting jobs of a sweep and cancels running ones. q.mu must be locked.
func (q *jobQueue) dropJobs(a *sweepState, dropped func(*leasedJob) bool) {
	a.waiting = slices.DeleteFunc(a.waiting, func(h *leasedJob) bool {
		if dropped(h) {
			delete(q.leased, h)
			return true
		}
		return false
	})
	for h := range q.leased {
		if h.sweep == a && h.cancel != nil && dropped(h) {
			h.cancel()
		}
	}
}

// leastUsedTime returns the minimum over the sweeps that have jobs here; 0 if there are none.
func (q *jobQueue) leastUsedTime() float64 {
	least := math.Inf(1)
	for _, a := range q.sweeps {
		if a.hasJobs() {
			least = min(least, a.usedTime)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// Jobs wait here so that a slot need not wait for the server: one per slot if jobs take up to longJob, none if they
// take longer. Of shorter jobs, as many wait as run in prefetchSeconds, up to maxPrefetch per slot.
const (
	longJob         = 1.0   // seconds
	prefetchSeconds = 0.020 // seconds
	maxPrefetch     = 32
)

// demand returns how many jobs to lease now, and the sweeps that may supply them, next turn first.
func (q *jobQueue) demand(now time.Time) (sweeps []string, jobs int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	prefetch := 1.0
	switch {
	case q.averageSeconds > longJob:
		prefetch = 0
	case q.averageSeconds > 0:
		prefetch = min(max(1, prefetchSeconds/q.averageSeconds), maxPrefetch)
	}
	jobs = q.slots + int(prefetch*float64(q.slots)) - len(q.leased)
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
	q.leased[h] = true
	a.waiting = append(a.waiting, h)
	q.ready <- struct{}{}
	return true
}

// next waits for the next job and starts it. The returned context ends with ctx or when the job is dropped. The job is
// nil if the queue is closed or ctx has ended.
func (q *jobQueue) next(ctx context.Context) (context.Context, *leasedJob) {
	for {
		select {
		case <-q.ready:
		case <-q.closing:
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		}
		if running, h := q.start(ctx); h != nil {
			return running, h
		}
	}
}

// start marks the next job as running; nil if no job waits any more.
func (q *jobQueue) start(ctx context.Context) (context.Context, *leasedJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var best *sweepState
	for _, a := range q.sweeps {
		if len(a.waiting) > 0 && (best == nil || a.compare(best) < 0) {
			best = a
		}
	}
	if best == nil {
		return nil, nil
	}
	h := best.waiting[0]
	best.waiting = slices.Delete(best.waiting, 0, 1)
	best.running++
	best.usedTime += h.trial.Seconds / best.offer.Weight
	h.started = time.Now()
	ctx, h.cancel = context.WithCancel(ctx)
	return ctx, h
}

// recordRunTime records that a job has run, and replaces its predicted time by the measured one.
func (q *jobQueue) recordRunTime(h *leasedJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h.runTime = time.Since(h.started)
	took := h.runTime.Seconds()
	q.totalSeconds += took
	h.sweep.usedTime += (took - h.trial.Seconds) / h.sweep.offer.Weight
	if q.averageSeconds == 0 {
		q.averageSeconds = took
	}
	q.averageSeconds += (took - q.averageSeconds) / 8
	signal(q.changed)
}

// remove removes a job that has run.
func (q *jobQueue) remove(h *leasedJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h.cancel()
	delete(q.leased, h)
	h.sweep.running--
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
	for _, a := range q.sweeps {
		waiting = append(waiting, a.waiting...)
		a.waiting = nil
	}
	for _, h := range waiting {
		delete(q.leased, h)
	}
	return waiting
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
