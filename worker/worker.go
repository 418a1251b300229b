package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// Config is what a worker needs. Conn and Plugins have no default.
type Config struct {
	Conn    *bus.Conn
	Slots   int                     // number of jobs that run at the same time; 0: 1
	Name    string                  // of this worker, in results and messages
	Plugins map[string]host.Command // how to start a plugin, by the SHA-256 of its file
	Files   map[string]string       // data files that are already here: path by SHA-256
	Cache   string                  // folder for data files fetched from the bus; empty: nothing is fetched
	Log     *slog.Logger            // nil: silent

	Heartbeat  time.Duration // time between signs of life for a leased job; 0: 10 s
	Refusal    time.Duration // time for which a job that this worker cannot run is kept from it; 0: 5 s
	Deliveries int           // times a job that cannot be run is handed out before its trials are given up as lost; 0: 3
}

// Run works until ctx ends, then finishes the jobs in work, hands back those that wait, stops its
// plugins and returns. The end of hard ends everything at once; what is lost then is leased again
// by others.
func Run(ctx, hard context.Context, c Config) error {
	c.Slots = max(c.Slots, 1)
	if c.Heartbeat == 0 {
		c.Heartbeat = 10 * time.Second
	}
	if c.Refusal == 0 {
		c.Refusal = 5 * time.Second
	}
	if c.Deliveries == 0 {
		c.Deliveries = 3
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	w := &worker{Config: c, profile: trial.FloatProfile(), populations: newPopulations(c)}
	var wg sync.WaitGroup
	errs := make([]error, c.Slots)
	for i := range c.Slots {
		wg.Go(func() { errs[i] = w.serve(ctx, hard) })
	}
	wg.Wait()
	w.populations.close()
	return errors.Join(errs...)
}

// worker is what the slots share.
type worker struct {
	Config
	profile     string // float profile of this machine
	populations *populations
}

// serve runs one slot: it runs jobs, while another goroutine fetches the next lease.
func (w *worker) serve(ctx, hard context.Context) error {
	s := &slot{w: w}
	defer s.stop()
	leases := make(chan *bus.Lease) // unbuffered: one lease waits in the fetching goroutine
	fetched := make(chan error, 1)
	go func() {
		defer close(leases)
		fetched <- w.fetch(ctx, hard, leases)
	}()
	for lease := range leases {
		if err := w.work(hard, s, lease); err != nil && hard.Err() == nil {
			w.Log.Error("job failed", "worker", w.Name, "error", err.Error())
		}
	}
	return <-fetched
}

// fetch leases one job at a time and holds it, alive, until the slot takes it.
func (w *worker) fetch(ctx, hard context.Context, leases chan<- *bus.Lease) error {
	for {
		lease, err := w.Conn.Lease(ctx)
		if ctx.Err() != nil {
			if lease != nil {
				return lease.Release()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("lease a job: %w", err)
		}
		stop := w.keepAlive(hard, lease)
		select {
		case leases <- lease:
			stop()
		case <-ctx.Done():
			stop()
			return lease.Release()
		}
	}
}

// keepAlive extends a lease until stop is called.
func (w *worker) keepAlive(ctx context.Context, lease *bus.Lease) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(heartbeat(w.Heartbeat, lease.AckWait))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := lease.Extend(); err != nil {
					w.Log.Warn("heartbeat failed", "worker", w.Name, "error", err.Error())
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}

// heartbeat returns the time between signs of life: at least three in the time that the server
// waits for one.
func heartbeat(most, ackWait time.Duration) time.Duration {
	if ackWait > 0 {
		return min(most, ackWait/3)
	}
	return most
}

// work runs one leased job, publishes its outcomes and then acknowledges it, in this order, so that
// nothing is lost.
func (w *worker) work(ctx context.Context, s *slot, lease *bus.Lease) error {
	stop := w.keepAlive(ctx, lease)
	defer stop()
	job, err := trial.DecodeJob(lease.Data)
	if err != nil {
		return errors.Join(err, lease.Refuse(w.Refusal))
	}
	if reason := w.cannot(job); reason != "" {
		w.Log.Warn("job refused", "worker", w.Name, "job", job.ID, "reason", reason)
		return lease.Refuse(w.Refusal)
	}
	began := time.Now()
	outcomes, err := s.run(ctx, job)
	switch {
	case err != nil && (ctx.Err() != nil || lease.Deliveries < w.Deliveries):
		return errors.Join(fmt.Errorf("run job %q: %w", job.ID, err), lease.Refuse(w.Refusal))
	case err != nil:
		outcomes = newOutcomes(job).lose(err.Error())
	}
	took := time.Since(began) - s.starting // a process is started once, and would make a few trials look dear
	for i, msg := range outcomes.messages(w, took.Seconds()) {
		data, err := msg.Encode()
		if err != nil {
			return errors.Join(fmt.Errorf("encode outcomes of job %q: %w", job.ID, err), lease.Refuse(w.Refusal))
		}
		if err := w.Conn.Publish(ctx, job.Sweep, fmt.Sprintf("%s.%d", job.ID, i), data); err != nil {
			return fmt.Errorf("publish outcomes of job %q: %w", job.ID, err)
		}
	}
	return lease.Done(ctx)
}

// cannot returns why this worker cannot run a job; "" if it can.
func (w *worker) cannot(job *trial.Job) string {
	if _, ok := w.Plugins[job.Plugin]; !ok {
		what := "this build of shatter"
		if job.Cell.Plugin != "" {
			what = "plugin " + job.Cell.Plugin
		}
		return fmt.Sprintf("%s (sha256 %.12s) is not here: start the worker from the same build, "+
			"with --plugin for plugins of others", what, job.Plugin)
	}
	if most := job.Cell.SessionTrials(job.N); job.Count > int64(most) {
		return fmt.Sprintf("it has %d trials, %d are the most for n = %d", job.Count, most, job.N)
	}
	if job.Profile != "" && job.Profile != w.profile {
		return fmt.Sprintf("the sweep's float profile is %s, this machine's is %s: their last bits may differ",
			job.Profile, w.profile)
	}
	return ""
}
