package pool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/meter"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// healTimeout is the maximum time that heal waits for the server. No result is accepted meanwhile.
const healTimeout = 5 * time.Second

// heal repeats the offer, removes silent workers, and compares the attempts with the jobs on the
// server. It publishes a lost job again and a late job once more, removes a job that is not needed
// any more, and publishes for other workers a job that was reserved for workers that have
// disappeared.
func (p *Pool) heal(ctx context.Context, now time.Time) error {
	p.Roster.expire(now.Add(-p.scaled(fleet.Silence)))
	p.offer(false)
	if len(p.attempts) == 0 {
		p.late = 0
		return nil
	}
	within, cancel := context.WithTimeout(ctx, healTimeout)
	defer cancel()
	stored, stranded, err := p.Queue.Jobs(within)
	last, absent := uint64(0), false
	for id := range p.attempts {
		absent = absent || !stored[id]
	}
	if err == nil && absent {
		last, err = p.Queue.Last(within)
	}
	if stranded > 0 {
		p.stranded++
	} else {
		p.stranded = 0
	}
	if err == nil {
		if dropped := p.reconcile(now, stored, last <= p.Read); len(dropped) > 0 {
			p.offer(false, dropped...)
			err = p.Queue.Drop(within, dropped...)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		p.Note(fmt.Sprintf("the queue does not answer: %v", err))
	}
	return nil
}

// maxAbsent is the number of consecutive checks after which a job that the server does not have
// counts as lost.
const maxAbsent = 2

// reconcile compares the attempts with the ids of the jobs on the server, and returns the ids of
// the jobs to remove there. A worker removes a job only after its results are stored. Therefore a
// job that is absent in two checks while all results are read was lost with the server's store. If
// the server has jobs that it will not deliver, jobs that no worker has held for the time of a
// lease are lost too.
func (p *Pool) reconcile(now time.Time, stored map[string]bool, allRead bool) (dropped []string) {
	p.late = 0
	lease := p.scaled(queue.AckWait)
	for _, id := range slices.Sorted(maps.Keys(p.attempts)) {
		a := p.attempts[id]
		switch {
		case !a.request.needed():
			dropped = append(dropped, id)
			p.end(a)
			continue
		case stored[id]:
			a.absent = 0
		case allRead && now.Sub(a.published) >= p.Healing:
			a.absent++
		}
		switch {
		case a.absent >= maxAbsent:
			p.lose(a)
		case p.stranded > maxAbsent && now.Sub(a.held) > lease && now.Sub(a.published) > lease:
			dropped = append(dropped, id)
			p.lose(a)
		case a.worker == "" && len(a.avoid) > 0 && !p.Roster.others(a.avoid, now):
			dropped = append(dropped, id)
			p.end(a)
			p.Retry(a.request)
		case a.late():
			p.late++
			p.hedge(a)
		}
	}
	return dropped
}

// lose publishes again the trials of a job that the server has lost.
func (p *Pool) lose(a *attempt) {
	p.Meter.Count(func(c *meter.Counts) { meter.Increase(&c.Back, "lost", 1) })
	p.end(a)
	state := &a.request.state
	if len(state.attempts) > 0 {
		return
	}
	p.Note(fmt.Sprintf("job %s: the server has lost it; its missing trials are published again", a.id),
		"job", a.id)
	p.Retry(a.request)
	if p.Alone() && state.failures >= MaxTries {
		p.failed = fmt.Errorf("the worker of this process has taken job %s %d times, and its results never came",
			a.id, state.failures)
	}
}

// A job is late when it has run for lateFactor times its predicted run time and for minLate
// seconds, or for lateUnknown seconds without a prediction.
const (
	lateFactor  = 4
	minLate     = 2.0
	lateUnknown = 10.0
)

func (a *attempt) late() bool {
	if a.seconds == 0 {
		return a.running >= lateUnknown
	}
	return a.running >= max(minLate, lateFactor*a.seconds)
}

// describeLate describes the late job with the longest run time; "": there is none.
func describeLate(attempts map[string]*attempt) string {
	var slow *attempt
	for _, a := range attempts {
		if a.late() && (slow == nil || a.running > slow.running) {
			slow = a
		}
	}
	if slow == nil {
		return ""
	}
	r := slow.request
	return fmt.Sprintf("%d trials have run for %.0f s: %s", r.missing, slow.running, r.Cell.DescriptionAt(r.N))
}

// hedge publishes the trials of a late job once more, unless another job with the same trials is
// not late yet.
func (p *Pool) hedge(a *attempt) {
	onTime := func(a *attempt) bool { return !a.late() }
	if a.seconds == 0 && p.Alone() || a.request.state.waiting || slices.ContainsFunc(a.request.state.attempts, onTime) {
		return // a second slot of this machine is worth more than the first trial of a new kind
	}
	p.Note(fmt.Sprintf("job %s has run for %.0f s on worker %s, %.1f were expected: it is published once more",
		a.id, a.running, a.worker, a.seconds), "job", a.id)
	a.request.Avoid = []string{a.worker}
	p.Retry(a.request)
}
