package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/plugins/host"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// processesPerLane bounds the plugin processes that a lane keeps: one works, the others wait for a cell of their kind.
const processesPerLane = 3

// lane is one slot's state: its plugin processes and its scratch. It is for one goroutine.
type lane struct {
	w         *worker
	processes []process // most recently used last
	streams   [1 + trial.TestPoints]rand.PCG
	answers   scoring
	notes     []string      // what happened to processes since the last result
	starting  time.Duration // of this job, that went into its first process
}

type process struct {
	key  processKey
	host *host.Process
}

// processKey is what two jobs must share to run in one process.
type processKey struct {
	plugin, data string
	limits       trial.Limits
	memory       int64 // of the session
}

func newLane(w *worker) *lane { return &lane{w: w} }

func (l *lane) stop() {
	for _, p := range l.processes {
		p.host.Stop()
	}
	l.processes = nil
}

// task is a job with all that its sessions share.
type task struct {
	*trial.Job
	pop    *population
	drawer *problem.Drawer
	out    *outcomes
}

// run runs all trials of a job. An error means that this worker cannot, and says nothing about the trials.
func (l *lane) run(ctx context.Context, job *trial.Job) (*outcomes, error) {
	l.starting = 0
	pop, err := l.w.populations.get(ctx, job.Cell.DataKey.String(), job.Cell.Problem)
	if err != nil {
		return nil, fmt.Errorf("open problem: %w", err)
	}
	job.Cell.Public = pop.public // the one that travels has no class matrix
	t := &task{Job: job, pop: pop, drawer: pop.Drawer(), out: newOutcomes(job)}
	most := job.Cell.SessionTrials(job.N)
	for from := 0; from < int(job.Count); from += most {
		if err := l.attempt(ctx, t, from, min(from+most, int(job.Count))); err != nil {
			return nil, err
		}
	}
	t.out.notes, l.notes = l.notes, nil
	return t.out, nil
}

// attempt runs the trials from..to-1 of a job in one session. If the process ends, it goes on in halves.
func (l *lane) attempt(ctx context.Context, t *task, from, to int) error {
	exit, err := l.session(ctx, t, from, to)
	if err != nil || exit == nil {
		return err
	}
	if to-from == 1 {
		return l.alone(ctx, t, from)
	}
	mid := from + (to-from)/2
	if err := l.attempt(ctx, t, from, mid); err != nil {
		return err
	}
	return l.attempt(ctx, t, mid, to)
}

// alone runs one trial by itself in fresh processes. Ending the process three times in the same way is the algorithm's own doing;
// exceeding a limit of this machine is not.
func (l *lane) alone(ctx context.Context, t *task, trial int) error {
	const same, most = 3, 6
	seen := map[string]int{}
	for range most {
		l.discard()
		exit, err := l.session(ctx, t, trial, trial+1)
		if err != nil || exit == nil {
			return err
		}
		if exit.Cause == host.Time || exit.Cause == host.Memory {
			t.out.end(trial, ledger.Lost, string(exit.Cause), limitReason(exit))
			return nil
		}
		way := string(exit.Cause) + exit.State
		if seen[way]++; seen[way] == same {
			kind := "crash"
			if exit.Cause == host.Protocol {
				kind = "protocol"
			}
			t.out.end(trial, ledger.Failed, kind, exit.Error())
			return nil
		}
	}
	t.out.end(trial, ledger.Lost, "machine", fmt.Sprintf("the plugin process ended %d times, each time in another way", most))
	return nil
}

func limitReason(exit *host.ExitError) string {
	return fmt.Sprintf("%s; raise limits.%s in the sweep file", exit.Error(), map[host.Cause]string{host.Time: "trial", host.Memory: "memory"}[exit.Cause])
}

// session runs trials from..to-1 in one session and records their outcomes. It returns why the process ended, if it did; nothing is
// recorded then.
func (l *lane) session(ctx context.Context, t *task, from, to int) (*host.ExitError, error) {
	err := l.try(ctx, t, from, to, 0)
	var size *host.SizeError
	if errors.As(err, &size) {
		err = l.try(ctx, t, from, to, size.Need)
	}
	if err == nil {
		return nil, nil
	}
	l.discard() // whatever it was: this process ended, or a session in it was left half-way
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return nil, err
	}
	if ctx.Err() != nil || exit.Cause == host.Cancelled {
		return nil, err
	}
	l.note(exit)
	return exit, nil
}

// note keeps the first line of what happened to a process. A message has room for some of them, however often that was.
func (l *lane) note(exit *host.ExitError) {
	const most, longest = 20, 500
	line, _, _ := strings.Cut(exit.Error(), "\n")
	if len(l.notes) < most {
		l.notes = append(l.notes, strings.ToValidUTF8(line[:min(len(line), longest)], ""))
	}
}

func (l *lane) try(ctx context.Context, t *task, from, to int, memory int64) error {
	p, err := l.process(ctx, t, memory)
	if err != nil {
		return err
	}
	seeds := make([]uint64, 0, 2*(to-from))
	for j := from; j < to; j++ {
		hi, lo := trial.Seed(t.Cell.NoiseKey, trial.AlgorithmNoise, uint64(t.N), uint32(t.First)+uint32(j))
		seeds = append(seeds, hi, lo)
	}
	req := host.OpenRequest{Setting: t.Cell.Setting(t.N), Seeds: seeds}
	if req.Setting.Offline {
		req.Reveal = func(x []float64) { l.reveal(t, from, to, x) }
	}
	session, faults, err := p.Open(ctx, req, func(x, y []float64) { l.sample(t, from, to, x, y) })
	if err != nil {
		return err
	}
	trials := newScores(to - from)
	trials.fault(faults)
	own, truths, err := l.judge(ctx, session, t, from, trials)
	if err != nil {
		return err
	}
	metrics, faults, err := session.CloseRound(ctx, truths)
	if err != nil {
		return err
	}
	trials.fault(faults)
	maps.Copy(metrics, own)
	t.out.record(from, trials, metrics)
	return nil
}

// judge plays the trials' games, if the task is one, and scores them. It gives the metrics that are its own, and what an online game still
// has to be told.
func (l *lane) judge(ctx context.Context, s *host.Session, t *task, from int, trials *scores) (own map[string][]float64, truths []float64, err error) {
	if t.rounds() > 0 {
		return l.rounds(ctx, s, t, from, trials)
	}
	if t.Cell.Adversary != nil {
		if own, err = l.play(ctx, s, t, from, trials); err != nil {
			return nil, nil, err
		}
	}
	return own, nil, l.evaluate(ctx, s, t, from, trials)
}

// process gives the lane's process for a job, most recently used last.
func (l *lane) process(ctx context.Context, t *task, memory int64) (*host.Process, error) {
	key := processKey{plugin: t.Plugin, limits: t.Cell.Limits, memory: memory}
	if t.Cell.Problem.Data != nil {
		key.data = t.Cell.DataKey.String()
	}
	for i, p := range l.processes {
		if p.key == key && !ended(p.host) {
			l.processes = append(append(l.processes[:i:i], l.processes[i+1:]...), p)
			return p.host, nil
		}
	}
	if len(l.processes) == processesPerLane {
		l.processes[0].host.Stop()
		l.processes = l.processes[1:]
	}
	cmd := l.w.Plugins[t.Plugin]
	cmd.Trial, cmd.Memory = t.Cell.Limits.Trial, t.Cell.Limits.Memory
	cmd.SessionMemory, cmd.Dataset = memory, t.pop.rows
	began := time.Now()
	p, err := host.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if l.starting == 0 { // further ones are the trials' own doing
		l.starting = time.Since(began)
	}
	l.processes = append(l.processes, process{key: key, host: p})
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
func (l *lane) discard() {
	if n := len(l.processes); n > 0 {
		l.processes[n-1].host.Stop()
		l.processes = l.processes[:n-1]
	}
}

// begin starts a repetition over, with those of its data streams that will be drawn from, and draws its target.
func (l *lane) begin(t *task, index int, streams ...trial.Stream) {
	rep := uint32(t.First) + uint32(index)
	for _, s := range streams {
		l.streams[s].Seed(trial.Seed(t.Cell.DataKey, s, uint64(t.N), rep))
	}
	t.drawer.Begin(problem.Streams{
		Target: &l.streams[trial.Target], Points: &l.streams[trial.Points],
		LabelNoise: &l.streams[trial.LabelNoise], TestPoints: &l.streams[trial.TestPoints],
	})
}

// sample draws the samples of the trials from..to-1, one after another.
func (l *lane) sample(t *task, from, to int, x, y []float64) {
	n, dim := int(t.N), t.pop.Dim()
	for j := range to - from {
		l.begin(t, from+j, trial.Target, trial.Points, trial.LabelNoise)
		t.drawer.Sample(n, x[j*n*dim:(j+1)*n*dim], y[j*n:(j+1)*n])
	}
}
