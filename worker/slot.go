package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// processesPerSlot bounds the plugin processes that a slot keeps: one works, the others wait for a
// cell of their kind.
const processesPerSlot = 3

// slot runs the jobs of a worker one after another: it has its own plugin processes and scratch
// memory. It is for one goroutine.
type slot struct {
	w         *worker
	watched   bool       // populations knows of it
	busy      sync.Mutex // held while a job runs, or processes are stopped
	processes []process  // most recently used last
	streams   [1 + trial.TestPoints]rand.PCG
	seeds     []uint64      // of a session's trials, for the algorithm
	notes     []string      // what happened to processes since the last result
	opening   time.Duration // the part of this job's time that went into opening its problem
	starting  time.Duration // the part of this job's time that went into starting its first process

	inPlugin   stopwatch // this job's calls into the plugin
	evaluation evaluation
}

// stopwatch adds up the durations between calls of start and stop. Its zero value is ready for use.
type stopwatch struct {
	total time.Duration
	began time.Time
}

func (w *stopwatch) start() { w.began = time.Now() }
func (w *stopwatch) stop()  { w.total += time.Since(w.began) }

// process is one of the slot's plugin processes.
type process struct {
	key  processKey
	host *host.Process
}

// processKey is what two jobs must share to run in one process.
type processKey struct {
	processKind
	memory int64 // of the session, in bytes; 0: the host's default
}

// processKind is what two jobs must share to run in processes that differ in their memory at most.
type processKind struct {
	plugin, data string // plugin: how it is started, which the built-in algorithms share
	limits       trial.Limits
	recheck      trial.Recheck // rechecks and first runs never meet in a process
}

// stop stops all plugin processes.
func (s *slot) stop() {
	s.busy.Lock()
	defer s.busy.Unlock()
	s.stopWhere(func(processKind) bool { return true })
}

// stopWhere stops the processes of some kinds.
func (s *slot) stopWhere(which func(processKind) bool) {
	s.processes = slices.DeleteFunc(s.processes, func(p process) bool {
		if which(p.key.processKind) {
			p.host.Stop()
			return true
		}
		return false
	})
}

// jobRun is a job while its trials are run, with what all of its sessions share.
type jobRun struct {
	*trial.Job
	plugin host.Command // without limits
	pop    *population
	drawer *problem.Drawer
	out    *outcomes
}

// newDrawer returns a drawer of the job's trials.
func (j *jobRun) newDrawer() *problem.Drawer { return j.pop.Drawer(j.Cell.Problem.Test) }

// kind returns the kind of process that runs the job.
func (j *jobRun) kind() processKind {
	k := processKind{plugin: fmt.Sprint(j.plugin.Path, j.plugin.Args, j.plugin.Env), limits: j.Cell.Limits,
		recheck: j.Recheck}
	if j.Cell.Problem.Data != nil {
		k.data = j.Cell.DataKey.String()
	}
	return k
}

// run runs all trials of a job. An error means that this worker cannot, and says nothing about the
// trials.
func (s *slot) run(ctx context.Context, leased *trial.Job) (*outcomes, error) {
	s.busy.Lock()
	defer s.busy.Unlock()
	if !s.watched {
		s.w.populations.watch(s)
		s.watched = true
	}
	s.opening, s.starting, s.inPlugin = 0, 0, stopwatch{}
	if s.w.Simulate != nil {
		return s.simulate(ctx, leased)
	}
	command, err := s.w.plugins.get(ctx, leased)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	pop, err := s.w.populations.get(ctx, leased.Cell.DataKey, *leased.Cell.Problem)
	s.opening = time.Since(began)
	if err != nil {
		return nil, err
	}
	defer s.w.populations.release(pop)
	leased.Cell.Public = pop.public // the one that travels has no class matrix
	job := &jobRun{Job: leased, plugin: command, pop: pop, out: newOutcomes(leased)}
	if job.out.refusal, err = s.refusal(ctx, job); err != nil || job.out.refusal != nil {
		return job.out, err
	}
	job.drawer = job.newDrawer()
	most := job.Cell.SessionTrials(job.N)
	if job.Recheck == trial.RecheckAlone {
		most = 1
	}
	for from := 0; from < int(job.Count); from += most {
		if err := s.runTrials(ctx, job, from, min(from+most, int(job.Count))); err != nil {
			return nil, err
		}
		if job.Recheck == trial.RecheckAlone {
			s.discard(job.kind())
		}
	}
	job.out.notes, s.notes = s.notes, nil
	job.out.plugin = s.inPlugin.total
	return job.out, nil
}

// simulate makes the outcomes of a job as Config.Simulate wants them.
func (s *slot) simulate(ctx context.Context, job *trial.Job) (*outcomes, error) {
	b, err := s.w.Simulate(ctx, job)
	if err != nil {
		return nil, err
	}
	o := &outcomes{
		job: job, status: b.Status, error: b.Error, values: b.Values, refusal: b.Refusal, faults: map[int]fault{},
	}
	for i, status := range b.Status {
		if status != ledger.OK {
			o.faults[i] = fault{b.KindOf(i), b.ReasonOf(i)}
		}
	}
	return o, nil
}

// runTrials runs the trials from..to-1 of a job in one session. If the process ends, it goes on in
// halves.
func (s *slot) runTrials(ctx context.Context, job *jobRun, from, to int) error {
	exit, err := s.runSession(ctx, job, from, to)
	if err != nil || exit == nil {
		return err
	}
	if to-from == 1 {
		return s.runAlone(ctx, job, from)
	}
	mid := from + (to-from)/2
	if err := s.runTrials(ctx, job, from, mid); err != nil {
		return err
	}
	return s.runTrials(ctx, job, mid, to)
}

// runAlone runs one trial by itself in fresh processes. If it ends three of them, in whatever way,
// that is the algorithm's own doing and the trial failed. If it exceeds a limit of this machine, it
// is lost.
func (s *slot) runAlone(ctx context.Context, job *jobRun, trial int) error {
	const most = 3
	kind := "protocol"
	for deaths := 1; ; deaths++ {
		s.discard(job.kind())
		exit, err := s.runSession(ctx, job, trial, trial+1)
		if err != nil || exit == nil {
			return err
		}
		if exit.Cause == host.Time || exit.Cause == host.Memory {
			job.out.end(trial, ledger.Lost, string(exit.Cause), limitReason(exit))
			return nil
		}
		if exit.Cause != host.Protocol {
			kind = "crash"
		}
		if deaths == most {
			job.out.end(trial, ledger.Failed, kind, exit.Error())
			return nil
		}
	}
}

func limitReason(exit *host.ExitError) string {
	limit := map[host.Cause]string{host.Time: "trial", host.Memory: "memory"}[exit.Cause]
	return fmt.Sprintf("%s; raise limits.%s in the sweep file", exit.Error(), limit)
}

// runSession runs the trials from..to-1 in one session and records their outcomes. If the process
// ends, it records nothing and returns why.
func (s *slot) runSession(ctx context.Context, job *jobRun, from, to int) (*host.ExitError, error) {
	x := &session{slot: s, job: job, from: from, to: to}
	err := x.run(ctx, 0)
	var size *host.SizeError
	if errors.As(err, &size) {
		err = x.run(ctx, size.Need)
	}
	if err == nil {
		return nil, nil
	}
	s.discard(job.kind()) // in any case: the process has ended, or a session in it was left half-way
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return nil, err
	}
	if ctx.Err() != nil || exit.Cause == host.Cancelled {
		return nil, err
	}
	s.note(exit)
	return exit, nil
}

// note keeps the first line of what happened to a process. A message has room for a few of them,
// however often that was.
func (s *slot) note(exit *host.ExitError) {
	const most, longest = 20, 500
	line, _, _ := strings.Cut(exit.Error(), "\n")
	if len(s.notes) < most {
		s.notes = append(s.notes, strings.ToValidUTF8(line[:min(len(line), longest)], ""))
	}
}

// process returns the slot's process for a job. memory is the size of its session memory in bytes;
// 0: the host's default.
func (s *slot) process(ctx context.Context, job *jobRun, memory int64) (*host.Process, error) {
	key := processKey{job.kind(), memory}
	for i, p := range s.processes {
		if p.key == key && !ended(p.host) {
			s.processes = append(append(s.processes[:i:i], s.processes[i+1:]...), p)
			return p.host, nil
		}
	}
	if len(s.processes) == processesPerSlot {
		s.evict()
	}
	cmd := job.plugin
	cmd.Trial, cmd.Memory = job.Cell.Limits.Trial, job.Cell.Limits.Memory
	cmd.SessionMemory, cmd.Dataset = memory, job.pop.rows
	began := time.Now()
	p, err := host.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if s.starting == 0 { // further ones are the trials' own doing
		s.starting = time.Since(began)
	}
	s.processes = append(s.processes, process{key: key, host: p})
	return p, nil
}

func ended(p *host.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// evict stops one process: one of rechecks, which are few, or the one unused for longest.
func (s *slot) evict() {
	i := max(0, slices.IndexFunc(s.processes, func(p process) bool { return p.key.recheck != "" }))
	s.processes[i].host.Stop()
	s.processes = slices.Delete(s.processes, i, i+1)
}

// discard stops the processes of a kind, so that its next session gets a fresh one.
func (s *slot) discard(kind processKind) {
	s.stopWhere(func(k processKind) bool { return k == kind })
}
