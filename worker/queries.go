package worker

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// querying is the adversary's side of one trial of the task predict.
type querying struct {
	adversary   adversary.Queries
	truths      []float64 // of the queries being asked
	hard, wrong int       // answers so far that were marked as hard, and wrong ones
	probed
}

// adversaries begins the adversaries of all trials.
func (x *session) adversaries() []querying {
	list := make([]querying, x.trials())
	for j := range list {
		stream := x.adversaryStream(j, trial.Queries)
		list[j].adversary = x.beginOwn(j).Queries(*x.job.Cell.Adversary, x.job.N, stream)
	}
	return list
}

// reveal writes the queries of all trials, one trial after another: for an offline adversary, which
// needs no answers.
func (x *session) reveal(points []float64) {
	x.slot.inPlugin.stop()
	defer x.slot.inPlugin.start()
	dim := x.job.pop.Dim()
	for _, q := range x.adversaries() {
		for range x.job.Cell.Queries {
			q.adversary.Next(points[:dim])
			points = points[dim:]
		}
	}
}

// askQueries asks the queries of all trials in lock step: one round trip for the next query of
// every trial that has not failed. Where the queries are revealed anyway, many go at once. Between
// the queries it probes the states. It returns how the games ended.
func (x *session) askQueries(ctx context.Context) ([]querying, error) {
	list := x.adversaries()
	states := x.newProber(list)
	most := 1
	if x.job.Cell.Adversary.Offline {
		most = max(1, host.MaxAnswers/len(list))
	}
	counts := make([]uint32, len(list))
	for asked := 0; asked < x.job.Cell.Queries; {
		if err := states.probe(ctx, asked); err != nil {
			return nil, err
		}
		chunk := states.atOnce(asked, most)
		for j := range list {
			counts[j] = uint32(chunk)
			if x.scores.failed(j) {
				counts[j] = 0
			}
			list[j].truths = list[j].truths[:0]
		}
		step := queryStep{list: list, counts: counts, dim: x.job.pop.Dim()}
		x.slot.inPlugin.start()
		labels, marks, faults, err := x.host.Play(ctx, counts, step.fill)
		x.slot.inPlugin.stop()
		if err != nil {
			return nil, err
		}
		x.scores.fault(faults)
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
		err = x.evaluate(ctx)
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
		for i, e := range q.afterHard {
			metrics[task.ErrorAfterHard(task.HardCounts[i])][j] = e
		}
		x.scores.error[j] = q.verdict(x.scores.error[j], x.job.Cell.Above)
	}
	return task.Played{Metrics: metrics}, nil
}

// queryStep fills the queries of a step, trial after trial.
type queryStep struct {
	list   []querying
	counts []uint32 // of queries, by trial
	dim    int
	trial  int    // the one whose queries come next
	done   uint32 // of its queries in this step
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
func (q *querying) next(x []float64) float64 {
	if !q.known {
		return q.adversary.Next(x)
	}
	q.known = false
	copy(x, q.query)
	return q.truth
}

// answer scores the answers to the queries that were asked, and tells them to the adversary.
func (q *querying) answer(labels []float64, marks []byte) {
	for i, label := range labels {
		hard := marks[i] != 0
		if hard {
			q.hard++
		}
		if label != q.truths[i] {
			q.wrong++
		}
		if i == 0 {
			q.compare(label)
		}
		q.due = q.due || hard
		q.adversary.Observe(label, hard)
	}
}
