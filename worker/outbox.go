package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
)

// Results of jobs that end quickly one after another travel together: none waits for longer than
// mostLinger, nor for more than mostWaiting jobs, nor while no job is waiting.
const (
	mostLinger  = 2 * time.Millisecond
	mostWaiting = 16
)

// finished is a job that has run, with its results.
type finished struct {
	*held
	ctx      context.Context // ends when nobody needs the job
	outcomes *outcomes
	results  []bus.Result
}

// outbox publishes the results of a slot. The job is on the shelf until they are on the server.
type outbox struct {
	w       *worker
	hard    context.Context
	sending sync.Mutex // held while results are published

	mu      sync.Mutex
	waiting []*finished
	timer   *time.Timer // that publishes what waits
}

// put publishes the results of a job, now or soon.
func (o *outbox) put(f *finished) {
	o.mu.Lock()
	o.waiting = append(o.waiting, f)
	now := !f.Together || f.took >= mostLinger || len(o.waiting) >= mostWaiting || !o.w.shelf.waits()
	if !now && len(o.waiting) == 1 {
		if o.timer == nil {
			o.timer = time.AfterFunc(mostLinger, o.flush)
		} else {
			o.timer.Reset(mostLinger)
		}
	}
	o.mu.Unlock()
	if now {
		o.flush()
	}
}

// flush publishes what waits, and returns when nothing is left that the slot has to publish.
func (o *outbox) flush() {
	o.sending.Lock()
	defer o.sending.Unlock()
	o.mu.Lock()
	all := o.waiting
	o.waiting = nil
	if o.timer != nil {
		o.timer.Stop()
	}
	o.mu.Unlock()
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Lead == all[0].Lead && all[n].Together && all[0].Together {
			n++
		}
		o.publish(all[:n])
		all = all[n:]
	}
}

// publish stores the results of jobs of one leader on the server.
func (o *outbox) publish(jobs []*finished) {
	for len(jobs) > 0 {
		var results []bus.Result
		for _, f := range jobs {
			results = append(results, f.results...)
		}
		stored, err := o.w.Conn.PublishAll(jobs[0].ctx, jobs[0].Lead, results)
		for len(jobs) > 0 && stored >= len(jobs[0].results) {
			stored -= len(jobs[0].results)
			o.w.settle(jobs[0].ctx, o.hard, jobs[0].held, jobs[0].outcomes, nil)
			jobs = jobs[1:]
		}
		if len(jobs) > 0 { // the others are none the worse for it
			f := jobs[0]
			o.w.settle(f.ctx, o.hard, f.held, f.outcomes, fmt.Errorf("publish outcomes of job %q: %w", f.ID, err))
			jobs = jobs[1:]
		}
	}
}
