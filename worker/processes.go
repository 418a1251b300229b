package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// A process is a running plugin. One slot uses it at a time.
type process struct {
	*host.Process
	key         processKey
	environment schemas.Environment
	mark        string                          // suffix of identities in this environment, see Environment.Identify
	sweep       string                          // last sweep with a result that states the environment
	checked     map[checkedSize]*ledger.Refusal // answers about sample sizes; nil: the algorithm accepts the size
}

// Two sessions run in one process only if their processKeys are equal.
type processKey struct {
	plugin, data string // command of the plugin, which all built-in algorithms share; data key, "" without real data
	problem      bool   // the process draws examples: algorithms never run in it
	limits       trial.Limits
	recheck      trial.Recheck // rechecks and first runs never share a process
	memory       int64         // bytes of session memory; 0: the host's default
}

// key returns the key of a job's processes with the default session memory.
func (j *jobRun) key() processKey {
	k := processKey{plugin: nameOf(j.plugin), limits: j.Cell.Limits, recheck: j.Recheck}
	if j.Cell.Problem.Data != nil {
		k.data = j.Cell.DataKey.String()
	}
	return k
}

// nameOf identifies a command.
func nameOf(c host.Command) string { return fmt.Sprint(c.Path, c.Args, c.Env) }

// processes holds the idle plugin processes of a worker. It is safe for concurrent use.
type processes struct {
	slots int

	mu   sync.Mutex
	idle []*process // most recently used last
}

// idlePerSlot limits the processes that wait for a session of their key, per slot.
const idlePerSlot = 4

// take returns an idle process with a key; nil if there is none, and then there is room for another process.
func (ps *processes) take(key processKey) (taken *process) {
	var ended []*process
	defer func() { stopAll(ended) }() // after the unlock, because it may take seconds
	ps.mu.Lock()
	defer ps.mu.Unlock()
	remove := func(i int) *process {
		p := ps.idle[i]
		ps.idle = slices.Delete(ps.idle, i, i+1)
		return p
	}
	for i := len(ps.idle) - 1; i >= 0; i-- {
		if p := ps.idle[i]; p.key == key {
			remove(i)
			select {
			case <-p.Done():
				ended = append(ended, p)
			default:
				return p
			}
		}
	}
	for len(ps.idle) > idlePerSlot*ps.slots {
		rare := slices.IndexFunc(ps.idle, func(p *process) bool { return p.key.recheck != "" })
		ended = append(ended, remove(max(0, rare)))
	}
	return nil
}

func (ps *processes) put(p *process) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.idle = append(ps.idle, p)
}

// stop stops the idle processes whose keys match.
func (ps *processes) stop(which func(processKey) bool) {
	ps.mu.Lock()
	var matching, rest []*process
	for _, p := range ps.idle {
		if which(p.key) {
			matching = append(matching, p)
		} else {
			rest = append(rest, p)
		}
	}
	ps.idle = rest
	ps.mu.Unlock()
	stopAll(matching)
}

func stopAll(list []*process) {
	for _, p := range list {
		p.Stop()
	}
}

// withProcess calls use with a process of a job, which it starts if there is no idle one or if fresh is set. memory is
// the size of the session memory in bytes; 0: the host's default. After an error of use, except a [host.SizeError], the
// process is stopped: it has ended, or holds an unfinished session.
func (s *slot) withProcess(ctx context.Context, job *jobRun, memory int64, fresh bool, use func(*process) error) error {
	key := job.key()
	key.memory = memory
	var p *process
	if !fresh {
		p = s.w.processes.take(key)
	}
	if p == nil {
		var err error
		if p, err = s.start(ctx, job.plugin, key, job.Job.Plugin, job.pop.rows); err != nil {
			return err
		}
	}
	job.out.Digest = job.Job.Plugin + p.mark
	if p.sweep != job.Sweep {
		job.out.Environment, p.sweep = p.environment, job.Sweep
	}
	err := use(p)
	var small *host.SizeError
	if err != nil && !errors.As(err, &small) || job.Recheck == trial.RecheckFresh {
		p.Stop()
	} else {
		s.w.processes.put(p)
	}
	return err
}

// start starts a process of a plugin with that identity, and shares rows with it, unless they are nil.
func (s *slot) start(
	ctx context.Context, cmd host.Command, key processKey, identity string, rows *dataset.Table,
) (*process, error) {
	cmd.Start, cmd.Trial, cmd.Memory = key.limits.Start, key.limits.Trial, key.limits.Memory
	cmd.SessionMemory, cmd.Dataset = key.memory, rows
	began := time.Now()
	started, err := host.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	s.w.Monitor.update(func(o *Overview) { o.Starts, o.Starting = o.Starts+1, o.Starting+took })
	if s.startingTime == 0 { // trials caused the later starts
		s.startingTime = took
	}
	p := &process{Process: started, key: key, environment: started.Environment()}
	p.mark, p.checked = p.environment.Identify(""), map[checkedSize]*ledger.Refusal{}
	s.w.plugins.learn(identity, p.environment)
	return p, nil
}
