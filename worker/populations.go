package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// maxIdle is the time for which a problem stays open without use.
const maxIdle = 2 * time.Minute

// An OpenError reports why this worker could not open a job's problem, such as missing data, a full disk or lack of
// memory. Another worker, or this one later, may succeed.
type OpenError struct {
	What string // the problem or data file, in words
	Err  error
}

func (e *OpenError) Error() string { return fmt.Sprintf("open %s: %v", e.What, e.Err) }

func (e *OpenError) Unwrap() error { return e.Err }

// populations holds the opened problems of this worker, which its slots share. The first slot that needs a data file
// fetches it and lays it out in shared memory; slots that need the same file wait, others do not. An unused problem
// is closed after maxIdle, or earlier if the open problems take more than maxBytes.
type populations struct {
	Config
	maxBytes int64 // size of the open problems above which unused ones are closed

	mu     sync.Mutex
	open   map[trial.Key]*population
	slots  []*slot     // slots that have run a job
	timer  *time.Timer // calls closeUnused and stopStaleProcesses
	closed bool
}

// A population is an opened problem and, for real data, the shared table of its rows.
type population struct {
	*problem.Problem
	public *pluginv1.Problem // the part of the problem that algorithms may know
	rows   *dataset.Table    // nil for distributions

	opened   chan struct{} // closed once the problem is open or err is set
	err      error
	users    int       // number of jobs that use it or wait for it
	lastUsed time.Time // time of the last use
}

func newPopulations(c Config) *populations {
	return &populations{Config: c, maxBytes: maxProblemBytes(), open: map[trial.Key]*population{}}
}

// get returns the opened problem of a data key. The caller must call release after use. The error is an *OpenError or
// that of ctx. The next call tries again.
func (ps *populations) get(ctx context.Context, key trial.Key, p schemas.Problem) (*population, error) {
	for {
		ps.mu.Lock()
		pop, ok := ps.open[key]
		if !ok {
			pop = &population{opened: make(chan struct{}), users: 1}
			ps.open[key] = pop
			ps.mu.Unlock()
			if err := ps.openFor(ctx, pop, key, p); err != nil {
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
		if fault := new(OpenError); errors.As(pop.err, &fault) {
			return nil, pop.err
		} // the job that opened the problem was cancelled: try again
	}
}

// openFor opens a problem for all jobs that wait for pop.
func (ps *populations) openFor(ctx context.Context, pop *population, key trial.Key, p schemas.Problem) error {
	opened, err := ps.load(ctx, key, p)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil:
		what := "problem"
		if _, digest := p.File(); digest != "" {
			what = fmt.Sprintf("data %.12s", digest)
		}
		err = &OpenError{What: what, Err: err}
	}
	ps.mu.Lock()
	if pop.err = err; err != nil {
		delete(ps.open, key)
	} else {
		pop.Problem, pop.public, pop.rows = opened, opened.Public(), opened.Table()
	}
	ps.mu.Unlock()
	close(pop.opened)
	ps.closeUnused()
	return err
}

// load opens a problem and lays out its data as a table.
func (ps *populations) load(ctx context.Context, key trial.Key, p schemas.Problem) (*problem.Problem, error) {
	opened, err := ps.openProblem(ctx, p)
	if err != nil {
		return nil, err
	}
	return opened, opened.Seal(func(rows int) []int32 { return tableOrder(key, rows) })
}

// openProblem returns a shared problem, or fetches the data file and opens the problem.
func (ps *populations) openProblem(ctx context.Context, p schemas.Problem) (*problem.Problem, error) {
	if ps.SharedProblem != nil {
		if opened := ps.SharedProblem(p); opened != nil {
			return opened, nil
		}
	}
	path := ""
	if _, digest := p.File(); digest != "" {
		file, err := ps.openFile(ctx, digest)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // the problem has been read into memory
		path = file.Path
	}
	return problem.Open(p, path)
}

// openFile opens a data file. It fetches the file if it is not local.
func (ps *populations) openFile(ctx context.Context, digest string) (*queue.CachedFile, error) {
	if path, ok := ps.Files[digest]; ok {
		return &queue.CachedFile{Path: path}, nil
	}
	if ps.Cache == "" {
		return nil, errors.New("not among this worker's files")
	}
	cache := queue.FileCache{Dir: ps.Cache, Quota: ps.CacheSize}
	return cache.Open(ctx, ps.Conn.Files, digest)
}

// release ends the use of a problem that get returned.
func (ps *populations) release(pop *population) {
	ps.mu.Lock()
	pop.users--
	pop.lastUsed = time.Now()
	ps.mu.Unlock()
	ps.closeUnused()
}

// closeUnused closes problems without users: those idle for maxIdle, and the least recently used ones while the open
// problems take more than maxBytes. It schedules its next call.
func (ps *populations) closeUnused() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		return
	}
	total := int64(0)
	for _, pop := range ps.open {
		total += pop.bytes()
	}
	for {
		key, pop := ps.leastRecentlyUsed()
		if pop == nil || time.Since(pop.lastUsed) < maxIdle && total <= ps.maxBytes {
			break
		}
		total -= pop.bytes()
		ps.remove(key, pop)
	}
	switch {
	case ps.timer == nil:
		ps.timer = time.AfterFunc(maxIdle, func() { ps.closeUnused(); ps.stopStaleProcesses() })
	case len(ps.open) > 0:
		ps.timer.Reset(maxIdle)
	}
}

// leastRecentlyUsed returns a problem without users; nil if all are in use.
func (ps *populations) leastRecentlyUsed() (key trial.Key, least *population) {
	for k, pop := range ps.open {
		if pop.users == 0 && (least == nil || pop.lastUsed.Before(least.lastUsed)) {
			key, least = k, pop
		}
	}
	return key, least
}

func (ps *populations) remove(key trial.Key, pop *population) {
	delete(ps.open, key)
	if pop.Problem != nil {
		_ = pop.Close() // the memory is freed with the process anyway
	}
}

// bytes estimates the memory of an opened problem.
func (p *population) bytes() int64 {
	if p.Problem == nil {
		return 0 // not open yet
	}
	return int64(p.Summary().Rows) * int64(8*p.Dim()+13)
}

// register makes stopIdle include a slot.
func (ps *populations) register(s *slot) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.slots = append(ps.slots, s)
}

// stopStaleProcesses stops processes of idle slots that keep the table of a closed problem in memory.
func (ps *populations) stopStaleProcesses() {
	ps.mu.Lock()
	open := map[string]bool{"": true}
	for key := range ps.open {
		open[key.String()] = true
	}
	ps.mu.Unlock()
	ps.stopIdle(func(k processKind) bool { return !open[k.data] })
}

// stopIdle stops the processes of idle slots whose kinds match.
func (ps *populations) stopIdle(which func(processKind) bool) {
	ps.mu.Lock()
	slots := slices.Clone(ps.slots)
	ps.mu.Unlock()
	for _, s := range slots {
		if s.busy.TryLock() {
			s.stopMatching(which)
			s.busy.Unlock()
		}
	}
}

// close closes all problems. No job may be running.
func (ps *populations) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.closed = true
	if ps.timer != nil {
		ps.timer.Stop()
	}
	for key, pop := range ps.open {
		ps.remove(key, pop)
	}
}

// tableOrder returns a random order of the rows for the shared table of a data key, so that a row's position does not
// reveal its label. All trials share the table: a table per trial would cost more than the answers.
func tableOrder(key trial.Key, rows int) []int32 {
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32(i)
	}
	shuffle(order, rand.New(rand.NewPCG(trial.Seed(key, trial.Order, 0, 0))))
	return order
}

// maxProblemBytes returns the default of populations.maxBytes: a quarter of the memory of this machine or, if it is
// less, of its control group.
func maxProblemBytes() int64 {
	memory := int64(16 << 30) // if the system does not report it
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := bytes.Fields(text); len(f) > 1 && string(f[0]) == "MemTotal:" {
			if kilobytes, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				memory = kilobytes << 10
			}
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil { // not "max"
			memory = min(memory, limit)
		}
	}
	return memory / 4
}
