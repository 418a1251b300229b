package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Config configures [Run]. Folder, Conn and Digests are required; the other fields have defaults.
// Run sets Term.Sweep, Cells and Note.
type Config struct {
	pool.Config
	Folder   *folder.Folder
	Keep     bool              // results stay on the server, so that another coordinator can continue from them
	Slots    int               // expected number of slots that work at the same time; 0: 1
	Progress func(Progress)    // called about five times a second; nil: never
	Facts    map[string]string // facts about this run, for the manifest
	Cache    *cache.Cache      // outcomes kept across sweeps; nil: none
	Budget   Budget            // limit on trials or time; zero: none
	Recheck  float64           // share of each cell's trials to recheck; 0: none
}

// Run works on the sweep until it is finished, the budget is spent, or ctx ends. It writes the
// result files unless ctx interrupted it. In every case the received outcomes are in the folder's
// ledger. The end of ctx is not an error.
func Run(ctx context.Context, c Config) (*Summary, error) {
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	if err = r.loadLedger(); err == nil {
		err = r.coordinate(ctx, r.work)
	}
	if err != nil && !isCancellation(ctx, err) {
		return nil, err
	}
	return r.finish(ctx.Err() != nil)
}

// isCancellation reports whether err is the error of ctx, which has ended.
func isCancellation(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// A state is shared by the parts of a run.
type state struct {
	grid    *grid
	tally   *tally
	journal *journal
	pool    *pool.Pool // nil: not open yet
	recheck *audit.Recheck
	code    audit.Code
}

// A run is one run of a sweep, and the pool's source of its trials. It and its parts belong to one
// goroutine.
type run struct {
	Config
	*state
	jobs     *scheduler
	intake   *intake
	progress *progress

	changes        []string  // changes of code whose outcomes are as before, in words
	codeChecked    bool      // outcomes of other code have been compared
	resultsDeleted time.Time // when results were last removed from the server
}

func newRun(c Config) (*run, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	grid, err := newGrid(c.Folder.Plan)
	if err != nil {
		return nil, err
	}
	s := &state{
		grid: grid, journal: &journal{log: c.Log}, recheck: audit.NewRecheck(c.Folder, c.Recheck),
		tally: &tally{failures: map[string]*Failure{}, warnings: map[string]*schemas.Warnings{}},
		code:  audit.Code{Folder: c.Folder, Today: c.Digests, Environments: c.Environments},
	}
	r := &run{Config: c, state: s}
	r.Term.Sweep, r.Cells, r.Note = c.Folder.ID, c.Folder.Plan.Cells, r.journal.note
	r.jobs = &scheduler{
		state: s, budget: c.Budget, jobs: map[*pool.Request]*cell{}, doubts: map[doubt]doubtful{}, slots: max(1, c.Slots),
	}
	r.intake = &intake{
		state: s, jobs: r.jobs, ledger: c.Folder.Ledger, meter: c.Meter,
		environments: map[string][]string{}, workers: map[string]*schemas.ManifestWorker{},
	}
	for _, o := range c.Folder.Ledger.Origins() {
		r.intake.knowEnvironment(o.Digest)
	}
	r.progress = &progress{state: s, jobs: r.jobs, intake: r.intake, began: time.Now()}
	return r, nil
}

// loadLedger feeds the cells with the outcomes in the ledger: the remaining work is the plan minus
// these outcomes.
func (r *run) loadLedger() error {
	if r.Folder.Redo {
		if err := r.code.Drop(r.recheck); err != nil {
			return err
		}
	}
	known, err := r.load()
	r.tally.known += known
	return err
}

// load feeds the cells with the outcomes in the ledger and returns their number.
func (r *run) load() (outcomes int64, err error) {
	if outcomes, err = r.grid.load(r.intake.ledger); err != nil {
		return 0, err
	}
	r.grid.loadRefusals(r.intake.ledger, r.code.Admits())
	r.grid.processChanged()
	return outcomes, nil
}

// profile returns the float profile of the sweep; "": unknown.
func (r *run) profile() string {
	if r.pool != nil {
		return r.pool.Profile
	}
	return r.Folder.Profile()
}

// coordinate opens the pool and calls work.
func (r *run) coordinate(ctx context.Context, work func(context.Context) error) error {
	recorded := r.profile()
	return pool.With(ctx, r.Config.Config, func(p *pool.Pool) error {
		r.pool = p
		p.SetProfile(recorded)
		p.Bar(r.recheck.Quarantined()...)
		err := work(ctx)
		if e := r.deleteResults(context.WithoutCancel(ctx)); e != nil {
			r.journal.note(e.Error())
		}
		return err
	})
}

// deleteResults removes results from the server that are already on the local disk.
func (r *run) deleteResults(ctx context.Context) error {
	if r.Keep || r.intake.synced == 0 {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return r.pool.Queue.DeleteResults(within, r.intake.synced)
}

// work works until every cell is decided and rechecked, the budget is spent, or ctx ends. It then
// syncs all received outcomes to the disk.
func (r *run) work(ctx context.Context) error {
	err := r.prepare(ctx)
	if err == nil {
		err = r.pool.Run(ctx, r)
	}
	if err == nil {
		err = r.recheckTrials(ctx)
	}
	switch {
	case err == nil:
		return r.intake.flush()
	case isCancellation(ctx, err), errors.Is(err, pool.ErrWorkers):
		drained := r.pool.Drain(r)
		r.grid.processChanged()
		drained = errors.Join(drained, r.intake.flush())
		if errors.Is(err, pool.ErrWorkers) {
			return errors.Join(err, drained)
		}
		return drained
	}
	return err
}

// prepare accepts the results of earlier leaders, checks the outcomes of other code, and copies
// outcomes from the cache.
func (r *run) prepare(ctx context.Context) error {
	if r.Keep {
		if err := r.takeOver(ctx); err != nil {
			return err
		}
	}
	if err := r.checkCode(ctx); err != nil {
		return err
	}
	profile := r.profile()
	if profile == "" && r.Workers != nil {
		profile = trial.FloatProfile() // profile of the workers of this process
	}
	return cacheUse{r.intake, r.Cache}.load(ctx, profile)
}

// takeOver accepts the results that earlier leaders have left on the server. They count against the
// budget.
func (r *run) takeOver(ctx context.Context) error {
	if err := r.pool.CatchUp(ctx, r); err != nil {
		return err
	}
	if b := &r.Budget; b.Trials > 0 {
		b.Trials = max(1, b.Trials-r.tally.trials)
	} else if b.Time > 0 {
		b.Time = max(1, b.Time-time.Duration(r.tally.seconds*float64(time.Second)))
	}
	r.jobs.budget = r.Budget
	r.tally.known, r.tally.trials, r.tally.seconds, r.tally.plugin = r.tally.known+r.tally.trials, 0, 0, 0
	return r.intake.flush()
}

// checkCode compares outcomes that other code has made with the outcomes of the present code,
// before anything new is run. With Folder.Redo they have been dropped instead.
func (r *run) checkCode(ctx context.Context) error {
	sample, replaced, err := r.code.Sample()
	if err != nil {
		return err
	}
	was, here := r.profile(), trial.FloatProfile()
	if (len(sample) > 0 || r.grid.open > 0) && r.Workers != nil && was != "" && was != here {
		return &audit.ProfileError{Dir: r.Folder.Dir, Recorded: was, Here: here} // the workers would refuse every job
	}
	if len(sample) > 0 {
		trials := 0
		for _, x := range sample {
			trials += x.Len()
		}
		r.journal.note(fmt.Sprintf("algorithms have changed: %d recorded trials are run again and compared", trials))
		if err := r.code.Check(ctx, r.pool, r, sample); err != nil {
			return err
		}
		r.changes = r.code.Report(sample)
		for _, line := range r.changes {
			r.journal.note(line)
		}
	}
	r.codeChecked = true
	if len(replaced) == 0 {
		return nil
	}
	return r.Folder.KeepCompared(replaced)
}

// recheckTrials runs the missing rechecks, as far as the budget allows. It discards and repeats the
// outcomes of workers that compute wrongly.
func (r *run) recheckTrials(ctx context.Context) error {
	for {
		wrong, err := r.recheckOnce(ctx)
		if err != nil || len(wrong) == 0 {
			return err
		}
		if err := r.quarantine(wrong); err != nil {
			return err
		}
		if err := r.pool.Run(ctx, r); err != nil {
			return err
		}
	}
}

// quarantine discards the outcomes of workers and assigns them no more jobs.
func (r *run) quarantine(workers []string) error {
	for _, name := range workers {
		r.journal.note(fmt.Sprintf("worker %s is in quarantine: its outcomes differ from those of all others; they "+
			"are dropped and run again", name))
	}
	r.pool.Bar(workers...)
	err := r.intake.ledger.Drop(func(b *ledger.Batch) bool { return slices.Contains(workers, b.Worker) })
	if err != nil {
		return err
	}
	grid, err := newGrid(r.Folder.Plan)
	if err != nil {
		return err
	}
	*r.grid = *grid
	clear(r.jobs.jobs)
	clear(r.jobs.doubts)
	_, err = r.load()
	for _, c := range r.grid.cells {
		c.fresh = c.trials > 0
	}
	return err
}

// recheckOnce runs the missing rechecks and returns the workers that are in quarantine because of
// them.
func (r *run) recheckOnce(ctx context.Context) (quarantined []string, err error) {
	r.recheck.Choose(r.grid.decided())
	profile, here := r.profile(), trial.FloatProfile()
	if r.Workers != nil && profile != here {
		r.recheck.Skip(fmt.Sprintf("their float profile is %s, this machine's is %s", profile, here))
		return nil, nil
	}
	trials, seconds := int64(math.MaxInt64), math.Inf(1)
	if r.Budget.Trials > 0 {
		trials = r.Budget.Trials - r.jobs.handed
	}
	if r.Budget.Time > 0 {
		seconds = r.Budget.Time.Seconds() - r.tally.seconds
	}
	r.recheck.Limit(trials, seconds)
	return r.recheck.Run(ctx, r.pool, r, r.show)
}

// decided returns the decided cells, for the recheck.
func (g *grid) decided() (cells []audit.Cell) {
	for _, c := range g.cells {
		if c.done && c.Refused == "" {
			cells = append(cells, audit.Cell{
				Cell: c.Cell, Index: c.index, Points: c.Result().Points, Seconds: c.secondsPerTrial,
			})
		}
	}
	return cells
}

// Done implements [pool.Source].
func (r *run) Done() (bool, error) {
	r.grid.processChanged()
	if r.grid.open == 0 {
		r.progress.shown = time.Time{}
	}
	r.show()
	return r.grid.open == 0 || r.jobs.spent && len(r.jobs.jobs) == 0, nil
}

// show reports the progress, at most five times per second.
func (r *run) show() {
	if now := time.Now(); r.Progress != nil && now.Sub(r.progress.shown) > 200*time.Millisecond {
		r.progress.shown = now
		r.Progress(r.progress.snapshot(now))
	}
}

// Next implements [pool.Source].
func (r *run) Next() (*pool.Request, error) { return r.jobs.next() }

// Accept implements [pool.Source].
func (r *run) Accept(m *queue.Message, x *pool.Request) error { return r.intake.accept(m, x) }

// Tick implements [pool.Source].
func (r *run) Tick(ctx context.Context) error {
	r.jobs.cancelDecided()
	if err := r.intake.flush(); err != nil {
		return err
	}
	if now := time.Now(); now.Sub(r.resultsDeleted) >= time.Second {
		r.resultsDeleted = now
		if err := r.deleteResults(ctx); err != nil && ctx.Err() == nil {
			r.journal.note(err.Error())
		}
	}
	return nil
}
