package worker

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// held is a job that this worker has leased: it waits, runs in a slot, or its results are being published.
type held struct {
	*queue.Job
	trial *trial.Job
	sweep *account
	began time.Time          // zero while it waits
	took  time.Duration      // to run it, once it has run
	end   context.CancelFunc // ends the job while it runs
}

// account is a sweep whose leader was heard of, and what this worker has done for it.
type account struct {
	name    string
	offer   *fleet.Offer
	heard   time.Time // when the leader was last heard of
	used    float64   // seconds over weight, of jobs that ran and, as predicted, of those that run
	waiting []*held   // in the order of their arrival
	running int
	refusal *fleet.Refusal // why no jobs of it are leased; nil: they are
}

// busy reports whether the worker has a job of the sweep.
func (a *account) busy() bool { return a.running+len(a.waiting) > 0 }

// takes reports whether jobs of the sweep may be leased at a time.
func (a *account) takes(now time.Time) bool {
	return !a.offer.Over && now.Sub(a.heard) < fleet.Silence && (a.refusal == nil || !a.refusal.Holds(now))
}

// before reports whether jobs of the sweep come before those of another one: it has the higher priority or, among
// equals, the less use.
func (a *account) before(b *account) int {
	return cmp.Or(cmp.Compare(b.offer.Priority, a.offer.Priority), cmp.Compare(a.used, b.used),
		strings.Compare(a.name, b.name))
}

// shelf holds the jobs that a worker has leased and decides which sweep is next.
type shelf struct {
	slots   int
	changed chan struct{} // filled when more jobs may be leased than before
	ready   chan struct{} // has as many values as jobs wait, or more
	over    chan struct{} // closed by close

	mu      sync.Mutex
	sweeps  map[string]*account
	held    map[*held]bool
	seconds float64 // that jobs have taken
	usual   float64 // seconds that a job takes, the last ones counting most; 0: unknown
	closed  bool
}

func newShelf(slots int) *shelf {
	return &shelf{
		slots: slots, sweeps: map[string]*account{}, held: map[*held]bool{},
		changed: make(chan struct{}, 1), ready: make(chan struct{}, 1<<16), over: make(chan struct{}),
	}
}

// wake has the goroutine that leases jobs look again.
func (s *shelf) wake() { signal(s.changed) }

// signal fills a channel with room for one value, unless it is full.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// hear takes in what a leader offers. refusal is the reason why this worker cannot run what the sweep needs, or nil.
// It reports whether the sweep is new, or of a new leader.
func (s *shelf) hear(sweep string, o *fleet.Offer, refusal *fleet.Refusal) (fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.sweeps[sweep]
	if a == nil {
		if s.forgetIdle(); len(s.sweeps) >= mostSweeps {
			return false
		}
		a = &account{name: sweep, offer: &fleet.Offer{}, used: s.leastUsed()}
		s.sweeps[sweep] = a
		fresh = true
	}
	fresh = fresh || a.offer.Epoch != o.Epoch
	if !a.busy() { // it has no claim on time in which it wanted nothing
		a.used = max(a.used, s.leastUsed())
	}
	a.offer, a.heard = o, time.Now()
	if refusal != nil || a.refusal != nil && a.refusal.Never {
		a.refusal = refusal
	}
	s.drop(a, func(h *held) bool { return o.Over || slices.Contains(o.Dropped, h.ID) })
	s.wake()
	return fresh
}

// mostSweeps bounds the sweeps that a worker knows.
const mostSweeps = 1 << 10

// forgetIdle forgets sweeps whose leaders are silent, once there are many.
func (s *shelf) forgetIdle() {
	if len(s.sweeps) < mostSweeps {
		return
	}
	for name, a := range s.sweeps {
		if !a.busy() && time.Since(a.heard) > fleet.Silence {
			delete(s.sweeps, name)
		}
	}
}

// drop drops jobs of a sweep that wait, and ends those that run. s.mu is held.
func (s *shelf) drop(a *account, which func(*held) bool) {
	a.waiting = slices.DeleteFunc(a.waiting, func(h *held) bool {
		if which(h) {
			delete(s.held, h)
			return true
		}
		return false
	})
	for h := range s.held {
		if h.sweep == a && h.end != nil && which(h) {
			h.end()
		}
	}
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

// How many jobs wait here for each slot, so that a slot need not wait for the server: one; none of those that usually
// take longer than longJob; and of short ones as many as take quickLoad together, up to mostAhead.
const (
	longJob   = 1.0   // seconds
	quickLoad = 0.020 // seconds
	mostAhead = 32
)

// wants returns the sweeps of which jobs may be leased now, those whose turn it is first, and how many jobs.
func (s *shelf) wants(now time.Time) (sweeps []string, jobs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ahead := 1.0
	switch {
	case s.usual > longJob:
		ahead = 0
	case s.usual > 0:
		ahead = min(max(1, quickLoad/s.usual), mostAhead)
	}
	jobs = s.slots + int(ahead*float64(s.slots)) - len(s.held)
	if s.closed || jobs <= 0 {
		return nil, 0
	}
	var open []*account
	for _, a := range s.sweeps {
		if a.takes(now) {
			open = append(open, a)
		}
	}
	slices.SortFunc(open, (*account).before)
	for _, a := range open {
		sweeps = append(sweeps, a.name)
	}
	return sweeps, jobs
}

// add takes in a job that was leased. It reports false if this worker leaves, or the sweep is over.
func (s *shelf) add(leased *queue.Job, job *trial.Job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.sweeps[leased.Sweep]
	if s.closed || a == nil || a.offer.Over {
		return false
	}
	h := &held{Job: leased, trial: job, sweep: a}
	s.held[h] = true
	a.waiting = append(a.waiting, h)
	s.ready <- struct{}{}
	return true
}

// next waits for a job to run under the returned context, which ends with ctx or when the job is dropped. It returns
// nil when the shelf is closed or ctx ends.
func (s *shelf) next(ctx context.Context) (context.Context, *held) {
	for {
		select {
		case <-s.ready:
		case <-s.over:
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		}
		if running, h := s.begin(ctx); h != nil {
			return running, h
		}
	}
}

// begin begins the job whose turn it is; nil: it was dropped.
func (s *shelf) begin(ctx context.Context) (context.Context, *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *account
	for _, a := range s.sweeps {
		if len(a.waiting) > 0 && (best == nil || a.before(best) < 0) {
			best = a
		}
	}
	if best == nil {
		return nil, nil
	}
	h := best.waiting[0]
	best.waiting = slices.Delete(best.waiting, 0, 1)
	best.running++
	best.used += h.trial.Seconds / best.offer.Weight
	h.began = time.Now()
	ctx, h.end = context.WithCancel(ctx)
	return ctx, h
}

// ran takes the time that a job has taken.
func (s *shelf) ran(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.took = time.Since(h.began)
	took := h.took.Seconds()
	s.seconds += took
	h.sweep.used += (took - h.trial.Seconds) / h.sweep.offer.Weight
	if s.usual == 0 {
		s.usual = took
	}
	s.usual += (took - s.usual) / 8
	s.wake()
}

// done strikes off a job that this worker has no more.
func (s *shelf) done(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.end()
	delete(s.held, h)
	h.sweep.running--
	s.wake()
}

// fault sets a sweep aside because this worker could not run a job of it, and returns the refusal.
func (s *shelf) fault(sweep, what, reason string, never bool) fleet.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &fleet.Refusal{Sweep: sweep, What: what, Reason: reason, Never: never, Faults: 1}
	a := s.sweeps[sweep]
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

// mended forgets the fault about a sweep if it was about what a job needed that has run.
func (s *shelf) mended(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := h.sweep.refusal; r != nil && r.What == h.trial.Subject() {
		h.sweep.refusal = nil
	}
}

// unstored is the subject of a refusal, and maxUnstored the time for which one holds.
const (
	unstored    = "its jobs"
	maxUnstored = 10 * time.Minute
)

// setUnstored makes the worker refuse jobs of a sweep whose results the server does not store, for a reason; "": the
// server stores them again.
func (s *shelf) setUnstored(sweep, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.sweeps[sweep]
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

// close closes the shelf, and returns the jobs that wait.
func (s *shelf) close() (waiting []*held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.over)
	for _, a := range s.sweeps {
		waiting = append(waiting, a.waiting...)
		a.waiting = nil
	}
	for _, h := range waiting {
		delete(s.held, h)
	}
	return waiting
}

// all returns the jobs that are held.
func (s *shelf) all() (jobs []*held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.held {
		jobs = append(jobs, h)
	}
	return jobs
}

// describe fills in the jobs and refusals of a heartbeat.
func (s *shelf) describe(w *fleet.Worker, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.held {
		one := fleet.Held{Sweep: h.Sweep, Epoch: h.Epoch, ID: h.ID}
		if !h.began.IsZero() && h.took == 0 {
			one.Running = max(1e-9, now.Sub(h.began).Seconds())
		}
		w.Held = append(w.Held, one)
	}
	slices.SortFunc(w.Held, func(a, b fleet.Held) int { return strings.Compare(a.ID, b.ID) })
	for _, a := range s.sweeps {
		if a.refusal != nil && now.Sub(a.heard) < fleet.Silence {
			w.Refusals = append(w.Refusals, *a.refusal)
		}
	}
	slices.SortFunc(w.Refusals, func(a, b fleet.Refusal) int { return strings.Compare(a.Sweep, b.Sweep) })
	w.Seconds, w.Leaving = s.seconds, s.closed
}
