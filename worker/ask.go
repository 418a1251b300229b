package worker

import (
	"context"
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/audit"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// request returns the number of each trial's points, 0 for failed trials, and a function that writes the points, trial
// after trial, in one or more calls.
func (x *session) request(points [][]float64) (counts []uint32, fill func(to []float64)) {
	counts = make([]uint32, len(points))
	for j, p := range points {
		if !x.scores.failed(j) {
			counts[j] = uint32(len(p) / x.job.pop.Dim())
		}
	}
	j, written := 0, 0
	return counts, func(to []float64) {
		for len(to) > 0 {
			n := 0
			if counts[j] > 0 {
				n = copy(to, points[j][written:])
			}
			to, written = to[n:], written+n
			if len(to) > 0 {
				j, written = j+1, 0
			}
		}
	}
}

// ask asks each trial about its points, and returns the answers by trial. They are valid until the next request.
func (x *session) ask(ctx context.Context, points [][]float64) ([][]float64, error) {
	counts, fill := x.request(points)
	x.slot.pluginTimer.start()
	answers, faults, err := x.host.Step(ctx, counts, fill)
	x.slot.pluginTimer.stop()
	return x.divide(answers, counts, faults), err
}

// askRows asks as ask does, about the rows of the shared table that begin with a row.
func (x *session) askRows(ctx context.Context, points [][]float64, first int) ([][]float64, error) {
	counts, _ := x.request(points)
	x.slot.pluginTimer.start()
	answers, faults, err := x.host.StepShared(ctx, counts, uint64(first))
	x.slot.pluginTimer.stop()
	return x.divide(answers, counts, faults), err
}

func (x *session) divide(answers []float64, counts []uint32, faults []host.Fault) [][]float64 {
	x.scores.addFaults(faults)
	list := make([][]float64, len(counts))
	for j, c := range counts {
		if len(answers) > 0 {
			list[j], answers = answers[:c], answers[c:]
		}
	}
	return list
}

// askQuery asks each trial its next queries. It returns their number by trial, and the answers and marks, trial after
// trial.
func (x *session) askQuery(ctx context.Context, points [][]float64) (
	counts []uint32, labels []float64, marks []byte, err error,
) {
	counts, fill := x.request(points)
	x.slot.pluginTimer.start()
	labels, marks, faults, err := x.host.Play(ctx, counts, fill)
	x.slot.pluginTimer.stop()
	if err == nil {
		x.scores.addFaults(faults)
	}
	return counts, labels, marks, err
}

// askedAlone is the number of points per trial that a shuffled recheck asks one by one.
const askedAlone = 32

// askAlone asks each trial about its first points one by one, and returns the answers by trial.
func (x *session) askAlone(ctx context.Context, points [][]float64, count int) ([][]float64, error) {
	all, one, dim := make([][]float64, len(points)), make([][]float64, len(points)), x.job.pop.Dim()
	for k := range count {
		for j, p := range points {
			if p != nil {
				one[j] = p[k*dim : (k+1)*dim]
			}
		}
		answers, err := x.ask(ctx, one)
		if err != nil {
			return nil, err
		}
		for j, a := range answers {
			all[j] = append(all[j], a...)
		}
	}
	return all, nil
}

// compareAlone fails a trial unless its answer to a point that is asked alone equals the one among other points, bit
// for bit. number is the point's index among total points.
func (s *scores) compareAlone(trial, number, total int, alone, among float64) {
	if math.Float64bits(alone) != math.Float64bits(among) && !s.failed(trial) {
		s.fail(trial, "recheck", fmt.Sprintf(
			"answers depend on other points: point %d of %d is answered %v when it is asked alone, and %v among others",
			number+1, total, alone, among))
	}
}

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
	points := make([][]float64, x.trials())
	for j := range points {
		points[j] = x.changes[j].probes
	}
	games, err := x.askOfChange(ctx)
	if err != nil {
		return played, err
	}
	answers, err := x.ask(ctx, points)
	if err != nil {
		return played, err
	}
	played.Metrics = x.newMetrics(false)
	for j := range points {
		values := audit.Values(answers[j], x.host.Declared(j), games[j])
		played.Metrics[audit.MetricSide][j] = float64(x.changes[j].side)
		for i, f := range audit.Features {
			if metric := played.Metrics[f.Name]; metric != nil {
				metric[j] = values[i]
			}
		}
	}
	return played, nil
}

// askOfChange asks the queries of an audit in lock step: half of them about the replaced point of each trial, and then
// about the new one. Without queries all games are nil.
func (x *session) askOfChange(ctx context.Context) ([]*audit.Game, error) {
	games, points, dim := make([]*audit.Game, x.trials()), make([][]float64, x.trials()), x.job.pop.Dim()
	for asked := range x.job.Cell.Queries {
		half := 2 * asked / x.job.Cell.Queries
		for j := range points {
			points[j] = x.changes[j].probes[half*dim : (half+1)*dim]
		}
		counts, labels, marks, err := x.askQuery(ctx, points)
		if err != nil {
			return nil, err
		}
		for j, c := range counts {
			if c == 0 {
				continue
			}
			if games[j] == nil {
				games[j] = &audit.Game{}
			}
			games[j].Add(half, labels[0], marks[0] != 0)
			labels, marks = labels[1:], marks[1:]
		}
	}
	return games, nil
}

// newMetrics returns the metrics of the task, with the optional ones if all is set.
func (x *session) newMetrics(all bool) map[string][]float64 {
	metrics := map[string][]float64{}
	for _, name := range x.job.Cell.Kind().MetricNames(all) {
		metrics[name] = make([]float64, x.trials())
	}
	return metrics
}
