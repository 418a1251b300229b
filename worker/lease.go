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
	longPoll   = 500 * time.Millisecond // mean time that a request for jobs stays on the server
	errorPause = time.Second            // pause after a failed request
)

// leaseJobs leases jobs whenever slots need some, until ctx ends.
func (w *worker) leaseJobs(ctx context.Context) {
	for ctx.Err() == nil {
		sweeps, jobs := w.jobs.demand(time.Now())
		var err error
		switch {
		case jobs == 0 || len(sweeps) == 0:
			w.waitForChange(ctx, errorPause)
		case len(sweeps) == 1:
			_, err = w.leaseFrom(ctx, sweeps[0], jobs, pollTime())
		default:
			err = w.leaseInTurn(ctx, sweeps)
		}
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("no jobs leased", "worker", w.Name, "error", err.Error())
			w.waitForChange(ctx, errorPause)
		}
	}
}

// pollTime returns the time that a request for jobs stays on the server. It is random because the server answers the
// oldest request first: if two idle workers asked in step, the same one would always be first.
func pollTime() time.Duration { return longPoll/2 + rand.N(longPoll) }

// waitForChange waits until more jobs may be leased than before, or a timeout.
func (w *worker) waitForChange(ctx context.Context, timeout time.Duration) {
	select {
	case <-w.jobs.changed:
	case <-time.After(timeout):
	case <-ctx.Done():
	}
}

// leaseInTurn leases a job of the first sweep that has one. If none has, it waits for all sweeps at once.
func (w *worker) leaseInTurn(ctx context.Context, sweeps []string) error {
	for _, sweep := range sweeps {
		if jobs, err := w.leaseFrom(ctx, sweep, 1, 0); err != nil || jobs > 0 {
			return err
		}
		w.jobs.setIdle(sweep)
	}
	errs := make([]error, len(sweeps))
	var waiting sync.WaitGroup
	for i, sweep := range sweeps {
		waiting.Go(func() { _, errs[i] = w.leaseFrom(ctx, sweep, 1, pollTime()) })
	}
	waiting.Wait()
	return errors.Join(errs...)
}

// leaseFrom leases jobs of a sweep, and returns the number of those that this worker accepts.
func (w *worker) leaseFrom(
	ctx context.Context, sweep string, most int, wait time.Duration,
) (jobs int, err error) {
	err = w.queue.Lease(ctx, sweep, most, wait, func(leased *queue.Job) {
		if w.handleJob(leased) {
			jobs++
		}
	})
	return jobs, err
}

// A worker returns a job whose Avoid names it. After maxAvoids deliveries (about two minutes) it assumes that no other
// worker is alive, and runs the job.
const (
	avoidDelayStep = 150 * time.Millisecond
	maxAvoidDelay  = 3 * time.Second
	maxAvoids      = 80
)

// avoidDelay returns the delay with which a job returns to the queue after a number of deliveries. Every second delay
// is zero: the server then offers the job to the oldest request, which belongs to another worker if one is idle.
// The other delays grow, because the other workers are busy.
func avoidDelay(tries int) time.Duration {
	if tries%2 == 1 {
		return 0
	}
	return min(avoidDelayStep*time.Duration(tries), maxAvoidDelay)
}

// handleJob queues a leased job, or returns it to the server. It reports whether the job is queued.
func (w *worker) handleJob(leased *queue.Job) (queued bool) {
	returnAfter := func(delay time.Duration) { w.warnUnsent(&leasedJob{Job: leased}, "return it", leased.Return(delay)) }
	job, err := trial.DecodeJob(leased.Data)
	if err == nil {
		if most := job.Cell.SessionTrials(job.N); job.Count > int64(most) {
			err = fmt.Errorf("decode job %q: %d trials at n = %d exceed the limit %d", leased.ID, job.Count, job.N, most)
		}
	}
	switch {
	case err != nil:
		w.Log.Error("cannot decode job", "sweep", leased.Sweep, "job", leased.ID, "error", err.Error())
		w.jobs.refuse(leased.Sweep, "a job", firstLine(err), false)
		w.requestHeartbeat()
		returnAfter(retryDelay)
	case slices.Contains(job.Avoid, w.Name) && leased.Tries <= maxAvoids, w.endsTooLate(job):
		returnAfter(avoidDelay(leased.Tries))
	case w.jobs.add(leased, job):
		return true
	default:
		returnAfter(0)
	}
	return false
}

// endsTooLate reports whether a job would end after Config.Until.
func (w *worker) endsTooLate(job *trial.Job) bool {
	end := time.Now().Add(time.Duration(min(job.Seconds, 1e6) * float64(time.Second)))
	return !w.Until.IsZero() && end.After(w.Until)
}
