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
	"github.com/shatterlab/shatter/schemas"
)

// Config configures a [Pool]. Conn, Term.Sweep, Cells and Digests are required; the other fields have defaults.
type Config struct {
	Conn    *queue.Conn
	Term    queue.Term        // sweep, and epoch of this leader; epoch 0: 1
	Cells   []*trial.Cell     // all cells of the sweep
	Digests map[string]string // identities of plugins and built-in algorithms, by trial.Cell.Code

	// Environments holds the environments of plugins, by identity, if the workers run on this machine.
	Environments map[string]schemas.Environment

	Priority int                              // workers run jobs of higher priorities first
	Weight   float64                          // share of the workers' time among sweeps of the same priority; 0: 1
	Workers  <-chan struct{}                  // closed when the workers of this process have ended; nil: none
	Healing  time.Duration                    // time between comparisons with the jobs on the server; 0: 1 s
	Meter    *meter.Meter                     // nil: none
	Log      *slog.Logger                     // nil: silent
	Note     func(text string, fields ...any) // records a sentence for the user; fields are for the log; nil: Log.Warn
}

// A Pool publishes the trials of a sweep and collects their results. It belongs to one goroutine.
type Pool struct {
	Config
	Queue   *queue.Queue
	Roster  *Roster
	Read    uint64  // sequence number of the last result that was read from the queue
	Usual   RunTime // mean run time of a job
	Profile string  // float profile of the jobs; "": unknown; see SetProfile

	jobs
	unread int          // number of results on the server after the last one that was read
	needs  []fleet.Need // needs of all cells
	barred []string     // workers in quarantine
	failed error        // reason why no job can run any more; nil: none
}

// jobs holds the jobs on the server.
type jobs struct {
	attempts map[string]*attempt
	waiting  []*Request // requests to publish again
	serial   int        // serial number of the last job
	late     int        // number of late jobs; each frees its place for another job
	stranded int        // consecutive checks in which the server had jobs that are neither queued nor leased
}

// The pool keeps perSlot jobs on the server for each slot: one runs, and the others wait. If jobs
// are short, it keeps as many as usually fill quickLoad, up to quickPerSlot.
const (
	perSlot      = 3
	quickLoad    = 0.030 // seconds
	quickPerSlot = 40
)

// With opens the sweep's queue, calls work with a pool, and removes the sweep's jobs from the
// server. If the removal fails, the sweep's next pool removes them.
func With(ctx context.Context, c Config, work func(*Pool) error) (err error) {
	p := newPool(c)
	if p.Queue, err = p.Conn.Coordinate(ctx, p.Term); err != nil {
		return err
	}
	p.offer(false)
	err = work(p)
	p.offer(true)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if e := p.Queue.Close(closing); e != nil {
		p.Note(fmt.Sprintf("the queue was not cleared: %v", e))
	}
	return err
}

func newPool(c Config) *Pool {
	c.Healing, c.Term.Epoch = cmp.Or(c.Healing, time.Second), cmp.Or(c.Term.Epoch, 1)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Note == nil {
		c.Note = c.Log.Warn
	}
	p := &Pool{
		Config: c, jobs: jobs{attempts: map[string]*attempt{}},
		Roster: &Roster{sweep: c.Term.Sweep, workers: map[string]*member{}, unclear: map[string]unclear{}},
	}
	of := map[string]fleet.Need{}
	for _, cell := range c.Cells {
		of[cell.Code()] = cell.Need(schemas.ProgramOf(c.Digests[cell.Code()]))
		if drawn := cell.Problem.Plugin; drawn != nil {
			of["problem "+drawn.Digest] = trial.NeedOfProblem(drawn)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(of)) {
		p.needs = append(p.needs, of[code])
	}
	return p
}

// Alone reports whether no worker outside this process can join.
func (c *Config) Alone() bool { return c.Workers != nil && c.Conn.Embedded() }

// scaled returns a time in units of Config.Healing, which is a second except in tests.
func (c *Config) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.Healing.Seconds())
}

// SetProfile sets the float profile of the jobs.
func (p *Pool) SetProfile(profile string) {
	if p.Profile != profile {
		p.Profile = profile
		p.offer(false) // workers receive it before they can lease a job
	}
}

// Bar stops giving jobs to the workers.
func (p *Pool) Bar(workers ...string) {
	if len(workers) > 0 {
		p.barred = append(p.barred, workers...)
		p.offer(false)
	}
}

// A Status describes a pool for people.
type Status struct {
	Workers   int    // workers with a recent heartbeat
	NoWorkers bool   // there are no workers, including workers whose heartbeats cannot be decoded
	Stuck     string // reason why no worker accepts jobs of the sweep; "": one does
	Late      string // description of the late job with the longest run time; "": none
	Out       int    // jobs on the server
	Again     int    // requests that wait to be published again
	Unread    int    // approximate number of unread results on the server

	Quarantined []string // workers that get no more jobs of the sweep
}

// Status returns the status at a time.
func (p *Pool) Status(now time.Time) Status {
	s := Status{
		Workers: len(p.Roster.workers), Late: describeLate(p.attempts), Out: len(p.attempts), Again: len(p.waiting),
		Unread: p.unread, Quarantined: p.barred,
	}
	s.NoWorkers, s.Stuck = p.Roster.state(now)
	return s
}

// offer publishes the needs of the sweep to all workers, and the jobs that are not needed any more.
func (p *Pool) offer(over bool, dropped ...string) {
	o := fleet.Offer{
		Epoch: p.Term.Epoch, Priority: p.Priority, Weight: cmp.Or(p.Weight, 1), Profile: p.Profile, Needs: p.needs,
		Barred: p.barred, Dropped: dropped, Over: over,
	}
	data, err := o.Encode()
	if err == nil {
		err = p.Queue.Offer(data)
	}
	if err != nil {
		p.Note(err.Error())
	}
}

// MaxTries is the maximum number of attempts at a job by the only possible worker.
const MaxTries = 4

// handleHeartbeat records which jobs a worker runs.
func (p *Pool) handleHeartbeat(h queue.Heartbeat, now time.Time) {
	w, news := p.Roster.update(h, now)
	if news != "" {
		p.Note(news)
	}
	if w == nil {
		return
	}
	for _, held := range w.Held {
		a := p.attempts[held.ID]
		if a == nil || held.Sweep != p.Term.Sweep || held.Epoch != p.Term.Epoch {
			continue
		}
		a.held = now
		if held.Running > 0 {
			a.worker, a.running = w.Name, held.Running
		}
	}
	if r := w.Refuses(p.Term.Sweep, now); p.Alone() && r != nil && (r.Never || r.Faults >= MaxTries) {
		p.failed = fmt.Errorf("the worker of this process cannot run %s: %s", r.What, r.Reason)
	}
}

// gathering is the time after the first heartbeat in which the pool waits for those of other
// workers.
const gathering = 300 * time.Millisecond

// room reports whether another job should be published.
func (p *Pool) room() bool {
	if !p.Alone() && time.Since(p.Roster.first) < gathering {
		return false
	}
	most := perSlot
	if p.Usual > 0 {
		most = max(most, int(min(quickPerSlot, quickLoad/p.Usual)))
	}
	return len(p.attempts)-p.late < most*p.Roster.Slots(time.Now())
}

// Believable limits a number of seconds that a worker reports to a plausible range.
func Believable(seconds float64) float64 { return min(max(seconds, 0), 1e6) }

// A RunTime is a running mean of the seconds per job. It is 0 before the first job.
type RunTime float64

// Record updates the mean with the run time of a returned job.
func (r *RunTime) Record(seconds float64) {
	const weight = 1. / 8
	if *r == 0 {
		*r = quickLoad // starting value of the mean
	}
	*r += weight * (RunTime(Believable(seconds)) - *r)
}

// publish publishes the missing trials of a request as a job.
func (p *Pool) publish(ctx context.Context, r *Request) error {
	p.serial++
	now, job := time.Now(), r.job(p.serial)
	job.Sweep, job.Plugin, job.Profile = p.Term.Sweep, schemas.ProgramOf(p.Digests[r.Cell.Code()]), p.Profile
	if p.Roster.others(r.Avoid, now) {
		job.Avoid = r.Avoid
	}
	data, err := job.Encode()
	if err != nil {
		return fmt.Errorf("encode job %q: %w", job.ID, err)
	}
	if err := p.Queue.Publish(ctx, job.ID, data); err != nil {
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

// Retry publishes the missing trials of a request again as soon as there is room.
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
