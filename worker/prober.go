package worker

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// In task predict, states before the final one are probed. All states of a trial get the same
// points, so that the worst state is not the one with the worst points. On its first points, a
// state only passes: if its error is clearly below the goal, which a state above the goal reaches
// with probability at most exp(-clearDivergence), 0.25 %, for each number of points. Otherwise its
// error is measured on further points, as many as for a final model, or on the whole support: see
// [problem.SmallSupport]. So neither the stop nor the choice of the state biases a measured error.
// When one of them is above the goal, the trial has failed, and only states with a larger error on
// their first points are measured. A state whose error is reported is always measured.
//
// The algorithm marks queries as hard. Its marks only add states to those that are probed anyway.
const clearDivergence = 6 // relative entropy, in nats

// blockPoints is the maximal number of points in a block.
const blockPoints = 4096

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
	ends       []int  // numbers of points after each block
	screening  int    // number of blocks on which states only pass
	support    bool   // the last block is the whole support
	goal       float64
	reportHard bool // report errors after hard queries: such states are asked about all points

	drawer         *problem.Drawer
	target, points rand.PCG
	initial        bool      // the present states have answered no query
	x, y, w        []float64 // points, labels and weights of a group of trials
	counts         []uint32
	due            []int
}

// stateProbes holds the probes of one trial's states and their results.
type stateProbes struct {
	blockStarts []rand.PCG // stream positions at the start of each block that was drawn, and after it
	placeStream rand.PCG   // draws the place of the next query among the points

	query      []float64 // the next query, valid if queryKnown
	truth      float64
	queryKnown bool
	predicted  bool    // the probed state has answered the next query
	prediction float64 // its answer

	hardSinceProbe  bool // a query was marked as hard since the last probe
	hardProbed      int
	reportPosition  int       // 1 + index of the present state in task.HardCounts; 0: its error is not reported
	errorsAfterHard []float64 // errors by index in task.HardCounts, NaN without such a state; nil: not reported
	states          int       // number of states probed
	worstError      float64   // maximal measured error of these states
	comparisons     int
	disagreements   float64 // sum over the comparisons

	place int     // place of the next query in the present probe
	sum   float64 // sum of the losses in the present part of the probe
}

// newProber returns the prober of the games. It probes nothing if only the final state counts.
func (x *session) newProber(list []queryGame) *prober {
	c := x.job.Cell
	p := &prober{session: x, list: list, times: make([]bool, c.Queries), goal: c.Reference + c.Alpha}
	p.reportHard = c.States == schemas.StatesHard
	if !trial.Probes(c.States) {
		return p
	}
	p.drawer = x.job.newDrawer()
	p.divide()
	r := new(rand.PCG) // one stream for all repetitions
	r.Seed(trial.Seed(c.AdversaryKey, trial.States, uint64(x.job.N), math.MaxUint32))
	chooseProbeTimes(p.times, c.States == schemas.StatesEvery, rand.New(r))
	for j := range list {
		list[j].placeStream = *x.adversaryStream(j, trial.States)
		if p.reportHard {
			list[j].errorsAfterHard = slices.Repeat([]float64{math.NaN()}, len(task.HardCounts))
		}
	}
	return p
}

// divide divides the points of a state into blocks.
func (p *prober) divide() {
	n := p.job.Cell.Evaluation.States
	if n == 0 {
		n, p.support = p.drawer.TestLen(), true
	}
	for size := problem.FirstProbed; 4*size < n && size <= 16*problem.FirstProbed; size *= 4 {
		p.ends = append(p.ends, size)
	}
	p.screening = len(p.ends)
	first := 0
	if p.screening > 0 {
		first = p.ends[p.screening-1]
	}
	for done := 0; done < n; {
		done = min(n, done+blockPoints)
		p.ends = append(p.ends, first+done)
	}
}

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
func (p *prober) probe(ctx context.Context, asked int) error {
	if p.drawer == nil {
		return nil
	}
	p.initial = asked == 0
	due := p.due[:0]
	for j := range p.list {
		q := &p.list[j]
		if p.scores.failed(j) {
			continue
		}
		afterHard := q.hardSinceProbe && q.hardProbed < maxHardProbes && (p.reportHard || !p.job.Cell.Adversary.Offline)
		q.reportPosition = 0
		if p.reportHard && (afterHard || asked == 0) {
			q.reportPosition = 1 + slices.Index(task.HardCounts, q.hard)
		}
		if q.hardSinceProbe = false; afterHard {
			q.hardProbed++
		}
		if afterHard || p.times[asked] {
			due = append(due, j)
		}
	}
	p.due = due
	from := 0
	for block, to := range p.ends {
		var err error
		if due, err = p.askBlock(ctx, due, block, to-from); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// askBlock asks the states of the due trials about a block of points, in groups that fit a message.
// The first block also contains the next query. It returns the trials whose probes are not
// complete.
func (p *prober) askBlock(ctx context.Context, due []int, block, rows int) ([]int, error) {
	const mostBytes = 4 << 20
	dim := p.job.pop.Dim()
	if block == 0 {
		rows++
	}
	most, rest := max(1, min(host.MaxAnswers, mostBytes/(8*dim))/rows), due[:0]
	for len(due) > 0 {
		group := due[:min(most, len(due))]
		due = due[len(group):]
		p.resize(len(group)*rows, dim)
		for i, j := range group {
			at := i * rows
			p.drawPoints(j, block, p.x[at*dim:(at+rows)*dim], p.y[at:at+rows], p.w[at:at+rows])
		}
		alone, err := p.askAlone(ctx, group, block, rows)
		if err != nil {
			return nil, err
		}
		for _, j := range group {
			p.counts[j] = uint32(rows)
		}
		x := p.x
		answers, err := p.ask(ctx, func(to []float64) { x = x[copy(to, x):] })
		if err != nil {
			return nil, err
		}
		for i, j := range group {
			p.counts[j] = 0
			lo, hi := i*rows, (i+1)*rows
			for k, a := range part(alone, i, len(alone)/len(group)) {
				p.scores.compareAlone(j, k, rows, a, answers[lo+k])
			}
			if !p.scores.failed(j) && !p.scoreAnswers(j, block, answers[lo:hi], p.y[lo:hi], p.w[lo:hi]) {
				rest = append(rest, j)
			}
		}
	}
	return rest, nil
}

// ask asks the states about p.counts points.
func (p *prober) ask(ctx context.Context, fill func(x []float64)) ([]float64, error) {
	p.slot.pluginTimer.start()
	defer p.slot.pluginTimer.stop()
	answers, faults, err := p.host.Step(ctx, p.counts, fill)
	p.scores.addFaults(faults)
	return answers, err
}

// askAlone asks the initial states of a group about the first points of their blocks of rows points one by one, if the
// job is a shuffled recheck: before they have seen the others. It returns the answers by trial of the group and point.
func (p *prober) askAlone(ctx context.Context, group []int, block, rows int) (alone []float64, err error) {
	if !p.initial || block > 0 || p.job.Recheck != trial.RecheckShuffled {
		return nil, nil
	}
	count, dim := min(askedAlone, rows), p.job.pop.Dim()
	alone = make([]float64, len(group)*count)
	for k := range count {
		for _, j := range group {
			p.counts[j] = 1
		}
		i := 0
		answers, err := p.ask(ctx, func(to []float64) {
			for ; len(to) > 0; i++ {
				to = to[copy(to, part(p.x, i*rows+k, dim)):]
			}
		})
		if err != nil {
			return nil, err
		}
		for i := range group {
			alone[i*count+k] = answers[i]
		}
	}
	return alone, nil
}

func (p *prober) resize(rows, dim int) {
	p.x, p.y, p.w = resized(p.x, rows*dim), resized(p.y, rows), resized(p.w, rows)
	if p.counts == nil {
		p.counts = make([]uint32, len(p.list))
	}
}

// drawPoints draws the points of a block for a trial, with labels and weights. The first block also contains the next
// query, at a random place and with weight 0.
func (p *prober) drawPoints(j, block int, x, y, w []float64) {
	q, dim, rows := &p.list[j], p.job.pop.Dim(), len(y)
	if block == 0 {
		rows--
	}
	if p.support && block == p.screening {
		p.beginTrial(j, trial.Target, trial.TestPoints)
		p.job.drawer.Test(x[:rows*dim], y[:rows], w[:rows])
	} else {
		p.drawBlock(j, block, x[:rows*dim], y[:rows])
		for i := range w {
			w[i] = 1
		}
	}
	if block > 0 {
		return
	}
	if !q.queryKnown {
		q.query = resized(q.query, dim)
		q.truth, q.queryKnown = q.adversary.Next(q.query), true
	}
	q.place = rand.New(&q.placeStream).IntN(rows + 1)
	copy(x[rows*dim:], x[q.place*dim:(q.place+1)*dim])
	copy(x[q.place*dim:], q.query)
	y[rows], w[rows] = y[q.place], w[q.place]
	y[q.place], w[q.place] = q.truth, 0
}

// drawBlock draws the points of a block from the distribution. They are the same in each call. The points that follow
// the screening are the first evaluation points of the trial, so that they judge all states alike.
func (p *prober) drawBlock(j, block int, x, y []float64) {
	q := &p.list[j]
	if q.blockStarts == nil {
		q.blockStarts = make([]rand.PCG, len(p.ends)+1)
		q.blockStarts[0].Seed(p.dataSeed(trial.States, j))
		q.blockStarts[p.screening].Seed(p.dataSeed(trial.TestPoints, j))
	}
	p.target.Seed(p.dataSeed(trial.Target, j))
	p.points = q.blockStarts[block]
	p.drawer.Begin(problem.Streams{Target: &p.target, TestPoints: &p.points})
	p.drawer.Draw(x, y)
	if block+1 != p.screening {
		q.blockStarts[block+1] = p.points
	}
}

// scoreAnswers scores the answers of a state to a block. It reports whether the probe of the state is complete.
func (p *prober) scoreAnswers(j, block int, answers, y, w []float64) bool {
	q := &p.list[j]
	if block == 0 {
		q.predicted, q.prediction = true, answers[q.place]
	}
	if block == 0 || block == p.screening {
		q.sum = 0
	}
	q.sum += populationError(answers, y, w)
	switch {
	case block < p.screening:
		if q.reportPosition > 0 || !p.passes(q, p.ends[block]) {
			return false
		}
	case block < len(p.ends)-1:
		return false
	default:
		e := q.sum
		if !p.support {
			e /= float64(p.job.Cell.Evaluation.States)
		}
		if q.reportPosition > 0 {
			q.errorsAfterHard[q.reportPosition-1] = e
		}
		q.worstError = max(q.worstError, e)
	}
	q.states++
	return true
}

// passes reports whether the present state needs no measurement after that many points: its error is clearly below the
// goal or, in a trial that has failed, not above the worst error.
func (p *prober) passes(q *queryGame, points int) bool {
	e := q.sum / float64(points)
	if q.worstError > p.goal {
		return e <= q.worstError
	}
	return e < p.goal && float64(points)*numeric.Divergence(e, p.goal) >= clearDivergence
}

// comparePrediction compares the label that answered a query with the prediction of the state before it, if that state
// was probed. The disagreement is 0 or 1 if the prediction is a label. If it is a mean, the expected disagreement is 0
// for a label of that mean.
func (q *stateProbes) comparePrediction(label float64) {
	if q.predicted {
		q.predicted = false
		q.comparisons++
		q.disagreements += float64(q.prediction*(q.prediction-label)) / 2
	}
}

// disagreement returns the share of the compared queries whose answers differ from the predictions; NaN without any.
func (q *stateProbes) disagreement() float64 {
	if q.comparisons == 0 {
		return math.NaN()
	}
	return max(0, q.disagreements/float64(q.comparisons))
}

// trialError returns the error that counts for the trial: the maximum of its states' errors and of the reference error
// plus the disagreement. So a disagreement above alpha fails the trial.
func (q *stateProbes) trialError(final, reference float64) float64 {
	e := max(final, q.worstError)
	if d := q.disagreement(); d > 0 {
		e = max(e, reference+d)
	}
	return e
}
