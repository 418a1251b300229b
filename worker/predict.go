package worker

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem"
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
	known       *query    // the next query if the present state was asked about it; nil: it was not
	probes      stateProbes
	agreement
}

// A query is a point with its clean label.
type query struct {
	x     []float64
	truth float64
}

// adversaries starts the games of all trials.
func (x *session) adversaries() []queryGame {
	list := make([]queryGame, x.trials())
	for j := range list {
		stream := x.adversaryStream(j, trial.Queries)
		list[j].adversary = x.newTrialDrawer(j).Queries(*x.job.Cell.Adversary, x.job.N, stream)
		list[j].probes.placeStream = *x.adversaryStream(j, trial.States)
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

// AskQueries implements [task.Player].
func (x *session) AskQueries(ctx context.Context) (task.Played, error) {
	list, err := x.askQueries(ctx)
	if err == nil {
		_, err = x.Evaluate(ctx)
	}
	if err != nil {
		return task.Played{}, err
	}
	metrics := x.newMetrics(x.job.Cell.States == schemas.StatesHard)
	for j := range list {
		q := &list[j]
		metrics[task.HardQueries][j] = float64(q.hard)
		metrics[task.QueryError][j] = float64(q.wrong) / float64(x.job.Cell.Queries)
		metrics[task.FinalError][j] = x.scores.error[j]
		metrics[task.StatesProbed][j] = float64(q.probes.states + 1)
		metrics[task.Disagreement][j] = q.disagreement()
		for i, e := range q.probes.errorsAfterHard {
			metrics[task.ErrorAfterHard(task.HardCounts[i])][j] = e
		}
		x.scores.error[j] = q.trialError(x.scores.error[j], x.job.Cell.Reference)
	}
	return task.Played{Metrics: metrics}, nil
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
	points := make([][]float64, len(list))
	for asked := 0; asked < x.job.Cell.Queries; {
		if err := states.probe(ctx, asked); err != nil {
			return nil, err
		}
		chunk := states.chunkSize(asked, maxChunk)
		for j := range list {
			if !x.scores.failed(j) {
				points[j] = list[j].next(points[j][:0], chunk, x.job.pop.Dim())
			}
		}
		counts, labels, marks, err := x.askQuery(ctx, points)
		if err != nil {
			return nil, err
		}
		for j := range list {
			k := int(counts[j])
			list[j].answer(labels[:k], marks[:k])
			labels, marks = labels[k:], marks[k:]
		}
		asked += chunk
	}
	return list, nil
}

// next appends the next queries to x, and records their clean labels.
func (q *queryGame) next(x []float64, count, dim int) []float64 {
	q.truths = q.truths[:0]
	for range count {
		next := q.peek(dim)
		q.known = nil
		x, q.truths = append(x, next.x...), append(q.truths, next.truth)
	}
	return x
}

// peek returns the next query, which is then known.
func (q *queryGame) peek(dim int) *query {
	if q.known == nil {
		x := make([]float64, dim)
		q.known = &query{x, q.adversary.Next(x)}
	}
	return q.known
}

// answer scores the answers to the queries of a step, and passes them to the adversary.
func (q *queryGame) answer(labels []float64, marks []byte) {
	for i, label := range labels {
		hard := marks[i] != 0
		if hard {
			q.hard++
			q.probes.hardSinceProbe = true
		}
		if label != q.truths[i] {
			q.wrong++
		}
		if i == 0 {
			q.compare(label)
		}
		q.adversary.Observe(label, hard)
	}
}

// trialError returns the error that counts for the trial: the maximum of its states' errors and of the reference error
// plus the disagreement. So a disagreement above alpha fails the trial.
func (q *queryGame) trialError(final, reference float64) float64 {
	e := max(final, q.probes.worstError)
	if d := q.disagreement(); d > 0 {
		e = max(e, reference+d)
	}
	return e
}

// An agreement compares the labels that answered queries with the predictions of the states before them.
type agreement struct {
	predicted     bool    // the present state has answered the next query
	prediction    float64 // its answer
	comparisons   int
	disagreements float64 // sum over the comparisons
}

// compare compares the label that answered a query with the prediction of the state before it, if there is one. The
// disagreement is 0 or 1 if the prediction is a label. If it is a mean, the expected disagreement is 0 for a label of
// that mean.
func (a *agreement) compare(label float64) {
	if a.predicted {
		a.predicted = false
		a.comparisons++
		a.disagreements += float64(a.prediction*(a.prediction-label)) / 2
	}
}

// disagreement returns the share of the compared queries whose answers differ from the predictions; NaN without any.
func (a *agreement) disagreement() float64 {
	if a.comparisons == 0 {
		return math.NaN()
	}
	return max(0, a.disagreements/float64(a.comparisons))
}

// In task predict, states before the final one are probed. All states of a trial get the same
// points, so that the worst state is not the one with the worst points. On its first points, a
// state only passes: if its error is clearly below the goal, which a state above the goal reaches
// with probability at most exp(-clearDivergence), 0.25 %, for each number of points. Otherwise its
// error is measured on the points of a final model, or on as many; see [problem.SmallSupport]. So
// neither the stop nor the choice of the state biases a measured error. When one of them is above
// the goal, the trial has failed, and only states with a larger error on their first points are
// measured. A state whose error is reported is always measured.
//
// The algorithm marks queries as hard. Its marks only add states to those that are probed anyway.
const clearDivergence = 6 // relative entropy, in nats

// A game compares the answers to at least minCompared queries (or to all) with the state before each. It also probes
// the states after its first maxHardProbes hard queries.
const (
	minCompared   = 32
	maxHardProbes = 64
)

// A prober probes the states of a session's trials between the queries. Probing changes no state. The probes of a trial
// are a function of its keys and its own answers, not of the session.
type prober struct {
	*session
	list       []queryGame
	times      []bool // whether to probe all states, by the number of queries answered
	blocks     []int  // numbers of points after each block on which states only pass
	full       *evaluation
	goal       float64
	reportHard bool // report errors after hard queries: such states are asked about all points
}

// stateProbes holds the probes of one trial's states and their results.
type stateProbes struct {
	placeStream     rand.PCG // draws the place of the next query among the points
	hardSinceProbe  bool     // a query was marked as hard since the last probe
	hardProbed      int
	reportPosition  int       // 1 + index of the present state in task.HardCounts; 0: its error is not reported
	errorsAfterHard []float64 // errors by index in task.HardCounts, NaN without such a state; nil: not reported
	states          int       // number of states probed
	worstError      float64   // maximal measured error of these states
	loss            float64   // sum of the losses of the present state on its first points
}

// newProber returns the prober of the games. It probes nothing if only the final state counts.
func (x *session) newProber(list []queryGame) *prober {
	c := x.job.Cell
	p := &prober{
		session: x, list: list, times: make([]bool, c.Queries), goal: c.Reference + c.Alpha,
		reportHard: c.States == schemas.StatesHard,
	}
	if !trial.Probes(c.States) {
		return p
	}
	p.full = x.newEvaluation()
	if n := c.Evaluation.States; n > 0 {
		p.full = &evaluation{session: x, count: n, drawn: true}
	}
	p.full.looks = []int{p.full.count}
	p.full.steps, p.full.alone = p.full.looks, 0
	for size := problem.FirstProbed; size == problem.FirstProbed || p.screens(size) && size <= 16*problem.FirstProbed; {
		p.blocks = append(p.blocks, size)
		size *= 4
	}
	r := new(rand.PCG) // one stream for all repetitions
	r.Seed(trial.Seed(c.AdversaryKey, trial.States, uint64(x.job.N), math.MaxUint32))
	chooseProbeTimes(p.times, c.States == schemas.StatesEvery, rand.New(r))
	for j := range list {
		if p.reportHard {
			list[j].probes.errorsAfterHard = slices.Repeat([]float64{math.NaN()}, len(task.HardCounts))
		}
	}
	return p
}

// screens reports whether states may pass on so many points. A full measurement has at least four times as many.
func (p *prober) screens(points int) bool { return 4*points < p.full.count }

// chooseProbeTimes chooses the numbers of queries after which all states are probed: each, or 0, 1, 2, 4, ... and
// random ones until there are minCompared.
func chooseProbeTimes(times []bool, each bool, r *rand.Rand) {
	if each || len(times) <= minCompared {
		for i := range times {
			times[i] = true
		}
		return
	}
	chosen := 1
	times[0] = true
	for i := 1; i < len(times); i *= 2 {
		times[i] = true
		chosen++
	}
	for chosen < minCompared {
		if i := r.IntN(len(times)); !times[i] {
			times[i] = true
			chosen++
		}
	}
}

// chunkSize returns how many queries to ask at once: most, or fewer if a probe or the end of the game comes earlier. It
// returns 1 if every hard query is followed by a probe.
func (p *prober) chunkSize(asked, most int) int {
	if p.reportHard {
		return 1
	}
	most = min(most, len(p.times)-asked)
	if i := slices.Index(p.times[asked+1:asked+most], true); i >= 0 {
		return i + 1
	}
	return most
}

// probe probes the states that are due after a number of queries.
func (p *prober) probe(ctx context.Context, asked int) (err error) {
	if p.full == nil {
		return nil
	}
	due, from := p.due(asked), 0
	for _, to := range p.blocks {
		if due, err = p.screen(ctx, due, from, to, asked == 0); err != nil {
			return err
		}
		from = to
	}
	return p.full.measure(ctx, due, func(t *exam) {
		s := &p.list[t.trial].probes
		if s.reportPosition > 0 {
			s.errorsAfterHard[s.reportPosition-1] = t.error
		}
		s.worstError = max(s.worstError, t.error)
		s.states++
	})
}

// due returns the trials whose states are due after a number of queries.
func (p *prober) due(asked int) (due []int) {
	for j := range p.list {
		q := &p.list[j]
		s := &q.probes
		if p.scores.failed(j) {
			continue
		}
		afterHard := s.hardSinceProbe && s.hardProbed < maxHardProbes && (p.reportHard || !p.job.Cell.Adversary.Offline)
		s.reportPosition, s.loss = 0, 0
		if p.reportHard && (afterHard || asked == 0) {
			s.reportPosition = 1 + slices.Index(task.HardCounts, q.hard)
		}
		if s.hardSinceProbe = false; afterHard {
			s.hardProbed++
		}
		if afterHard || p.times[asked] {
			due = append(due, j)
		}
	}
	return due
}

// screen asks the states of the due trials about the points from..to-1 on which states only pass, and returns the
// trials whose states do not pass. The first block also contains the next query, at a random place. A shuffled recheck
// asks the initial states about the first of these points one by one before.
func (p *prober) screen(ctx context.Context, due []int, from, to int, initial bool) (rest []int, err error) {
	dim := p.job.pop.Dim()
	for group := range slices.Chunk(due, max(1, groupNumbers/(to*dim))) {
		points, labels := make([][]float64, p.trials()), make([][]float64, p.trials())
		places := make([]int, p.trials())
		for _, j := range group {
			points[j], labels[j] = p.draw(j, from, to)
			if from == 0 {
				q := &p.list[j]
				places[j] = rand.New(&q.probes.placeStream).IntN(to + 1)
				points[j] = slices.Insert(points[j], places[j]*dim, q.peek(dim).x...)
			}
		}
		var alone [][]float64
		if initial && from == 0 && p.shuffled() {
			if alone, err = p.askAlone(ctx, points, askedAlone); err != nil {
				return nil, err
			}
		}
		answers, err := p.ask(ctx, points)
		if err != nil {
			return nil, err
		}
		for _, j := range group {
			q, a := &p.list[j], answers[j]
			if alone != nil {
				for k, one := range alone[j] {
					p.scores.compareAlone(j, k, to+1, one, a[k])
				}
			}
			if p.scores.failed(j) {
				continue
			}
			if from == 0 {
				q.predicted, q.prediction = true, a[places[j]]
				a = slices.Delete(a, places[j], places[j]+1)
			}
			if q.probes.loss += loss(a, labels[j]); p.passes(&q.probes, to) {
				q.probes.states++
			} else {
				rest = append(rest, j)
			}
		}
	}
	return rest, nil
}

// draw draws the points from..to-1 on which the states of a trial pass. They are the same in each call.
func (p *prober) draw(j, from, to int) (x, y []float64) {
	dim := p.job.pop.Dim()
	x, y = make([]float64, to*dim), make([]float64, to)
	p.slot.streams[trial.TestPoints].Seed(p.dataSeed(trial.States, j))
	p.beginTrial(j, trial.Target)
	p.job.drawer.Draw(0, x, y)
	return x[from*dim:], y[from:]
}

// passes reports whether the present state needs no measurement after that many points: its error is clearly below the
// goal or, in a trial that has failed, not above the worst error.
func (p *prober) passes(s *stateProbes, points int) bool {
	if s.reportPosition > 0 || !p.screens(points) {
		return false
	}
	e := s.loss / float64(points)
	if s.worstError > p.goal {
		return e <= s.worstError
	}
	return e < p.goal && float64(points)*numeric.Divergence(e, p.goal) >= clearDivergence
}
