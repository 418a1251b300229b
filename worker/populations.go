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

// populations holds the opened problems of this worker, which its slots share. The first slot that needs a data file
// fetches it and lays it out in shared memory; slots that need the same file wait, others do not. An unused problem
// is closed after maxIdle, or earlier if the open problems take more than maxBytes.
type populations struct {
	Config
	life      context.Context // ends the fetching of files
	processes *processes      // those over a closed problem are stopped, because they keep its table in memory
	maxBytes  int64           // size of the open problems above which unused ones are closed

	mu     sync.Mutex
	open   map[trial.Key]*population
	timer  *time.Timer // calls closeUnused
	closed bool
}

// A population is an opened problem and, for real data, the shared table of its rows.
type population struct {
	*problem.Problem
	public *pluginv1.Problem // part of the problem that is visible to algorithms
	rows   *dataset.Table    // nil for distributions
	labels []float64         // labels of the rows, by place in the table

	opened   chan struct{} // closed when it is open, or cannot be opened because of err
	err      error
	users    int       // number of jobs that use it, or wait for it; and 1 while it is opened
	lastUsed time.Time // time of the last use
}

func newPopulations(life context.Context, c Config, p *processes) *populations {
	return &populations{
		Config: c, life: life, processes: p, maxBytes: maxProblemBytes(), open: map[trial.Key]*population{},
	}
}

// get returns the opened problem of a data key, which the first caller opens for all. The caller
// must call release after use. After an error the next call tries again.
func (ps *populations) get(ctx context.Context, key trial.Key, p schemas.Problem) (*population, error) {
	ps.mu.Lock()
	pop := ps.open[key]
	if pop == nil {
		pop = &population{opened: make(chan struct{}), users: 1}
		ps.open[key] = pop
		go ps.openFor(key, p, pop)
	}
	pop.users++
	ps.mu.Unlock()
	var err error
	select {
	case <-pop.opened:
		if err = pop.err; err == nil {
			return pop, nil
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	ps.release(pop)
	return nil, err
}

// openFor opens a problem for the jobs that wait for it, and is one of its users meanwhile.
func (ps *populations) openFor(key trial.Key, p schemas.Problem, pop *population) {
	opened, err := ps.openProblem(p)
	if err == nil { // lay out its data as a table
		err = opened.Seal(func(rows int) []int32 { return tableOrder(key, rows) })
	}
	defer close(pop.opened)
	defer ps.closeUnused()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	pop.users--
	pop.lastUsed = time.Now()
	if err != nil {
		what := "problem"
		if _, digest := p.File(); digest != "" {
			what = fmt.Sprintf("data %.12s", digest)
		}
		pop.err = fmt.Errorf("open %s: %w", what, err)
		delete(ps.open, key)
		return
	}
	pop.Problem, pop.public, pop.rows = opened, opened.Public(), opened.Table()
	if pop.rows != nil {
		pop.labels = make([]float64, len(opened.Labels()))
		for row, place := range opened.Places() {
			pop.labels[place] = opened.Labels()[row]
		}
	}
}

// openProblem returns a shared problem, or fetches the data file and opens the problem.
func (ps *populations) openProblem(p schemas.Problem) (_ *problem.Problem, err error) {
	if ps.SharedProblem != nil {
		if opened := ps.SharedProblem(p); opened != nil {
			return opened, nil
		}
	}
	path := ""
	if _, digest := p.File(); digest != "" {
		if path, err = ps.file(digest); err != nil {
			return nil, err
		}
	}
	return problem.Open(p, path)
}

// file returns the path of a data file. It fetches the file if it is not local.
func (ps *populations) file(digest string) (path string, err error) {
	if path, ok := ps.Files[digest]; ok {
		return path, nil
	}
	if ps.Cache == "" {
		return "", errors.New("not among this worker's files")
	}
	cache := queue.FileCache{Dir: ps.Cache, Quota: ps.CacheSize}
	return cache.Path(ps.life, ps.Conn.Files, digest)
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
// problems take more than maxBytes. It stops their idle processes, and schedules its next call.
func (ps *populations) closeUnused() {
	keys := ps.removeUnused()
	if len(keys) > 0 {
		ps.processes.stop(func(k processKey) bool { return slices.Contains(keys, k.data) })
	}
}

// removeUnused closes the problems of closeUnused and returns their keys.
func (ps *populations) removeUnused() (keys []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		return nil
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
		keys = append(keys, key.String())
	}
	switch {
	case ps.timer == nil:
		ps.timer = time.AfterFunc(maxIdle, ps.closeUnused)
	case len(ps.open) > 0:
		ps.timer.Reset(maxIdle)
	}
	return keys
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
	_ = pop.Close() // the memory is freed with the process anyway
}

// bytes estimates the memory of a problem; 0: it is not open yet.
func (p *population) bytes() int64 {
	if p.Problem == nil {
		return 0
	}
	return int64(p.Summary().Rows) * int64(8*p.Dim()+13)
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
		if pop.users == 0 { // otherwise it is being opened
			ps.remove(key, pop)
		}
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
