package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Config configures [Run]. Folder, Conn and Digests are required; the other fields have defaults.
type Config struct {
	Folder   *folder.Folder
	Conn     *queue.Conn
	Epoch    uint64            // number of this leadership of the sweep; 0: 1
	Keep     bool              // results stay on the server, for another coordinator to go on from them
	Priority int               // workers run jobs of higher priorities first
	Weight   float64           // share of the workers' time among sweeps of the same priority; 0: 1
	Slots    int               // expected number of slots that work at the same time; 0: 1
	Digests  map[string]string // identities of plugins and built-in algorithms, by trial.Cell.Code
	Workers  <-chan struct{}   // closed when the workers of this process have ended; nil: there are none
	Progress func(Progress)    // called about five times a second; nil: never
	Log      *slog.Logger      // nil: silent
	Meter    *Meter            // counters of the run's events; nil: none
	Facts    map[string]string // facts about this run, for the manifest
	Cache    *cache.Cache      // outcomes kept across sweeps; nil: none
	Budget   Budget            // limit on trials or time; zero: none
	Looks    float64           // share of each cell's trials to look at a second time, and at least 8; 0: none

	Healing time.Duration // between comparisons with the jobs that the server has; 0: 1 s
}

// fsyncEvery is the longest time that a result waits for the disk.
const fsyncEvery = 100 * time.Millisecond

// Run brings the sweep to its end, or as far as ctx and the budget allow, and writes the result
// files unless it was interrupted. Whatever happens, the outcomes that came are in the folder's
// ledger. It is no error that ctx ends.
func Run(ctx context.Context, c Config) (*Summary, error) {
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	if err = r.recover(); err == nil {
		err = r.coordinate(ctx, r.work)
	}
	if err != nil && !ended(ctx, err) {
		return nil, err
	}
	return r.finish(ctx.Err() != nil)
}

// ended reports whether an error only says that ctx has ended.
func ended(ctx context.Context, err error) bool { return ctx.Err() != nil && errors.Is(err, ctx.Err()) }

// run is one run of a sweep. It and its parts belong to one goroutine.
type run struct {
	Config
	grid     *grid
	tally    *tally
	journal  *journal
	crew     *crew
	jobs     *dispatcher
	intake   *intake
	progress *progress
	looks    *looks

	codeChecked bool   // outcomes of other plugin files were compared
	limited     string // why the result that is read is partial; "" where one is made
}

func newRun(c Config) (*run, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Meter == nil {
		c.Meter = &Meter{}
	}
	c.Healing, c.Epoch = cmp.Or(c.Healing, time.Second), cmp.Or(c.Epoch, 1)
	grid, err := newGrid(c.Folder.Plan)
	if err != nil {
		return nil, err
	}
	r := &run{Config: c, grid: grid, tally: newTally(), journal: &journal{log: c.Log}}
	r.crew = &crew{
		lead: queue.Lead{Sweep: c.Folder.ID, Epoch: c.Epoch}, digests: c.Digests, journal: r.journal,
		priority: c.Priority, weight: c.Weight, alone: c.Workers != nil && c.Conn != nil && c.Conn.Embedded(),
		healing: c.Healing, members: map[string]*member{}, errands: map[string]*errand{}, strange: map[string]stranger{},
		needs: needsOf(grid.cells, c.Digests), meter: c.Meter,
	}
	r.jobs = &dispatcher{
		grid: grid, crew: r.crew, tally: r.tally,
		budget: c.Budget,
		jobs:   map[*job]bool{}, doubts: map[doubt]*job{}, slots: max(1, c.Slots),
	}
	r.intake = &intake{
		grid: grid, jobs: r.jobs, tally: r.tally, journal: r.journal, files: pluginFiles{c.Digests, c.Folder},
		ledger: c.Folder.Ledger, alarms: map[string]bool{}, clashes: map[sizeID]string{}, meter: c.Meter,
		workers: map[string]*schemas.ManifestWorker{},
	}
	r.looks = &looks{
		grid: grid, folder: c.Folder, ledger: c.Folder.Ledger, share: c.Looks, record: c.Folder.ReadLooks(),
		apart: !r.crew.alone,
	}
	r.progress = &progress{
		grid: grid, tally: r.tally, jobs: r.jobs, looks: r.looks, intake: r.intake, began: time.Now(),
	}
	return r, nil
}

// recover feeds the cells with the outcomes of the ledger: what is left to do is the plan minus
// these.
func (r *run) recover() error {
	if r.Folder.Redo {
		if err := r.looks.forgetForeign(r.intake.files); err != nil {
			return err
		}
		if err := dropForeign(r.grid, r.intake.ledger, r.intake.files); err != nil {
			return err
		}
	}
	known, err := r.load()
	if err != nil {
		return err
	}
	r.tally.known += known
	r.tally.profile = r.recordedProfile()
	return nil
}

// load feeds the cells with what the ledger has, and raises its alarms. It returns the number of
// outcomes.
func (r *run) load() (outcomes int64, err error) {
	if outcomes, err = r.grid.load(r.intake.ledger); err != nil {
		return 0, err
	}
	r.grid.loadRefusals(r.intake.ledger, r.admitted())
	for _, x := range r.Folder.Report.Conflicts {
		if c, ok := r.grid.byKey[x.Cell]; ok && r.intake.ledger.Has(x.Cell, x.N, x.Repetition) {
			r.intake.alarms[c.TrialID(x.N, x.Repetition)] = true
		}
	}
	for _, x := range r.Folder.Report.Clashes {
		if c, ok := r.grid.byKey[x.Cell]; ok {
			r.intake.addClash(c, &x)
		}
	}
	r.grid.sort()
	return outcomes, nil
}

// recordedProfile returns the float profile of the recorded outcomes and refusals, which all of them
// share; "" if there are none.
func (r *run) recordedProfile() (profile string) {
	for _, c := range r.grid.cells {
		for _, x := range r.intake.ledger.Refusals(c.Key) {
			profile = x.Profile
		}
	}
	for _, o := range r.intake.ledger.Origins() {
		if _, ok := r.grid.byKey[o.Cell]; ok {
			profile = o.Profile
		}
	}
	return profile
}

// coordinate takes up the sweep's queue, calls work and closes the queue. Jobs that stay there if that
// fails are removed by the sweep's next run.
func (r *run) coordinate(ctx context.Context, work func(context.Context) error) (err error) {
	if r.crew.queue, err = r.Conn.Coordinate(ctx, r.crew.lead); err != nil {
		return err
	}
	r.crew.offer(false)
	err = work(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	r.crew.offer(true)
	if e := errors.Join(r.forgetResults(closing), r.crew.queue.Close(closing)); e != nil {
		r.journal.note(fmt.Sprintf("the queue was not cleared: %v", e))
	}
	return err
}

// forgetResults removes the results from the server that are on the disk here.
func (r *run) forgetResults(ctx context.Context) error {
	if r.Keep || r.intake.synced == 0 {
		return nil
	}
	return r.crew.queue.Forget(ctx, r.intake.synced)
}

// errClosed reports that the connection to the server is gone for good.
var errClosed = errors.New("results ended: the connection to the queue was closed")

// errWorkers reports that nobody is left who would work.
var errWorkers = errors.New("the workers of this process have ended; their messages say why")

// workersEnded returns ctx's error if it has ended, and errWorkers otherwise.
func workersEnded(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errWorkers
}

// work works until every cell is decided and looked at, the budget is spent or ctx ends. The
// outcomes that came by then are on the disk afterwards.
func (r *run) work(ctx context.Context) error {
	err := r.prepare(ctx)
	if err == nil {
		err = r.loop(ctx)
	}
	if err == nil {
		err = r.lookAgain(ctx)
	}
	switch {
	case err == nil:
		return r.intake.flush()
	case ended(ctx, err):
		return r.drain()
	case errors.Is(err, errWorkers):
		return errors.Join(err, r.drain())
	}
	return err
}

// prepare takes in the results of earlier leaders, checks the outcomes of other plugin files and takes what the cache
// has.
func (r *run) prepare(ctx context.Context) error {
	if r.Keep {
		if err := r.takeOver(ctx); err != nil {
			return err
		}
	}
	if err := r.checkCode(ctx); err != nil {
		return err
	}
	profile := r.tally.profile
	if profile == "" && r.Workers != nil {
		profile = trial.FloatProfile() // the workers of this process will bring it
	}
	return r.cacheUse().load(ctx, profile)
}

// takeOver takes in the results that earlier leaders have left on the server. The budget has paid for them.
func (r *run) takeOver(ctx context.Context) error {
	tick := time.NewTicker(fsyncEvery)
	defer tick.Stop()
	for {
		last, err := r.crew.queue.Last(ctx)
		if err != nil {
			return err
		}
		if r.crew.read >= last {
			break
		}
		for waiting := true; waiting; {
			select {
			case m := <-r.crew.queue.Results():
				if err := r.intake.accept(m); err != nil {
					return err
				}
			case <-tick.C: // the last one may have been removed meanwhile
				waiting = false
			case <-r.crew.queue.Closed():
				return errClosed
			case <-ctx.Done():
				return ctx.Err()
			}
		}
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

func (r *run) cacheUse() cacheUse {
	return cacheUse{cache: r.Cache, intake: r.intake, looks: r.looks, seed: r.Folder.Plan.Seed}
}

// loop hands out jobs and takes in results until every cell is decided or the budget is spent.
func (r *run) loop(ctx context.Context) error {
	tick := time.NewTicker(fsyncEvery)
	defer tick.Stop()
	healed, shown := time.Now(), time.Time{}
	for {
		r.grid.sort()
		if now := time.Now(); r.Progress != nil && (r.grid.open == 0 || now.Sub(shown) > 200*time.Millisecond) {
			shown = now
			r.Progress(r.progress.look(now))
		}
		if r.grid.open == 0 {
			return nil
		}
		if err := r.jobs.dispatch(ctx); err != nil {
			return err
		}
		if r.jobs.spent && len(r.jobs.jobs) == 0 {
			return nil
		}
		if err := r.wait(ctx, tick.C, &healed); err != nil {
			return err
		}
	}
}

// wait waits for the next event and deals with it. healed is when the server was last asked for its
// state.
func (r *run) wait(ctx context.Context, tick <-chan time.Time, healed *time.Time) error {
	queue := r.crew.queue
	select {
	case <-ctx.Done():
		return ctx.Err()
	case m := <-queue.Results():
		return r.intake.acceptAll(m, queue.Results())
	case said := <-queue.Heartbeats():
		r.crew.hear(said, time.Now())
		return nil
	case <-queue.Closed():
		return errClosed
	case <-r.Workers:
		return workersEnded(ctx)
	case now := <-tick:
		if err := r.intake.flush(); err != nil {
			return err
		}
		if now.Sub(*healed) < r.Healing {
			return nil
		}
		*healed = now
		if err := r.forgetResults(ctx); err != nil {
			r.journal.note(err.Error())
		}
		return r.jobs.heal(ctx, now)
	}
}

// drain takes in what the workers of this process still finish, and hands out nothing more.
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
		case m := <-r.crew.queue.Results():
			if err := r.intake.accept(m); err != nil {
				return err
			}
		case <-tick.C:
			if err := r.intake.flush(); err != nil {
				return err
			}
		case <-ended:
			working = false
		}
	}
	err := r.drainServer()
	r.grid.sort()
	return errors.Join(err, r.intake.flush())
}

// drainServer takes in the results that are on the server already. What does not come within a
// second stays there for the next run.
func (r *run) drainServer() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	last, err := r.crew.queue.Last(ctx)
	if err != nil {
		return nil
	}
	for r.crew.read < last {
		select {
		case m := <-r.crew.queue.Results():
			if err := r.intake.accept(m); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// newRerun returns what runs recorded trials again and calls use once for each.
func (r *run) newRerun(blocks []*rerunBlock, profile string, use useRow) *rerun {
	return &rerun{
		crew: r.crew, intake: r.intake, workers: r.Workers, healing: r.Healing,
		waiting: blocks, profile: profile, use: use,
	}
}

// runAgain runs recorded trials again and calls use once for each.
func (r *run) runAgain(ctx context.Context, blocks []*rerunBlock, profile string, use useRow) error {
	return r.newRerun(blocks, profile, use).run(ctx)
}
