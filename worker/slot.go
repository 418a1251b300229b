package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// A slot runs jobs one after another, with its own scratch memory. One goroutine uses it.
type slot struct {
	w            *worker
	streams      [1 + trial.TestPoints]rand.PCG
	notes        []string      // failures of processes since the last result
	openingTime  time.Duration // time to open the problem of the present job
	startingTime time.Duration // time to start the first process of the present job

	pluginTimer stopwatch // time of the present job's calls into the plugin
}

// A stopwatch adds up the durations between calls of start and stop. The zero value is ready for use.
type stopwatch struct {
	total time.Duration
	began time.Time
}

func (w *stopwatch) start() { w.began = time.Now() }
func (w *stopwatch) stop()  { w.total += time.Since(w.began) }

// A jobRun holds a running job and the state that its sessions share.
type jobRun struct {
	*trial.Job
	plugin host.Command // without limits
	pop    *population
	drawer *problem.Drawer
	out    *outcomes
}

func (j *jobRun) newDrawer() *problem.Drawer { return j.pop.Drawer(j.Cell.Problem.Test) }

// run runs all trials of a job and returns their outcomes. An error is a fault of this worker, not of the trials.
func (s *slot) run(ctx context.Context, leased *trial.Job) (*outcomes, error) {
	s.openingTime, s.startingTime, s.pluginTimer = 0, 0, stopwatch{}
	if s.w.Simulate != nil {
		return s.simulate(ctx, leased)
	}
	command, err := s.w.plugins.get(ctx, leased.Cell.Need(leased.Plugin))
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
	if own := job.key(); own.recheck != "" { // no first run is left that could pass on what it has seen
		s.w.processes.stop(func(k processKey) bool { return k.plugin == own.plugin && k.recheck == "" })
	}
	if job.out.Refusal, err = s.checkSampleSize(ctx, job); err != nil || job.out.Refusal != nil {
		return job.out, err
	}
	job.drawer = job.newDrawer()
	if pop.Generated() {
		release, err := s.openSources(ctx, job)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	size := job.Cell.SessionTrials(job.N)
	for from := 0; from < int(job.Count); from += size {
		if err := s.runTrials(ctx, job, from, min(from+size, int(job.Count))); err != nil {
			return nil, err
		}
	}
	job.out.Notes, s.notes = s.notes, nil
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
	o.Status, o.Error, o.Values, o.Refusal = b.Status, b.Error, b.Values, b.Refusal
	for i := range b.Status {
		o.Kind[i], o.Reason[i] = b.KindOf(i), b.ReasonOf(i)
	}
	return o, nil
}

// runTrials runs the trials from..to-1 of a job in one session. If the process ends, it runs them again in halves.
func (s *slot) runTrials(ctx context.Context, job *jobRun, from, to int) error {
	exit, err := s.runSession(ctx, job, from, to, job.Recheck == trial.RecheckFresh)
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

// limits holds the names of the limits that end processes, by cause.
var limits = map[host.Cause]string{host.Time: "trial", host.Memory: "memory"}

// runAlone runs one trial by itself in fresh processes. The trial fails if it ends three of them in any way, and is
// lost if it exceeds a limit of this machine.
func (s *slot) runAlone(ctx context.Context, job *jobRun, trial int) error {
	const maxDeaths = 3
	kind := "protocol"
	for deaths := 1; ; deaths++ {
		exit, err := s.runSession(ctx, job, trial, trial+1, true)
		if err != nil || exit == nil {
			return err
		}
		if limit, exceeded := limits[exit.Cause]; exceeded {
			reason := fmt.Sprintf("%s; raise limits.%s in the sweep file", exit.Error(), limit)
			job.out.setFault(trial, ledger.Lost, string(exit.Cause), reason)
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

// runSession runs the trials from..to-1 in one session and records their outcomes; if fresh is set, in a fresh process.
// If the process ends, it records nothing and returns how the process ended.
func (s *slot) runSession(ctx context.Context, job *jobRun, from, to int, fresh bool) (*host.ExitError, error) {
	x := &session{slot: s, job: job, from: from, to: to}
	run := func(p *process) error { return x.run(ctx, p) }
	err := s.withProcess(ctx, job, 0, fresh, run)
	var size *host.SizeError
	if errors.As(err, &size) {
		err = s.withProcess(ctx, job, size.Need, fresh, run)
	}
	var exit *host.ExitError
	if !errors.As(err, &exit) || ctx.Err() != nil || exit.Cause == host.Cancelled {
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
