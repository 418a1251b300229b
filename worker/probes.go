package worker

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/audit"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A change holds the results of [task.Task.Change] for a trial.
type change struct {
	side   int
	probes []float64
}

// drawChanged draws the common sample of all trials once and changes a copy of it for each trial.
func (x *session) drawChanged(points, y []float64, streams []trial.Stream) {
	n, dim := int(x.job.N), x.job.pop.Dim()
	x.begin(trial.AllRepetitions, streams...)
	x.job.drawer.Sample(n, points[:n*dim], y[:n])
	for j := 1; j < x.trials(); j++ {
		copy(points[j*n*dim:(j+1)*n*dim], points[:n*dim])
		copy(y[j*n:(j+1)*n], y[:n])
	}
	x.changes = make([]change, x.trials())
	for j := range x.changes {
		repetition := x.repetition(j)
		coin, _ := trial.Seed(x.job.Cell.DataKey, trial.Coins, uint64(n), repetition/2)
		sample := audit.Sample{
			Problem: x.job.pop.public, X: points[j*n*dim : (j+1)*n*dim], Y: y[j*n : (j+1)*n],
		}
		side, probes := x.job.Cell.Kind().Change(sample, int64(repetition), coin)
		x.changes[j] = change{side, probes}
	}
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
