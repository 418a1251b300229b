package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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
	processes []process // most recently used last
	streams   [1 + trial.TestPoints]rand.PCG
	answers   scoring
	notes     []string      // what happened to processes since the last result
	starting  time.Duration // the part of this job's time that went into starting its first process
}

type process struct {
	key  processKey
	host *host.Process
}

// processKey is what two jobs must share to run in one process.
type processKey struct {
	plugin, data string
	limits       trial.Limits
	memory       int64 // of the session, in bytes; 0: the host's default
}

// stop stops all plugin processes.
func (s *slot) stop() {
	for _, p := range s.processes {
		p.host.Stop()
	}
	s.processes = nil
}

// jobRun is a job while its trials are run, with what all of its sessions share.
type jobRun struct {
	*trial.Job
	pop    *population
	drawer *problem.Drawer
	out    *outcomes
}

// run runs all trials of a job. An error means that this worker cannot, and says nothing about the
// trials.
func (s *slot) run(ctx context.Context, leased *trial.Job) (*outcomes, error) {
	s.starting = 0
	pop, err := s.w.populations.get(ctx, leased.Cell.DataKey.String(), leased.Cell.Problem)
	if err != nil {
		return nil, fmt.Errorf("open problem: %w", err)
	}
	leased.Cell.Public = pop.public // the one that travels has no class matrix
	job := &jobRun{Job: leased, pop: pop, drawer: pop.Drawer(), out: newOutcomes(leased)}
	most := job.Cell.SessionTrials(job.N)
	for from := 0; from < int(job.Count); from += most {
		if err := s.runTrials(ctx, job, from, min(from+most, int(job.Count))); err != nil {
			return nil, err
		}
	}
	job.out.notes, s.notes = s.notes, nil
	return job.out, nil
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
		s.discard()
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
	s.discard() // in any case: this process has ended, or a session in it was left half-way
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
	key := processKey{plugin: job.Plugin, limits: job.Cell.Limits, memory: memory}
	if job.Cell.Problem.Data != nil {
		key.data = job.Cell.DataKey.String()
	}
	for i, p := range s.processes {
		if p.key == key && !ended(p.host) {
			s.processes = append(append(s.processes[:i:i], s.processes[i+1:]...), p)
			return p.host, nil
		}
	}
	if len(s.processes) == processesPerSlot {
		s.processes[0].host.Stop()
		s.processes = s.processes[1:]
	}
	cmd := s.w.Plugins[job.Plugin]
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

// discard stops the process used last, so that the next session gets a fresh one.
func (s *slot) discard() {
	if n := len(s.processes); n > 0 {
		s.processes[n-1].host.Stop()
		s.processes = s.processes[:n-1]
	}
}
