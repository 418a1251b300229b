package worker

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// A queryGame is the adversary's side of one trial of the task predict.
type queryGame struct {
	adversary   adversary.Queries
	truths      []float64 // labels of the queries of the present step
	hard, wrong int       // numbers of answers so far that were marked as hard, and that were wrong
	stateProbes
}

// adversaries starts the games of all trials.
func (x *session) adversaries() []queryGame {
	list := make([]queryGame, x.trials())
	for j := range list {
		stream := x.adversaryStream(j, trial.Queries)
		list[j].adversary = x.newTrialDrawer(j).Queries(*x.job.Cell.Adversary, x.job.N, stream)
	}
	return list
}

// revealQueries writes the queries of all trials, one trial after another. Only an offline adversary, which needs no
// answers, reveals its queries.
func (x *session) revealQueries(points []float64) {
	x.slot.pluginTimer.stop()
	defer x.slot.pluginTimer.start()
	dim := x.job.pop.Dim()
	for _, q := range x.adversaries() {
		for range x.job.Cell.Queries {
			q.adversary.Next(points[:dim])
			points = points[dim:]
		}
	}
}

// askQueries asks the queries of all trials in lock step, with one round trip for the next query of every trial that
// has not failed. If the queries are revealed, it asks many at once. It probes the states between the queries, and
// returns the finished games.
func (x *session) askQueries(ctx context.Context) ([]queryGame, error) {
	list := x.adversaries()
	states := x.newProber(list)
	maxChunk := 1
	if x.job.Cell.Adversary.Offline {
		maxChunk = max(1, host.MaxAnswers/len(list))
	}
	counts := make([]uint32, len(list))
	for asked := 0; asked < x.job.Cell.Queries; {
		if err := states.probe(ctx, asked); err != nil {
			return nil, err
		}
		chunk := states.chunkSize(asked, maxChunk)
		for j := range list {
			counts[j] = uint32(chunk)
			if x.scores.failed(j) {
				counts[j] = 0
			}
			list[j].truths = list[j].truths[:0]
		}
		step := queryStep{list: list, counts: counts, dim: x.job.pop.Dim()}
		x.slot.pluginTimer.start()
		labels, marks, faults, err := x.host.Play(ctx, counts, step.fill)
		x.slot.pluginTimer.stop()
		if err != nil {
			return nil, err
		}
		x.scores.addFaults(faults)
		for j := range list {
			k := int(counts[j])
			list[j].answer(labels[:k], marks[:k])
			labels, marks = labels[k:], marks[k:]
		}
		asked += chunk
	}
	return list, nil
}

// AskQueries implements [task.Player].
func (x *session) AskQueries(ctx context.Context) (task.Played, error) {
	list, err := x.askQueries(ctx)
	if err == nil {
		err = x.slot.evaluation.evaluate(ctx, x)
	}
	if err != nil {
		return task.Played{}, err
	}
	metrics := map[string][]float64{}
	for _, name := range x.job.Cell.Kind().MetricNames(x.job.Cell.States == schemas.StatesHard) {
		metrics[name] = make([]float64, len(list))
	}
	for j := range list {
		q := &list[j]
		metrics[task.HardQueries][j] = float64(q.hard)
		metrics[task.QueryError][j] = float64(q.wrong) / float64(x.job.Cell.Queries)
		metrics[task.FinalError][j] = x.scores.error[j]
		metrics[task.StatesProbed][j] = float64(q.states + 1)
		metrics[task.Disagreement][j] = q.disagreement()
		for i, e := range q.errorsAfterHard {
			metrics[task.ErrorAfterHard(task.HardCounts[i])][j] = e
		}
		x.scores.error[j] = q.trialError(x.scores.error[j], x.job.Cell.Reference)
	}
	return task.Played{Metrics: metrics}, nil
}

// A queryStep writes the queries of a step, trial after trial.
type queryStep struct {
	list   []queryGame
	counts []uint32 // number of queries, by trial
	dim    int
	trial  int    // the trial that asks next
	done   uint32 // number of its queries written in this step
}

func (s *queryStep) fill(x []float64) {
	for ; len(x) > 0; x = x[s.dim:] {
		for s.done == s.counts[s.trial] {
			s.trial, s.done = s.trial+1, 0
		}
		q := &s.list[s.trial]
		q.truths = append(q.truths, q.next(x[:s.dim]))
		s.done++
	}
}

// next writes the next query into x and returns its clean label.
func (q *queryGame) next(x []float64) float64 {
	if !q.queryKnown {
		return q.adversary.Next(x)
	}
	q.queryKnown = false
	copy(x, q.query)
	return q.truth
}

// answer scores the answers to the queries of a step, and passes them to the adversary.
func (q *queryGame) answer(labels []float64, marks []byte) {
	for i, label := range labels {
		hard := marks[i] != 0
		if hard {
			q.hard++
		}
		if label != q.truths[i] {
			q.wrong++
		}
		if i == 0 {
			q.comparePrediction(label)
		}
		q.hardSinceProbe = q.hardSinceProbe || hard
		q.adversary.Observe(label, hard)
	}
}
