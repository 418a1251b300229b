package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Config is what a sweep's run needs. Folder, Conn, Algorithms and Digests have no default.
type Config struct {
	Folder     *Folder
	Conn       *bus.Conn
	Slots      int               // that will work at the same time, as far as is known
	Algorithms plan.Algorithms   // asked about sample sizes
	Digests    map[string]string // SHA-256 of each plugin file by its path; the built-in one under ""
	Workers    <-chan struct{}   // closed when the workers of this process have ended; nil: there are none
	Progress   func(Progress)    // called about five times a second; nil: not
	Log        *slog.Logger      // nil: silent
	Facts      map[string]string // about this run, for the manifest
	Cache      *cache.Cache      // of outcomes, across sweeps; nil: none
	Budget     Budget            // what this run may spend; zero: all that it takes

	Healing time.Duration // how often jobs on the server are held against those that were handed out; 0: 1 s
	Lease   time.Duration // beyond its predicted time, how long a job that the server does not have is waited for; 0: 30 s

	// JobSizes draws the sizes of jobs at random, and Reverse takes results in reversed order: neither may change a result.
	JobSizes *rand.Rand
	Reverse  bool
}

const (
	fsyncEvery = 100 * time.Millisecond
	fsyncBytes = 4 << 20
	mostTries  = 5 // times that a job is queued before its missing trials are given up as lost
	mostNotes  = 1000
)

// Run brings the sweep to its end, or as far as ctx allows, and writes the result files when it is there. What was done is in
// the folder's ledger whatever happens. That ctx ends is no error.
func Run(ctx context.Context, c Config) (*Summary, error) {
	c.defaults()
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	if err = r.recover(ctx); err == nil {
		err = r.serve(ctx)
	}
	if err != nil && !ended(ctx, err) {
		return nil, err
	}
	return r.finish(ctx.Err() != nil)
}

func (c *Config) defaults() {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Healing, c.Lease = cmp.Or(c.Healing, time.Second), cmp.Or(c.Lease, 30*time.Second)
}

// ended reports whether an error only says that ctx has ended.
func ended(ctx context.Context, err error) bool { return ctx.Err() != nil && errors.Is(err, ctx.Err()) }

// serve takes up the queue, works, and clears the queue. What stays there if that fails is removed by the sweep's next run.
func (r *run) serve(ctx context.Context) (err error) {
	if r.queue, err = r.Conn.Coordinate(ctx, r.Folder.ID, r.slots); err != nil {
		return err
	}
	err = r.work(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if e := r.queue.Close(closing); e != nil {
		r.note(fmt.Sprintf("the queue was not cleared: %v", e))
	}
	return err
}

// run is one run of a sweep. It belongs to one goroutine.
type run struct {
	Config
	ledger *ledger.Ledger
	queue  *bus.Queue
	cells  []*cell
	byKey  map[trial.Key]*cell
	ready  cellQueue // cells that may want something
	jobs   map[string]*job
	slots  int // that work, as far as is known
	serial int // of the last job

	touched   []*cell        // have outcomes that were not looked at yet
	unsynced  []*bus.Message // in the ledger's file, not yet on the disk
	bytes     int
	profile   string // of the sweep's outcomes; "": there are none yet
	began     time.Time
	counts    counts
	open      int  // cells not done
	unchecked bool // outcomes of other plugin files were not compared yet
	working   string
	notes     []string
	cached    []string        // what went wrong with the cache: the first of it
	alarms    map[string]bool // trials with two outcomes
	pace      pace
	forecasts forecaster
	handed    int64  // trials that this run has handed out
	spent     bool   // the budget is
	limited   string // why the result that is read is partial; "" where one is made
}

func newRun(c Config) (*run, error) {
	r := &run{
		Config: c, ledger: c.Folder.Ledger, byKey: map[trial.Key]*cell{}, jobs: map[string]*job{}, slots: max(1, c.Slots),
		began: time.Now(), counts: newCounts(), open: len(c.Folder.Plan.Cells), unchecked: true, alarms: map[string]bool{},
		forecasts: forecaster{},
	}
	for i, pc := range c.Folder.Plan.Cells {
		cell, err := newCell(pc, i, len(c.Folder.Plan.Cells))
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", pc.Key.Short(), err)
		}
		r.cells = append(r.cells, cell)
		r.byKey[pc.Key] = cell
	}
	return r, nil
}

// recover feeds the cells with what the ledger has: what is left to do is the plan minus this.
func (r *run) recover(ctx context.Context) error {
	if r.Folder.Redo {
		if err := r.dropForeign(); err != nil {
			return err
		}
	}
	for _, c := range r.cells {
		for _, n := range r.ledger.Sizes(c.Key) {
			for o := range r.ledger.Outcomes(c.Key, n) {
				c.size(n).taken.Set(o.Repetition)
				c.feed(n, o.Repetition, c.outcome(o.Status, o.Error))
				r.counts.known++
				c.trials++
			}
		}
		r.touch(c)
	}
	for _, o := range r.ledger.Origins() {
		if _, ok := r.byKey[o.Cell]; ok {
			r.profile = o.Profile // all of them have the same
		}
	}
	for _, x := range r.Folder.Report.Conflicts {
		if c, ok := r.byKey[x.Cell]; ok && r.ledger.Has(x.Cell, x.N, x.Repetition) {
			r.alarms[c.TrialID(x.N, x.Repetition)] = true
		}
	}
	return r.learn(ctx)
}

// outcome is a trial's outcome in the eyes of the search.
func (c *cell) outcome(status uint8, e float64) estimate.Outcome {
	switch {
	case status == ledger.Failed:
		return estimate.Failed
	case result.Success(status, e, c.Above, c.Alpha):
		return estimate.Success
	}
	return estimate.Miss
}

// touch has a cell looked at by the next learn.
func (r *run) touch(c *cell) {
	if !c.touched {
		c.touched = true
		r.touched = append(r.touched, c)
	}
}

// learn advances the cells that were touched.
func (r *run) learn(ctx context.Context) error {
	for len(r.touched) > 0 {
		last := len(r.touched) - 1
		c := r.touched[last]
		if err := r.advance(ctx, c); err != nil {
			return err
		}
		c.touched, r.touched = false, r.touched[:last]
	}
	return nil
}

// advance asks the algorithm about the sample sizes that the cell has come to, and notes when the cell is done.
func (r *run) advance(ctx context.Context, c *cell) error {
	for again := true; again && !c.Done() && c.refused == ""; {
		again = false
		for _, n := range c.Needs() {
			if c.told[n] {
				continue
			}
			a, err := r.ask(ctx, c, n)
			if err != nil {
				return err
			}
			c.told[n], again = true, true
			if a.infeasible != "" {
				c.Infeasible(n, a.infeasible)
			}
			if a.refused != "" {
				c.refused = fmt.Sprintf("n = %d: %s", n, a.refused)
			}
		}
	}
	if r.close(c); !c.done {
		r.ready.push(c)
	}
	return nil
}

// close counts a cell that has come to its end.
func (r *run) close(c *cell) {
	if (c.Done() || c.refused != "") && !c.done {
		c.done = true
		r.open--
	}
}

// ask is the algorithm's answer to one sample size, asked once.
func (r *run) ask(ctx context.Context, c *cell, n int64) (answer, error) {
	if a, ok := c.answers[n]; ok {
		return a, nil
	}
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	res, err := r.Algorithms.Check(ctx, c.Plugin, c.Setting(n))
	if err != nil && ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	if err != nil {
		return answer{}, fmt.Errorf("check %s at n = %d: %w", c.As, n, err)
	}
	var a answer
	switch {
	case res.Refusal == nil:
	case res.Refusal.Kind == pluginv1.Refusal_KIND_INFEASIBLE:
		a.infeasible = res.Refusal.Message
	default:
		a.refused = res.Refusal.Message
	}
	c.answers[n] = a
	return a, nil
}

// errWorkers says that nobody is left who would work.
var errWorkers = errors.New("the workers of this process have ended; their messages say why")

// work works until every cell is decided or ctx ends. What came by then is on the disk afterwards.
func (r *run) work(ctx context.Context) error {
	err := r.loop(ctx)
	switch {
	case err == nil:
		return r.flush()
	case ended(ctx, err):
		return r.drain()
	case errors.Is(err, errWorkers):
		return errors.Join(err, r.drain())
	}
	return err
}

// loop is the loop: hand out, take back.
func (r *run) loop(ctx context.Context) error {
	if err := r.recheck(ctx); err != nil {
		return err
	}
	if err := r.fromCache(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(fsyncEvery)
	defer tick.Stop()
	healed, shown := time.Now(), time.Time{}
	for {
		if err := r.learn(ctx); err != nil {
			return err
		}
		if now := time.Now(); r.Progress != nil && (r.open == 0 || now.Sub(shown) > 200*time.Millisecond) {
			shown = now
			r.Progress(r.snapshot(now))
			r.pace.paused += time.Since(now)
		}
		if r.open == 0 {
			return nil
		}
		if err := r.dispatch(ctx); err != nil {
			return err
		}
		if r.spent && len(r.jobs) == 0 {
			return nil
		}
		if err := r.event(ctx, tick.C, &healed); err != nil {
			return err
		}
	}
}

// event waits for the next thing to happen, and deals with it.
func (r *run) event(ctx context.Context, tick <-chan time.Time, healed *time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case m := <-r.queue.Results():
		return r.takeAll(m)
	case <-r.queue.Hungry():
		return nil
	case <-r.Workers:
		return r.deserted(ctx)
	case now := <-tick:
		if err := r.flush(); err != nil {
			return err
		}
		if now.Sub(*healed) < r.Healing {
			return nil
		}
		*healed = now
		return r.heal(ctx, now)
	}
}

// deserted is why the workers of this process have ended.
func (r *run) deserted(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errWorkers
}

// takeAll takes a message and all that wait behind it, so that one search for work serves them all.
func (r *run) takeAll(m *bus.Message) error {
	batch := []*bus.Message{m}
	for waiting := true; waiting && len(batch) < 64; {
		select {
		case m := <-r.queue.Results():
			batch = append(batch, m)
		default:
			waiting = false
		}
	}
	if r.Reverse {
		slices.Reverse(batch)
	}
	for _, m := range batch {
		if err := r.take(m); err != nil {
			return err
		}
	}
	return nil
}

// take verifies one result message, adds it to the ledger and feeds its cell.
func (r *run) take(m *bus.Message) error {
	if m == nil {
		return errors.New("results ended: the connection to the queue was closed")
	}
	if strings.HasPrefix(m.ID, recheckPrefix) { // of a run that was ended in the middle of it
		return m.Ack()
	}
	c, drop := r.mine(m)
	if drop != "" {
		r.note(fmt.Sprintf("result message %q was dropped: %s", m.ID, drop))
		return m.Ack()
	}
	verdict, err := r.ledger.Add(m.Data)
	if err != nil {
		return fmt.Errorf("keep outcomes of cell %s: %w", c.Key.Short(), err)
	}
	r.bytes += len(m.Data)
	r.unsynced = append(r.unsynced, m)
	r.profile = verdict.Batch.Profile
	r.record(c, verdict)
	r.counts.trials += int64(len(verdict.New))
	r.counts.seconds += verdict.Batch.Seconds
	c.fresh = c.fresh || len(verdict.New) > 0
	r.touch(c)
	if r.bytes >= fsyncBytes {
		return r.flush()
	}
	return nil
}

// mine finds the cell of a result message, or says why the message is not for this run. Whoever reaches the queue can publish,
// so a message has to be about trials that its cell can have.
func (r *run) mine(m *bus.Message) (c *cell, drop string) {
	b, err := ledger.Decode(m.Data)
	if err != nil {
		return nil, err.Error()
	}
	c, ok := r.byKey[b.Cell]
	last := b.Repetition[len(b.Repetition)-1]
	switch {
	case b.Sweep != r.Folder.ID:
		return nil, fmt.Sprintf("it is of the sweep %q", b.Sweep)
	case !ok:
		return nil, "the sweep file no longer has its cell"
	case !c.has(b.N, last):
		return nil, fmt.Sprintf("the cell has no trial %s", c.TrialID(b.N, last))
	case !slices.Equal(b.Metrics, c.Metrics):
		return nil, fmt.Sprintf("it has the metrics %q, the algorithm declares %q", b.Metrics, c.Metrics)
	case r.foreign(c, b.Digest):
		return nil, fmt.Sprintf("worker %q made it with another plugin file, sha256 %.12s", b.Worker, b.Digest)
	case r.profile != "" && r.profile != b.Profile:
		return nil, fmt.Sprintf("worker %q has the float profile %s, the sweep's is %s: their last bits may differ", b.Worker, b.Profile, r.profile)
	}
	return c, ""
}

// record feeds the outcomes that are new to their cell.
func (r *run) record(c *cell, v ledger.Verdict) {
	b := v.Batch
	size := c.size(b.N)
	size.seconds += b.Seconds
	size.trials += int64(len(b.Repetition))
	for _, note := range b.Notes {
		r.note(fmt.Sprintf("worker %s: %s", b.Worker, note))
	}
	for _, conflict := range v.Conflicts {
		r.alarms[c.TrialID(b.N, conflict.Repetition)] = true
	}
	for _, i := range v.Lost {
		rep := b.Repetition[i]
		if !r.back(c, size, b.N, rep) {
			continue // said already, or left over from an earlier run: this one tries again
		}
		r.counts.failure(c, b.N, rep, text(b.Kind, i), text(b.Reason, i))
		c.Lost(b.N, int(rep), text(b.Reason, i))
	}
	for _, i := range v.New {
		rep := b.Repetition[i]
		size.taken.Set(rep)
		r.back(c, size, b.N, rep)
		if b.Status[i] == ledger.Failed {
			r.counts.failure(c, b.N, rep, text(b.Kind, i), text(b.Reason, i))
		}
		c.feed(b.N, rep, c.outcome(b.Status[i], b.Error[i]))
	}
}

// text is a column's value where the message has the column.
func text(column []string, i int) string {
	if column == nil {
		return ""
	}
	return column[i]
}

// flush makes what was added durable, then acknowledges it.
func (r *run) flush() error {
	if len(r.unsynced) == 0 {
		return nil
	}
	if err := r.ledger.Sync(); err != nil {
		return err
	}
	for _, m := range r.unsynced {
		if err := m.Ack(); err != nil {
			return fmt.Errorf("acknowledge a result: %w", err)
		}
	}
	r.unsynced, r.bytes = r.unsynced[:0], 0
	return nil
}

// drain takes what the workers of this process still finish, and asks and hands out nothing more.
func (r *run) drain() error {
	ended := r.Workers
	if ended == nil {
		now := make(chan struct{})
		close(now)
		ended = now
	}
	tick := time.NewTicker(fsyncEvery)
	defer tick.Stop()
	for working := true; working; {
		select {
		case m := <-r.queue.Results():
			if err := r.take(m); err != nil {
				return err
			}
		case <-tick.C:
			if err := r.flush(); err != nil {
				return err
			}
		case <-ended:
			working = false
		}
	}
	err := r.rest()
	for _, c := range r.touched {
		r.close(c)
	}
	return errors.Join(err, r.flush())
}

// rest takes the results that are on the server already. What does not come soon stays for the next run.
func (r *run) rest() error {
	for {
		if err := r.flush(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		state, err := r.queue.State(ctx)
		if err != nil || state.Results == 0 {
			return nil
		}
		m, err := r.queue.Next(ctx)
		if err != nil {
			return nil
		}
		if err := r.takeAll(m); err != nil {
			return err
		}
	}
}

func (r *run) note(s string) {
	if len(r.notes) < mostNotes {
		r.notes = append(r.notes, s)
	}
	r.Log.Warn("note", "text", s)
}
