package worker

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/audit"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A change holds the results of [task.Task.Change] for a trial.
type change struct {
	side   int
	probes []float64
}

// drawChanged draws the common sample of all trials and changes it for trial j.
func (x *session) drawChanged(j int, points, y []float64) {
	seed := func(s trial.Stream, repetition uint32) (hi, lo uint64) {
		return trial.Seed(x.job.Cell.DataKey, s, uint64(x.job.N), repetition)
	}
	all, repetition := &x.slot.streams, x.repetition(j)
	for _, s := range []trial.Stream{trial.Target, trial.Points, trial.LabelNoise, trial.TestPoints} {
		all[s].Seed(seed(s, trial.AllRepetitions))
	}
	x.job.drawer.Begin(problem.Streams{
		Target: &all[trial.Target], Points: &all[trial.Points],
		LabelNoise: &all[trial.LabelNoise], TestPoints: &all[trial.TestPoints],
	})
	x.job.drawer.Sample(int(x.job.N), points, y)
	coin, _ := seed(trial.Coins, repetition/2)
	sample := audit.Sample{Problem: x.job.pop.public, X: points, Y: y}
	if j == 0 { // first trial; the session may open several times
		x.changes = x.changes[:0]
	}
	side, probes := x.job.Cell.Kind().Change(sample, int64(repetition), coin)
	x.changes = append(x.changes, change{side, probes})
}

// AskProbes implements [task.Player].
func (x *session) AskProbes(ctx context.Context) (played task.Played, err error) {
	var points []float64
	counts := make([]uint32, x.trials())
	for j := range counts {
		if !x.scores.failed(j) {
			counts[j] = audit.ProbePoints
			points = append(points, x.changes[j].probes...)
		}
	}
	x.slot.pluginTimer.start()
	answers, faults, err := x.host.Step(ctx, counts, func(to []float64) { points = points[copy(to, points):] })
	x.slot.pluginTimer.stop()
	if err != nil {
		return played, err
	}
	played.Metrics = map[string][]float64{}
	for _, name := range x.job.Cell.Kind().MetricNames(false) {
		played.Metrics[name] = make([]float64, x.trials())
	}
	for j, count := range counts {
		values := audit.Values(answers[:count], x.host.Declared(j))
		answers = answers[count:]
		played.Metrics[audit.MetricSide][j] = float64(x.changes[j].side)
		for i, f := range audit.Features {
			played.Metrics[f.Name][j] = values[i]
		}
	}
	x.scores.addFaults(faults)
	return played, nil
}
