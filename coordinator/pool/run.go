package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shatterlab/shatter/coordinator/meter"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// A Source provides trials to a pool and receives their results. The pool calls one method at a time.
type Source interface {
	// Done reports whether no further trials and results are needed.
	Done() (bool, error)
	// Next returns the next request to publish; nil if there is none at present.
	Next() (*Request, error)
	// Accept receives a result. r is the request that it answers; nil: an unknown request. Accept
	// calls r.Return for each trial of the result.
	Accept(m *queue.Message, r *Request) error
	// Tick is called about every SyncEvery.
	Tick(ctx context.Context) error
}

// SyncEvery is the time between two calls of [Source.Tick].
const SyncEvery = 100 * time.Millisecond

// ErrWorkers reports that the workers of this process have ended and that no others can join.
var ErrWorkers = errors.New("the workers of this process have ended; their messages say why")

// errClosed reports that the connection to the server is closed permanently.
var errClosed = errors.New("results ended: the connection to the queue was closed")

// errSilent reports that the server does not answer.
var errSilent = errors.New("ask the server for the last result")

// maxResults is the number of results that are accepted before jobs are published again.
const maxResults = 64

// Run publishes the requests of a source and passes the results to it until the source is done. It
// drops requests of earlier sources that wait to be published again.
func (p *Pool) Run(ctx context.Context, s Source) error {
	for _, r := range p.waiting {
		r.state.waiting = false
	}
	p.waiting = nil
	tick := time.NewTicker(SyncEvery)
	defer tick.Stop()
	healed := time.Now()
	for {
		if done, err := s.Done(); done || err != nil {
			return err
		}
		if err := p.fill(ctx, s); err != nil {
			return err
		}
		if done, err := s.Done(); done || err != nil {
			return err
		}
		if err := p.wait(ctx, s, tick.C, &healed); err != nil {
			return err
		}
	}
}

// fill publishes requests while there is room. The first workers that can run the sweep determine
// its float profile.
func (p *Pool) fill(ctx context.Context, s Source) error {
	if p.failed != nil {
		return p.failed
	}
	if p.Profile == "" && p.room() {
		p.SetProfile(p.Roster.usualProfile())
	}
	if p.Profile == "" {
		return nil
	}
	if err := p.publishWaiting(ctx); err != nil {
		return err
	}
	for p.room() {
		r, err := s.Next()
		if r == nil || err != nil {
			return err
		}
		if err := p.publish(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for the next event and handles it. healed is the time of the last comparison with the
// server.
func (p *Pool) wait(ctx context.Context, s Source, tick <-chan time.Time, healed *time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case m := <-p.Queue.Results:
		for range maxResults { // so that new jobs are published for all of them together
			if err := p.accept(m, s); err != nil {
				return err
			}
			select {
			case m = <-p.Queue.Results:
			default:
				return nil
			}
		}
		return p.accept(m, s)
	case h := <-p.Queue.Heartbeats:
		p.handleHeartbeat(h, time.Now())
		return nil
	case <-p.Queue.Closed():
		return errClosed
	case <-p.Workers:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return ErrWorkers
	case now := <-tick:
		if err := s.Tick(ctx); err != nil || now.Sub(*healed) < p.Healing {
			return err
		}
		*healed = now
		return p.heal(ctx, now)
	}
}

// accept passes a result to the source. When all parts of a job's result have arrived, it publishes
// the missing trials again. If the result contains none of the missing trials, it does so after a
// delay, for another worker.
func (p *Pool) accept(m *queue.Message, s Source) error {
	p.Read, p.unread = m.Sequence, int(m.Pending)
	a := p.attempts[m.Job]
	if a == nil || m.Epoch != p.Term.Epoch {
		return s.Accept(m, nil)
	}
	r, before := a.request, a.request.missing
	a.absent = 0
	last := m.Index == m.Of-1
	if last {
		p.end(a)
	}
	if err := s.Accept(m, r); err != nil {
		return err
	}
	switch {
	case r.missing < before:
		r.state.failures = 0
	case last && r.needed():
		p.Meter.Count(func(c *meter.Counts) { meter.Increase(&c.Back, "useless", 1) })
		r.Avoid = []string{m.Worker}
		r.state.after = time.Now().Add(p.scaled(fleet.Interval << min(r.state.failures, 8)))
		if p.Alone() && r.state.failures >= MaxTries {
			p.failed = fmt.Errorf("the worker of this process has answered job %s %d times without its outcomes: "+
				"this is a fault in shatter: report it, and run again to continue from the ledger", m.Job, r.state.failures)
		}
	}
	if len(r.state.attempts) == 0 {
		p.Retry(r)
	}
	return nil
}

// CatchUp accepts the results that are already on the server.
func (p *Pool) CatchUp(ctx context.Context, s Source) error {
	tick := time.NewTicker(SyncEvery)
	defer tick.Stop()
	for {
		last, err := p.Queue.Last(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", errSilent, err)
		}
		if p.Read >= last {
			return nil
		}
		for waiting := true; waiting; {
			select {
			case m := <-p.Queue.Results:
				if err := p.accept(m, s); err != nil {
					return err
				}
			case <-tick.C: // the last result may have been removed meanwhile
				waiting = false
			case <-p.Queue.Closed():
				return errClosed
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// Drain accepts the results of the jobs that the workers of this process finish before they end,
// and the results that are already on the server. Results that do not arrive within another second
// stay there for the next run.
func (p *Pool) Drain(s Source) error {
	ctx := context.Background()
	tick := time.NewTicker(SyncEvery)
	defer tick.Stop()
	healed := time.Now()
	for working := p.Workers != nil; working; {
		err := p.wait(ctx, s, tick.C, &healed)
		if working = !errors.Is(err, ErrWorkers) && !errors.Is(err, errClosed); working && err != nil {
			return err
		}
	}
	within, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := p.CatchUp(within, s)
	if within.Err() != nil || errors.Is(err, errClosed) || errors.Is(err, errSilent) {
		return nil
	}
	return err
}
