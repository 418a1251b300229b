package lead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// Config configures [Serve]. Conn, Dir, Name and Load are required; the other fields have defaults.
type Config struct {
	Conn *queue.Conn
	Dir  string // folder that contains the output folders of sweeps, named by their ids
	Name string // name of this coordinator
	Load Load
	Page string // URL of the page of this coordinator; "": none

	Lease   time.Duration // time after which another coordinator takes over from a silent one; 0: 10 s
	Keep    time.Duration // time after which an ended sweep is deleted; 0: never
	Log     *slog.Logger  // nil: silent
	Monitor *Monitor      // receives the state of Serve; nil: none
}

// A Load makes a sweep of a submission.
type Load func(ctx context.Context, s *Submission) (*Sweep, error)

// A Sweep is a sweep that can be run.
type Sweep struct {
	Plan   *plan.Plan
	Saved  []byte             // the plan, encoded by plan.Encode
	Config coordinator.Config // fields that the leader does not set: Digests, Recheck and Facts
}

// Serve leads every sweep of the registry that should run and has no other leader, until ctx ends.
// It then ships the folders and returns when it has resigned from all sweeps. If the server loses
// the registry, Serve abandons all sweeps and starts again with the new registry.
func Serve(ctx context.Context, c Config) error {
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Monitor = cmp.Or(c.Monitor, &Monitor{})
	registry, err := c.Conn.Registry(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	for reported := ""; ; {
		if err == nil {
			reported = ""
			err = serve(ctx, c, registry)
		}
		if ctx.Err() != nil {
			return nil
		}
		if text := err.Error(); text != reported {
			reported = text
			c.Log.Warn("the server has lost the registry of sweeps; starting again as soon as there is one", "reason", text)
		}
		select {
		case <-time.After(time.Second):
		case <-c.Conn.Closed():
			return c.Conn.ClosedError()
		case <-ctx.Done():
			return nil
		}
		registry, err = c.Conn.Registry(ctx)
	}
}

// serve serves until ctx ends or the registry is lost. It returns after its terms have ended.
func serve(ctx context.Context, c Config, registry *queue.Registry) error {
	s := &server{
		Config: c, registry: registry, sweeps: map[string]*sweepState{}, ended: make(chan *term),
		garbage: make(chan struct{}, 1),
	}
	entries := make(chan *queue.Entry)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := registry.Watch(ctx, func(e *queue.Entry) error {
			select {
			case entries <- e:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		return fmt.Errorf("watch the registry: %w", err)
	})
	group.Go(func() error { s.collectGarbage(ctx); return nil })
	s.serve(ctx, entries)
	return group.Wait()
}

// A server holds the state of Serve. It belongs to one goroutine.
type server struct {
	Config
	registry *queue.Registry
	sweeps   map[string]*sweepState // states by sweep id
	ended    chan *term
	garbage  chan struct{} // filled if a sweep should be deleted
	leading  int           // number of running terms
}

// A sweepState is the state of a submitted sweep in a server.
type sweepState struct {
	record *Record
	since  time.Time // time when the present value of record.Leader was first seen
	rest   time.Time // earliest time of the next attempt to acquire the lease
	term   *term     // nil: this server does not lead the sweep
}

// serve handles events until ctx has ended and no term is running.
func (s *server) serve(ctx context.Context, entries <-chan *queue.Entry) {
	tick := time.NewTicker(s.Lease / 4)
	defer tick.Stop()
	for done := ctx.Done(); ctx.Err() == nil || s.leading > 0; {
		select {
		case e := <-entries:
			s.update(ctx, e)
		case <-tick.C:
			for id := range s.sweeps {
				s.leadIfFree(ctx, id)
			}
			s.Monitor.record(s.sweeps)
		case t := <-s.ended:
			s.leading--
			s.sweeps[t.ID].term, s.sweeps[t.ID].rest = nil, time.Now().Add(t.rest)
			s.leadIfFree(ctx, t.ID)
			s.Monitor.record(s.sweeps)
		case <-done:
			done = nil
		}
	}
}

// update processes an entry of the registry.
func (s *server) update(ctx context.Context, e *queue.Entry) {
	if x := s.sweeps[e.ID]; e.Submission == nil {
		if x != nil && x.term == nil { // an unfinished term keeps its entry
			delete(s.sweeps, e.ID)
		}
		return
	}
	record, err := ReadRecord(e)
	if err != nil {
		s.Log.Error("cannot decode sweep", "sweep", e.ID, "error", err.Error())
		return
	}
	x := s.sweeps[e.ID]
	if x == nil {
		x = &sweepState{record: &Record{}}
		s.sweeps[e.ID] = x
	}
	if old := x.record.Leader; old == nil || record.Leader == nil || old.Renewal != record.Leader.Renewal {
		x.since = time.Now()
	}
	x.record = record
	if record.Desired.Do == Delete {
		select {
		case s.garbage <- struct{}{}:
		default:
		}
	}
	if x.term != nil {
		x.term.update(record.Desired)
	}
	s.leadIfFree(ctx, e.ID)
}

// leadIfFree starts a term if the sweep should run and has no leader.
func (s *server) leadIfFree(ctx context.Context, id string) {
	x := s.sweeps[id]
	r, now := x.record, time.Now()
	switch {
	case ctx.Err() != nil, x.term != nil, r.End != nil, r.Desired.Do != Run, now.Before(x.rest):
		return
	case r.Leader != nil && now.Sub(x.since) <= r.Leader.Duration:
		return // measured by this machine's clock only, because other clocks may be wrong
	}
	x.term = newTerm(s, r)
	s.leading++
	go func(over *queue.Leader) {
		x.term.run(ctx, over)
		s.ended <- x.term
	}(r.Leader)
}

// Reasons for the end of terms after a change of the desired state. After errChanged, another term
// begins immediately.
var (
	errStopped = errors.New("the sweep should not run any more")
	errChanged = errors.New("priority, weight or budget of the sweep have changed")
)
