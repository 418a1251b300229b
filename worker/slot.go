package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// processesPerSlot limits the plugin processes of a slot: one works, the others wait for a job of their kind.
const processesPerSlot = 3

// A slot runs jobs one after another, with its own plugin processes and scratch memory. One goroutine uses it.
type slot struct {
	w            *worker
	registered   bool       // with populations
	busy         sync.Mutex // locked while a job runs or processes are stopped
	processes    []process  // most recently used last
	streams      [1 + trial.TestPoints]rand.PCG
	seeds        []uint64      // seeds of the algorithm for the trials of a session
	notes        []string      // failures of processes since the last result
	openingTime  time.Duration // time to open the problem of the present job
	startingTime time.Duration // time to start the first process of the present job

	pluginTimer stopwatch // time of the present job's calls into the plugin
	evaluation  evaluation
}

// A stopwatch adds up the durations between calls of start and stop. The zero value is ready for use.
type stopwatch struct {
	total time.Duration
	began time.Time
}

func (w *stopwatch) start() { w.began = time.Now() }
func (w *stopwatch) stop()  { w.total += time.Since(w.began) }

type process struct {
	key   processKey
	host  *host.Process
	sweep string // last sweep with a result that states the process's environment

	environment schemas.Environment
	mark        string // suffix of identities in this environment: see [schemas.Environment.Identify]
}

// Two jobs run in one process only if their processKeys are equal.
type processKey struct {
	processKind
	memory int64 // bytes of session memory; 0: the host's default
}

// A processKind is the part of a processKey that does not depend on the size of a session.
type processKind struct {
	plugin, data string // command of the plugin, which all built-in algorithms share; data key, "" without real data
	limits       trial.Limits
	recheck      trial.Recheck // rechecks and first runs never share a process
}

func (s *slot) stop() {
	s.busy.Lock()
	defer s.busy.Unlock()
	s.stopMatching(func(processKind) bool { return true })
}

// stopMatching stops the processes whose kinds match.
func (s *slot) stopMatching(which func(processKind) bool) {
	s.processes = slices.DeleteFunc(s.processes, func(p process) bool {
		if which(p.key.processKind) {
			p.host.Stop()
			return true
		}
		return false
	})
}

// A jobRun holds a running job and the state that its sessions share.
type jobRun struct {
	*trial.Job
	plugin host.Command // without limits
	pop    *population
	drawer *problem.Drawer
	out    *outcomes
}

func (j *jobRun) newDrawer() *problem.Drawer { return j.pop.Drawer(j.Cell.Problem.Test) }

func (j *jobRun) kind() processKind {
	k := processKind{plugin: fmt.Sprint(j.plugin.Path, j.plugin.Args, j.plugin.Env), limits: j.Cell.Limits,
		recheck: j.Recheck}
	if j.Cell.Problem.Data != nil {
		k.data = j.Cell.DataKey.String()
	}
	return k
}

// run runs all trials of a job and returns their outcomes. An error is a fault of this worker, not of the trials.
func (s *slot) run(ctx context.Context, leased *trial.Job) (*outcomes, error) {
	s.busy.Lock()
	defer s.busy.Unlock()
	if !s.registered {
		s.w.populations.register(s)
		s.registered = true
	}
	s.openingTime, s.startingTime, s.pluginTimer = 0, 0, stopwatch{}
	if s.w.Simulate != nil {
		return s.simulate(ctx, leased)
	}
	command, err := s.w.plugins.get(ctx, leased)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	pop, err := s.w.populations.get(ctx, leased.Cell.DataKey, *leased.Cell.Problem)
	s.openingTime = time.Since(began)
	if err != nil {
		return nil, err
	}
	defer s.w.populations.release(pop)
	leased.Cell.Public = pop.public // the problem inside the job has no class matrix
	job := &jobRun{Job: leased, plugin: command, pop: pop, out: newOutcomes(leased)}
	if kind := job.kind(); kind.recheck != "" { // no first run is left that could pass on what it has seen
		isFirstRun := func(k processKind) bool { return k.plugin == kind.plugin && k.recheck == "" }
		s.stopMatching(isFirstRun)
		s.w.populations.stopIdle(isFirstRun)
	}
	if job.out.refusal, err = s.checkSampleSize(ctx, job); err != nil || job.out.refusal != nil {
		return job.out, err
	}
	job.drawer = job.newDrawer()
	size := job.Cell.SessionTrials(job.N)
	if job.Recheck == trial.RecheckAlone {
		size = 1
	}
	for from := 0; from < int(job.Count); from += size {
		if err := s.runTrials(ctx, job, from, min(from+size, int(job.Count))); err != nil {
			return nil, err
		}
		if job.Recheck == trial.RecheckAlone {
			s.stopKind(job.kind())
		}
	}
	job.out.notes, s.notes = s.notes, nil
	job.out.pluginTime = s.pluginTimer.total
	return job.out, nil
}

// simulate converts the result of Config.Simulate to outcomes.
func (s *slot) simulate(ctx context.Context, job *trial.Job) (*outcomes, error) {
	b, err := s.w.Simulate(ctx, job)
	if err != nil {
		return nil, err
	}
	o := newOutcomes(job)
	o.status, o.error, o.values, o.refusal = b.Status, b.Error, b.Values, b.Refusal
	for i, status := range b.Status {
		if status != ledger.OK {
			o.faults[i] = fault{b.KindOf(i), b.ReasonOf(i)}
		}
	}
	return o, nil
}

// runTrials runs the trials from..to-1 of a job in one session. If the process ends, it runs them again in halves.
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

// runAlone runs one trial by itself in fresh processes. The trial fails if it ends three of them in any way, and is
// lost if it exceeds a limit of this machine.
func (s *slot) runAlone(ctx context.Context, job *jobRun, trial int) error {
	const maxDeaths = 3
	kind := "protocol"
	for deaths := 1; ; deaths++ {
		s.stopKind(job.kind())
		exit, err := s.runSession(ctx, job, trial, trial+1)
		if err != nil || exit == nil {
			return err
		}
		if exit.Cause == host.Time || exit.Cause == host.Memory {
			job.out.setFault(trial, ledger.Lost, string(exit.Cause), limitReason(exit))
			return nil
		}
		if exit.Cause != host.Protocol {
			kind = "crash"
		}
		if deaths == maxDeaths {
			job.out.setFault(trial, ledger.Failed, kind, exit.Error())
			return nil
		}
	}
}

func limitReason(exit *host.ExitError) string {
	limit := map[host.Cause]string{host.Time: "trial", host.Memory: "memory"}[exit.Cause]
	return fmt.Sprintf("%s; raise limits.%s in the sweep file", exit.Error(), limit)
}

// runSession runs the trials from..to-1 in one session and records their outcomes. If the process ends, it records
// nothing and returns how the process ended.
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
	s.stopKind(job.kind()) // it has ended, or holds an unfinished session
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return nil, err
	}
	if ctx.Err() != nil || exit.Cause == host.Cancelled {
		return nil, err
	}
	s.addNote(exit)
	return exit, nil
}

// addNote records how a process ended. A message has room for a few notes only.
func (s *slot) addNote(exit *host.ExitError) {
	const maxNotes = 20
	if len(s.notes) < maxNotes {
		s.notes = append(s.notes, firstLine(exit))
	}
}

// process returns the slot's process for a job; it starts one if there is none. memory is the size of the session
// memory in bytes; 0: the host's default.
func (s *slot) process(ctx context.Context, job *jobRun, memory int64) (*host.Process, error) {
	key := processKey{job.kind(), memory}
	for i, p := range s.processes {
		if p.key == key && !hasEnded(p.host) {
			s.processes = append(append(s.processes[:i:i], s.processes[i+1:]...), p)
			return s.identify(job), nil
		}
	}
	if len(s.processes) == processesPerSlot {
		s.stopOne()
	}
	cmd := job.plugin
	limits := job.Cell.Limits
	cmd.Start, cmd.Trial, cmd.Memory = limits.Start, limits.Trial, limits.Memory
	cmd.SessionMemory, cmd.Dataset = memory, job.pop.rows
	began := time.Now()
	p, err := host.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if s.startingTime == 0 { // trials caused the later starts
		s.startingTime = time.Since(began)
	}
	environment := p.Environment()
	mark := environment.Identify("")
	s.processes = append(s.processes, process{key: key, host: p, environment: environment, mark: mark})
	s.w.plugins.learn(job.Job.Plugin, environment)
	return s.identify(job), nil
}

// identify records the identity of the most recently used process in the outcomes of a job. It returns the process.
func (s *slot) identify(job *jobRun) *host.Process {
	p := &s.processes[len(s.processes)-1]
	job.out.identity = job.Job.Plugin + p.mark
	if p.sweep != job.Sweep {
		job.out.environment, p.sweep = p.environment, job.Sweep
	}
	return p.host
}

func hasEnded(p *host.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// stopOne stops a process of rechecks, which are rare, or else the least recently used process.
func (s *slot) stopOne() {
	i := max(0, slices.IndexFunc(s.processes, func(p process) bool { return p.key.recheck != "" }))
	s.processes[i].host.Stop()
	s.processes = slices.Delete(s.processes, i, i+1)
}

// stopKind stops the processes of a kind. The next session of that kind starts a fresh one.
func (s *slot) stopKind(kind processKind) {
	s.stopMatching(func(k processKind) bool { return k == kind })
}
