package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

const (
	longPoll  = 500 * time.Millisecond // mean time that a request for jobs stays on the server
	restAfter = time.Second            // a request that has failed
)

// lease leases jobs while slots need some, until ctx ends.
func (w *worker) lease(ctx context.Context) {
	for ctx.Err() == nil {
		sweeps, jobs := w.shelf.wants(time.Now())
		var err error
		switch {
		case jobs == 0 || len(sweeps) == 0:
			w.rest(ctx, restAfter)
		case len(sweeps) == 1:
			err = w.leaseFrom(ctx, sweeps[0], jobs, pollTime())
		default:
			err = w.leaseInTurn(ctx, sweeps)
		}
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("no jobs leased", "worker", w.Name, "error", err.Error())
			w.rest(ctx, restAfter)
		}
	}
}

// pollTime returns the time that a request for jobs stays on the server. It is random because the server answers the
// oldest request first: if two idle workers asked in step, the same one would always be first.
func pollTime() time.Duration { return longPoll/2 + rand.N(longPoll) }

// rest waits until more jobs may be leased than before, but no longer than a time.
func (w *worker) rest(ctx context.Context, most time.Duration) {
	select {
	case <-w.shelf.changed:
	case <-time.After(most):
	case <-ctx.Done():
	}
}

// leaseInTurn leases a job of the first sweep that has one. Where none has, it waits for all of them.
func (w *worker) leaseInTurn(ctx context.Context, sweeps []string) error {
	for _, sweep := range sweeps {
		before := len(w.shelf.all())
		if err := w.leaseFrom(ctx, sweep, 1, 0); err != nil || len(w.shelf.all()) > before {
			return err
		}
	}
	errs := make([]error, len(sweeps))
	var waiting sync.WaitGroup
	for i, sweep := range sweeps {
		waiting.Go(func() { errs[i] = w.leaseFrom(ctx, sweep, 1, pollTime()) })
	}
	waiting.Wait()
	return errors.Join(errs...)
}

// leaseFrom leases jobs of a sweep.
func (w *worker) leaseFrom(ctx context.Context, sweep string, most int, wait time.Duration) error {
	return w.queue.Lease(ctx, sweep, most, wait, w.receive)
}

// A job that names this worker to be avoided is left to others. After mostAvoids deliveries, two minutes, there seem to
// be no others.
const (
	avoidDelay     = 150 * time.Millisecond
	mostAvoidDelay = 3 * time.Second
	mostAvoids     = 80
)

// avoidDelayOf returns the delay with which a job is left to others after a number of deliveries. Every second time
// there is none: the server then offers the job to the oldest request, which is that of another worker if one is idle.
// The other delays grow, because the other workers are busy.
func avoidDelayOf(tries int) time.Duration {
	if tries%2 == 1 {
		return 0
	}
	return min(avoidDelay*time.Duration(tries), mostAvoidDelay)
}

// receive takes in a job, or returns it.
func (w *worker) receive(leased *queue.Job) {
	back := func(delay time.Duration) { w.warn(&held{Job: leased}, "return it", leased.Return(delay)) }
	job, err := trial.DecodeJob(leased.Data)
	if err == nil {
		if most := job.Cell.SessionTrials(job.N); job.Count > int64(most) {
			err = fmt.Errorf("decode job %q: it has %d trials, %d are the most for n = %d", leased.ID, job.Count, most, job.N)
		}
	}
	switch {
	case err != nil:
		w.Log.Error("job not understood", "sweep", leased.Sweep, "job", leased.ID, "error", err.Error())
		w.shelf.fault(leased.Sweep, "a job", firstLine(err), false)
		w.beatNow()
		back(retryDelay)
	case slices.Contains(job.Avoid, w.Name) && leased.Tries <= mostAvoids, w.lacksTime(job):
		back(avoidDelayOf(leased.Tries))
	case !w.shelf.add(leased, job):
		back(0)
	}
}

// lacksTime reports whether a job would end after this worker's time.
func (w *worker) lacksTime(job *trial.Job) bool {
	ends := time.Now().Add(time.Duration(min(job.Seconds, 1e6) * float64(time.Second)))
	return !w.Until.IsZero() && ends.After(w.Until)
}
