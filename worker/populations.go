package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// unusedFor is how long an opened problem stays open while no job uses it.
const unusedFor = 2 * time.Minute

// A FaultError says why this worker cannot run a job: the data of its problem is not to be had, the
// disk is full, or there is no memory. It says nothing about the job's trials; another worker, or
// this one later, may run them.
type FaultError struct {
	What string // that cannot be used, in words
	Err  error
}

func (e *FaultError) Error() string { return fmt.Sprintf("open %s: %v", e.What, e.Err) }

func (e *FaultError) Unwrap() error { return e.Err }

// populations holds the opened problems of this worker, which its slots share: a data file is
// fetched, read and laid out in shared memory once, by the first slot that needs it, and only those
// that need the same one wait. What no job uses is closed after some time, or when it takes more
// memory than opened problems may.
type populations struct {
	Config
	most int64 // bytes that opened problems may take before unused ones are closed

	mu    sync.Mutex
	open  map[trial.Key]*population
	slots []*slot     // that have run a job
	later *time.Timer // calls tidy and stopIdle
	ended bool
}

// population is an opened problem and, for real data, the shared table of its rows.
type population struct {
	*problem.Problem
	public *pluginv1.Problem // what algorithms may know
	rows   *dataset.Memory   // nil for laws

	opened chan struct{} // closed when it is open, or err is set
	err    error
	users  int       // jobs that use it, or wait for it
	last   time.Time // when a job used it last
}

func newPopulations(c Config) *populations {
	return &populations{Config: c, most: memoryShare(), open: map[trial.Key]*population{}}
}

// get returns the opened problem of a data key, which release gives back. The error is a
// *FaultError, or that of ctx. A failure is not remembered: the file may come later.
func (ps *populations) get(ctx context.Context, key trial.Key, p schemas.Problem) (*population, error) {
	for {
		ps.mu.Lock()
		pop, ok := ps.open[key]
		if !ok {
			pop = &population{opened: make(chan struct{}), users: 1}
			ps.open[key] = pop
			ps.mu.Unlock()
			if err := ps.fill(ctx, pop, key, p); err != nil {
				return nil, err
			}
			return pop, nil
		}
		pop.users++
		ps.mu.Unlock()
		select {
		case <-pop.opened:
		case <-ctx.Done():
			ps.release(pop)
			return nil, context.Cause(ctx)
		}
		if pop.err == nil {
			return pop, nil
		}
		if fault := new(FaultError); errors.As(pop.err, &fault) {
			return nil, pop.err
		} // else the job of the slot that opened it was cancelled
	}
}

// fill opens the problem of a key for all who wait for it.
func (ps *populations) fill(ctx context.Context, pop *population, key trial.Key, p schemas.Problem) error {
	opened, err := ps.read(ctx, key, p)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil:
		what := "problem"
		if _, digest := p.File(); digest != "" {
			what = fmt.Sprintf("data %.12s", digest)
		}
		err = &FaultError{What: what, Err: err}
	}
	ps.mu.Lock()
	if pop.err = err; err != nil {
		delete(ps.open, key)
	} else {
		pop.Problem, pop.public, pop.rows = opened, opened.Public(), opened.Table()
	}
	ps.mu.Unlock()
	close(pop.opened)
	ps.tidy()
	return err
}

// read opens a problem, and makes the rows of data a table.
func (ps *populations) read(ctx context.Context, key trial.Key, p schemas.Problem) (*problem.Problem, error) {
	opened, err := ps.unsealed(ctx, p)
	if err != nil {
		return nil, err
	}
	return opened, opened.Seal(func(rows int) []int32 { return tableOrder(key, rows) })
}

// unsealed takes a problem that was opened before, or fetches its file and opens it.
func (ps *populations) unsealed(ctx context.Context, p schemas.Problem) (*problem.Problem, error) {
	if ps.Opened != nil {
		if opened := ps.Opened(p); opened != nil {
			return opened, nil
		}
	}
	path := ""
	if _, digest := p.File(); digest != "" {
		file, err := ps.file(ctx, digest)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // once it is read
		path = file.Path
	}
	return problem.Open(p, path)
}

// file opens a data file, which it fetches if need be.
func (ps *populations) file(ctx context.Context, digest string) (*queue.CachedFile, error) {
	if path, ok := ps.Files[digest]; ok {
		return &queue.CachedFile{Path: path}, nil
	}
	if ps.Cache == "" {
		return nil, errors.New("not among this worker's files")
	}
	cache := queue.FileCache{Dir: ps.Cache, Quota: ps.CacheSize}
	return cache.Open(ctx, ps.Conn.Files, digest)
}

// release gives back what get has returned.
func (ps *populations) release(pop *population) {
	ps.mu.Lock()
	pop.users--
	pop.last = time.Now()
	ps.mu.Unlock()
	ps.tidy()
}

// tidy closes problems that no job uses: those that were not used for some time, and the least
// recently used ones while all take too much memory. It is called again later.
func (ps *populations) tidy() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.ended {
		return
	}
	total := int64(0)
	for _, pop := range ps.open {
		total += pop.bytes()
	}
	for {
		key, pop := ps.leastUsed()
		if pop == nil || time.Since(pop.last) < unusedFor && total <= ps.most {
			break
		}
		total -= pop.bytes()
		ps.shut(key, pop)
	}
	switch {
	case ps.later == nil:
		ps.later = time.AfterFunc(unusedFor, func() { ps.tidy(); ps.stopIdle() })
	case len(ps.open) > 0:
		ps.later.Reset(unusedFor)
	}
}

// leastUsed returns the problem that no job has used for longest; nil if all are in use.
func (ps *populations) leastUsed() (key trial.Key, least *population) {
	for k, pop := range ps.open {
		if pop.users == 0 && (least == nil || pop.last.Before(least.last)) {
			key, least = k, pop
		}
	}
	return key, least
}

func (ps *populations) shut(key trial.Key, pop *population) {
	delete(ps.open, key)
	if pop.Problem != nil {
		_ = pop.Close() // the memory goes with the process in any case
	}
}

// bytes returns about the memory that an opened problem takes.
func (p *population) bytes() int64 {
	if p.Problem == nil {
		return 0 // not open yet
	}
	return int64(p.Summary().Rows) * int64(8*p.Dim()+13)
}

// watch makes stopIdle look after a slot.
func (ps *populations) watch(s *slot) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.slots = append(ps.slots, s)
}

// stopIdle stops the processes of slots without a job that were given the table of a problem that is
// closed, which they keep in memory.
func (ps *populations) stopIdle() {
	ps.mu.Lock()
	open, slots := map[string]bool{"": true}, slices.Clone(ps.slots)
	for key := range ps.open {
		open[key.String()] = true
	}
	ps.mu.Unlock()
	for _, s := range slots {
		if s.busy.TryLock() {
			s.stopWhere(func(k processKind) bool { return !open[k.data] })
			s.busy.Unlock()
		}
	}
}

// close closes all problems. No job runs any more.
func (ps *populations) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.ended = true
	if ps.later != nil {
		ps.later.Stop()
	}
	for key, pop := range ps.open {
		ps.shut(key, pop)
	}
}

// tableOrder returns the order of the rows of the shared table of a data key, which says nothing
// about their labels, whatever the order of the file. All trials have it in common, for a table of
// its own would cost a trial more than its answers.
func tableOrder(key trial.Key, rows int) []int32 {
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32(i)
	}
	shuffle(order, rand.New(rand.NewPCG(trial.Seed(key, trial.Order, 0, 0))))
	return order
}
