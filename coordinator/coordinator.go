package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/shatterlab/shatter/pipeline"
	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Config is what a sweep's run needs. Folder, Conn, Algorithms and Digests have no default.
type Config struct {
	Folder     *Folder
	Conn       *bus.Conn
	Slots      int                 // that will work at the same time, as far as is known
	Algorithms pipeline.Algorithms // asked about sample sizes
	Digests    map[string]string   // SHA-256 of each plugin file by its path; the built-in one under ""
	Workers    <-chan struct{}     // closed when the workers of this process have ended; nil: there are none
	Progress   func(Progress)      // called about five times a second; nil: not
	Log        *slog.Logger        // nil: silent
	Facts      map[string]string   // about this run, for the manifest

	// JobSizes draws the sizes of jobs at random, and Reverse takes results in reversed order: neither may change a result.
	JobSizes *rand.Rand
	Reverse  bool
}

const (
	fsyncEvery = 100 * time.Millisecond
	fsyncBytes = 4 << 20
	healEvery  = time.Second
	lease      = 30 * time.Second
	mostTries  = 5 // times that a job is queued before its missing trials are given up as lost
)

// Run brings the sweep to its end, or as far as ctx allows, and writes the result files when it is there. What was done is in
// the folder's ledger whatever happens.
func Run(ctx context.Context, c Config) (*Summary, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	if err := r.recover(ctx); err != nil {
		return nil, err
	}
	r.queue, err = c.Conn.Coordinate(ctx, c.Folder.ID, r.slots)
	if err != nil {
		return nil, err
	}
	err = r.work(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = errors.Join(err, r.queue.Close(closing))
	if err != nil {
		return nil, err
	}
	return r.finish(ctx.Err() != nil)
}

// run is one run of a sweep. It belongs to one goroutine.
type run struct {
	Config
	ledger *ledger.Ledger
	queue  *bus.Queue
	cells  []*cell
	byKey  map[pipeline.Key]*cell
	ready  cellQueue // cells that may want something
	jobs   map[string]*job
	slots  int // that work, as far as is known
	serial int // of the last job

	unsynced []*bus.Message // in the ledger's file, not yet on the disk
	bytes    int
	profile  string
	began    time.Time
	counts   counts
	open     int // cells not done
	notes    []string
	alarms   []string
}

func newRun(c Config) (*run, error) {
	r := &run{
		Config: c, ledger: c.Folder.Ledger, byKey: map[pipeline.Key]*cell{}, jobs: map[string]*job{}, slots: max(1, c.Slots),
		began: time.Now(), counts: newCounts(), open: len(c.Folder.Plan.Cells),
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
				c.size(n).taken.set(o.Repetition)
				c.Add(n, int(o.Repetition), c.outcome(o.Status, o.Error))
				r.counts.known++
				c.trials++
			}
		}
		if err := r.advance(ctx, c); err != nil {
			return err
		}
	}
	for _, o := range r.ledger.Origins() {
		if _, ok := r.byKey[o.Cell]; ok {
			r.profile = o.Profile // all of them have the same
		}
	}
	return nil
}

// outcome is a trial's outcome in the eyes of the search.
func (c *cell) outcome(status uint8, e float64) estimate.Outcome {
	switch {
	case status == ledger.Failed:
		return estimate.Failed
	case ledger.Success(status, e, c.Above, c.Alpha):
		return estimate.Success
	}
	return estimate.Miss
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
	if (c.Done() || c.refused != "") && !c.done {
		c.done = true
		r.open--
	}
	if !c.done {
		r.ready.push(c)
	}
	return nil
}

// ask is the algorithm's answer to one sample size, asked once.
func (r *run) ask(ctx context.Context, c *cell, n int64) (answer, error) {
	if a, ok := c.answers[n]; ok {
		return a, nil
	}
	res, err := r.Algorithms.Check(ctx, c.Plugin, c.Setting(n))
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

// work is the loop: hand out, take back, until every cell is decided or ctx ends.
func (r *run) work(ctx context.Context) error {
	if err := r.recheck(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(fsyncEvery)
	defer tick.Stop()
	healed, shown := time.Now(), time.Time{}
	for r.open > 0 {
		if err := r.dispatch(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return r.drain()
		case m := <-r.queue.Results():
			if err := r.takeAll(ctx, m); err != nil {
				return err
			}
		case <-r.queue.Hungry():
		case <-r.Workers:
			if ctx.Err() == nil {
				return errors.New("the workers of this process have ended; their messages say why")
			}
			return r.drain()
		case now := <-tick.C:
			if err := r.flush(); err != nil {
				return err
			}
			if now.Sub(healed) >= healEvery {
				healed = now
				if err := r.heal(ctx, now); err != nil {
					return err
				}
			}
		}
		if now := time.Now(); r.Progress != nil && now.Sub(shown) > 200*time.Millisecond {
			shown = now
			r.Progress(r.snapshot(now))
		}
	}
	if r.Progress != nil {
		r.Progress(r.snapshot(time.Now()))
	}
	return r.flush()
}

// takeAll takes a message and all that wait behind it, so that one search for work serves them all.
func (r *run) takeAll(ctx context.Context, m *bus.Message) error {
	batch := []*bus.Message{m}
	for len(batch) < 64 {
		select {
		case m := <-r.queue.Results():
			batch = append(batch, m)
			continue
		default:
		}
		break
	}
	for i := range batch {
		if r.Reverse {
			i = len(batch) - 1 - i
		}
		if err := r.take(ctx, batch[i]); err != nil {
			return err
		}
	}
	return nil
}

// take verifies one result message, adds it to the ledger and feeds its cell.
func (r *run) take(ctx context.Context, m *bus.Message) error {
	if m == nil {
		return errors.New("results ended: the connection to the queue was closed")
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
	r.record(c, verdict)
	if r.bytes >= fsyncBytes {
		if err := r.flush(); err != nil {
			return err
		}
	}
	return r.advance(ctx, c)
}

// mine finds the cell of a result message, or says why the message is not for this run.
func (r *run) mine(m *bus.Message) (c *cell, drop string) {
	b, err := ledger.Decode(m.Data)
	if err != nil {
		return nil, err.Error()
	}
	c, ok := r.byKey[b.Cell]
	switch {
	case b.Sweep != r.Folder.ID:
		return nil, fmt.Sprintf("it is of the sweep %q", b.Sweep)
	case !ok:
		return nil, "the sweep file no longer has its cell"
	case r.profile == "":
		r.profile = b.Profile
	case r.profile != b.Profile:
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
		r.alarms = append(r.alarms, fmt.Sprintf("trial %s has two different outcomes; both are kept in the ledger", c.TrialID(b.N, conflict.Repetition)))
	}
	for _, i := range v.Lost {
		r.finished(c, b.N, b.Repetition[i])
		r.counts.failure(c, b.N, b.Repetition[i], text(b.Kind, i), text(b.Reason, i))
		c.Lost(b.N, int(b.Repetition[i]), text(b.Reason, i))
		c.lost++
	}
	for _, i := range v.New {
		rep := b.Repetition[i]
		size.taken.set(rep)
		r.finished(c, b.N, rep)
		if b.Status[i] == ledger.Failed {
			r.counts.failure(c, b.N, rep, text(b.Kind, i), text(b.Reason, i))
		}
		c.Add(b.N, int(rep), c.outcome(b.Status[i], b.Error[i]))
	}
	r.counts.trials += int64(len(v.New))
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

// drain takes what the workers of this process still finish.
func (r *run) drain() error {
	ctx := context.Background()
	ended := r.Workers
	if ended == nil {
		now := make(chan struct{})
		close(now)
		ended = now
	}
	for {
		select {
		case m := <-r.queue.Results():
			if err := r.take(ctx, m); err != nil {
				return err
			}
		case <-ended:
			return errors.Join(r.rest(ctx), r.flush())
		}
	}
}

// rest takes the results that are on the server already.
func (r *run) rest(ctx context.Context) error {
	for {
		state, err := r.queue.State(ctx)
		if err != nil || state.Results <= len(r.unsynced) {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, time.Second)
		m, err := r.queue.Next(wait)
		cancel()
		if err != nil {
			return nil // what stays there is delivered to the next run
		}
		if err := r.take(ctx, m); err != nil {
			return err
		}
	}
}

func (r *run) note(s string) {
	const most = 1000
	if len(r.notes) < most {
		r.notes = append(r.notes, s)
	}
	r.Log.Warn("note", "text", s)
}
