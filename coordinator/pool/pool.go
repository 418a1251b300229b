package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/meter"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Config configures a [Pool]. Conn, Lead.Sweep, Cells and Digests are required; the other fields have defaults.
type Config struct {
	Conn     *queue.Conn
	Lead     queue.Lead                       // sweep, and epoch of this leadership; epoch 0: 1
	Cells    []*trial.Cell                    // all cells of the sweep
	Digests  map[string]string                // identities of plugins and built-in algorithms, by trial.Cell.Code
	Priority int                              // workers run jobs of higher priorities first
	Weight   float64                          // share of the workers' time among sweeps of the same priority; 0: 1
	Workers  <-chan struct{}                  // closed when the workers of this process have ended; nil: there are none
	Healing  time.Duration                    // between comparisons with the jobs on the server; 0: 1 s
	Meter    *meter.Meter                     // nil: none
	Log      *slog.Logger                     // nil: silent
	Note     func(text string, fields ...any) // records a sentence for the user; fields are for the log; nil: Log.Warn
}

// A Pool publishes the trials of a sweep and collects their results. It belongs to one goroutine.
type Pool struct {
	Config
	queue    *queue.Queue
	roster   *roster
	needs    []fleet.Need // of all cells
	attempts map[string]*attempt
	waiting  []*Request // to be published again
	profile  string     // float profile of the jobs; "": not known yet
	serial   int        // of the last job
	usual    float64    // seconds that a job takes; 0: unknown
	read     uint64     // sequence of the last result that was taken from the queue
	unread   int        // results on the server after that one
	late     int        // jobs that are late, which leave their place to others
	stranded int        // checks in a row in which the server had jobs that are neither queued nor leased
	failed   error      // why nothing can be run any more
	barred   []string   // workers in quarantine
}

// The pool keeps perSlot jobs on the server for each slot: one runs, one waits at the worker, one waits on the server.
// Of short jobs it keeps as many as usually take quickLoad, up to quickPerSlot.
const (
	perSlot      = 3
	quickLoad    = 0.030 // seconds
	quickPerSlot = 40
	quickWeight  = 1. / 8 // of the last job in the running mean
)

// With takes up the sweep's queue, calls work with a pool, and removes the sweep's jobs from the server. Jobs that stay
// there if that fails are removed by the sweep's next pool.
func With(ctx context.Context, c Config, work func(*Pool) error) (err error) {
	p := newPool(c)
	if p.queue, err = p.Conn.Coordinate(ctx, p.Lead); err != nil {
		return err
	}
	p.offer(false)
	err = work(p)
	p.offer(true)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if e := p.queue.Close(closing); e != nil {
		p.Note(fmt.Sprintf("the queue was not cleared: %v", e))
	}
	return err
}

func newPool(c Config) *Pool {
	c.Healing, c.Lead.Epoch = cmp.Or(c.Healing, time.Second), cmp.Or(c.Lead.Epoch, 1)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Note == nil {
		c.Note = c.Log.Warn
	}
	p := &Pool{Config: c, roster: newRoster(c.Lead.Sweep), attempts: map[string]*attempt{}}
	of := map[string]fleet.Need{}
	for _, cell := range c.Cells {
		of[cell.Code()] = cell.Need(c.Digests[cell.Code()])
	}
	for _, code := range slices.Sorted(maps.Keys(of)) {
		p.needs = append(p.needs, of[code])
	}
	return p
}

// DeleteResults removes the sweep's results up to a sequence from the server.
func (p *Pool) DeleteResults(ctx context.Context, sequence uint64) error {
	return p.queue.DeleteResults(ctx, sequence)
}

// Read returns the sequence of the last result that was taken from the queue.
func (p *Pool) Read() uint64 { return p.read }

// Slots returns the number of slots that take jobs of the sweep.
func (p *Pool) Slots() int { return p.roster.slots(time.Now()) }

// Several reports whether more than one worker is known.
func (p *Pool) Several() bool { return len(p.roster.workers) > 1 }

// Alone reports whether the worker of this process is the only one that there can be.
func (p *Pool) Alone() bool { return p.Workers != nil && p.Conn.Embedded() }

// Profile returns the float profile of the jobs; "": not known yet.
func (p *Pool) Profile() string { return p.profile }

// SetProfile sets the float profile of the jobs.
func (p *Pool) SetProfile(profile string) {
	if p.profile != profile {
		p.profile = profile
		p.offer(false) // workers learn of it before they can lease a job
	}
}

// Bar gives workers no more jobs.
func (p *Pool) Bar(workers ...string) {
	if len(workers) > 0 {
		p.barred = append(p.barred, workers...)
		p.offer(false)
	}
}

// Sandboxes returns the names of the workers by the layers around their plugins.
func (p *Pool) Sandboxes() map[string][]string { return p.roster.sandboxes() }

// A Status describes a pool for people.
type Status struct {
	Workers   int    // workers with a heartbeat lately
	NoWorkers bool   // there are none, not even such that cannot be understood
	Stuck     string // why no worker takes jobs of the sweep; "": one does
	Late      string // the job that is late by most, in words; "": none
	Out       int    // jobs on the server
	Again     int    // requests that wait to be published again
	Unread    int    // results on the server that were not read yet, about
}

// Status returns the status at a time.
func (p *Pool) Status(now time.Time) Status {
	s := Status{
		Workers: len(p.roster.workers), Late: p.lateWords(), Out: len(p.attempts), Again: len(p.waiting), Unread: p.unread,
	}
	s.NoWorkers, s.Stuck = p.roster.state(now)
	return s
}

// offer publishes the needs of the sweep to all workers, with jobs that are not needed any more.
func (p *Pool) offer(over bool, dropped ...string) {
	o := fleet.Offer{
		Epoch: p.Lead.Epoch, Priority: p.Priority, Weight: cmp.Or(p.Weight, 1), Profile: p.profile, Needs: p.needs,
		Barred: p.barred, Dropped: dropped, Over: over,
	}
	data, err := o.Encode()
	if err == nil {
		err = p.queue.Offer(data)
	}
	if err != nil {
		p.Note(err.Error())
	}
}

// MaxTries is the number of times that a job is tried by the only worker that there can be.
const MaxTries = 4

// handleHeartbeat records which jobs a worker runs.
func (p *Pool) handleHeartbeat(h queue.Heartbeat, now time.Time) {
	w, news := p.roster.update(h, now)
	if news != "" {
		p.Note(news)
	}
	if w == nil {
		return
	}
	for _, held := range w.Held {
		a := p.attempts[held.ID]
		if a == nil || held.Sweep != p.Lead.Sweep || held.Epoch != p.Lead.Epoch {
			continue
		}
		a.held = now
		if held.Running > 0 {
			a.worker, a.running = w.Name, held.Running
		}
	}
	if r := w.Refuses(p.Lead.Sweep, now); p.Alone() && r != nil && (r.Never || r.Faults >= MaxTries) {
		p.failed = fmt.Errorf("the worker of this process cannot run %s: %s", r.What, r.Reason)
	}
}

// gathering is the time after the first heartbeat in which those of other workers of a cluster arrive.
const gathering = 300 * time.Millisecond

// room reports whether another job is to be published.
func (p *Pool) room() bool {
	if !p.Alone() && time.Since(p.roster.first) < gathering {
		return false
	}
	most := perSlot
	if p.usual > 0 {
		most = max(most, int(min(quickPerSlot, quickLoad/p.usual)))
	}
	return len(p.attempts)-p.late < most*p.Slots()
}

// Believable limits a number of seconds that a worker reports, which may be anything.
func Believable(seconds float64) float64 { return min(max(seconds, 0), 1e6) }

// Took records the run time of a job that has come back.
func (p *Pool) Took(seconds float64) {
	if p.usual == 0 {
		p.usual = quickLoad // until more is known
	}
	p.usual += quickWeight * (Believable(seconds) - p.usual)
}

// publish publishes the open trials of a request as a job.
func (p *Pool) publish(ctx context.Context, r *Request) error {
	p.serial++
	now, job := time.Now(), r.job(p.serial)
	job.Sweep, job.Plugin, job.Profile = p.Lead.Sweep, p.Digests[r.Cell.Code()], p.profile
	if p.roster.others(r.Avoid, now) {
		job.Avoid = r.Avoid
	}
	data, err := job.Encode()
	if err != nil {
		return fmt.Errorf("encode job %q: %w", job.ID, err)
	}
	if err := p.queue.Publish(ctx, job.ID, data); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	a := &attempt{id: job.ID, request: r, published: now, seconds: job.Seconds, avoid: job.Avoid}
	p.attempts[a.id] = a
	r.state.attempts = append(r.state.attempts, a)
	r.state.failures++
	p.Meter.Count(func(c *meter.Counts) { c.Sent++ })
	p.Log.Debug("job published", "job", a.id, "cell", job.Cell.Key.Short(), "n", job.N, "trials", job.Count)
	return nil
}

// Retry publishes the open trials of a request again as soon as there is room.
func (p *Pool) Retry(r *Request) {
	if !r.state.waiting && r.needed() {
		r.state.waiting = true
		p.waiting = append(p.waiting, r)
	}
}

// publishWaiting publishes the requests that wait to be published again.
func (p *Pool) publishWaiting(ctx context.Context) error {
	waiting := p.waiting
	p.waiting = nil
	for i, r := range waiting {
		if r.needed() && (time.Now().Before(r.state.after) || !p.room()) {
			p.waiting = append(p.waiting, r)
			continue
		}
		if r.needed() {
			if err := p.publish(ctx, r); err != nil {
				p.waiting = append(p.waiting, waiting[i:]...)
				return err
			}
		}
		r.state.waiting = false
	}
	return nil
}

// end removes a job that the server does not have any more.
func (p *Pool) end(a *attempt) {
	delete(p.attempts, a.id)
	state := &a.request.state
	state.attempts = slices.DeleteFunc(state.attempts, func(x *attempt) bool { return x == a })
}
