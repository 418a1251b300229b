package worker

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// blockBytes is how much of a shared table one step is about. The trials of a group answer one after the
// other: a large table is read from memory once for all of them, and then from the cache of the core,
// which is larger. A message costs much less than reading a block. A variable for tests.
var blockBytes = 1 << 20

// evaluation asks groups of trials for their answers on the evaluation points, and scores them.
//
// The points of a trial have numbers, in the order in which the problem draws or lists them, and
// the decoys follow. They are asked about in another order, by places, and in chunks, so that an
// algorithm sees neither all points of a trial in one call, nor their numbers. Order and chunks are
// a function of the trial's keys. The answers return to the order of the numbers before they are
// scored, so the error does not depend on order or chunks in any bit.
//
// The rows of real data lie in the shared table, whose order all trials of a data key have in
// common, and all trials of one n its chunks: a table of its own would cost a trial more than its
// answers. Points that are drawn are in random order already: their places are their numbers. A
// shuffled look sends the points, and has an order and chunks of its own.
//
// An evaluation is the scratch memory of a slot and allocates nothing per trial in the long run.
type evaluation struct {
	*session
	scored  int  // points of a trial
	numbers int  // the same with decoys
	places  int  // the same with those that are asked about twice
	alone   int  // points of a trial that are asked about one by one, before the chunks
	steps   int  // spans of a trial, at most
	block   int  // rows that one step asks about, at most, where they are shared
	rows    bool // points are the rows of data, which lie in a shared table
	shared  bool // they are asked about by their places there
	counted bool // and answers are labels: the wrong ones are counted as they come, and none is kept
	drawn   bool // points are drawn when they are asked about
	common  bool // the points of a number are the same for all trials
	single  bool // a trial is asked about a single point, of its own: there is nothing to arrange
	rule    sequential

	group   []int      // the trials that are being asked
	counts  []uint32   // of points in a step, by trial of the session
	spans   []span     // of places, by trial of the group and step
	order   []int32    // number of the point, by trial of the group and place; empty where drawn or shared
	points  []float64  // by trial of the group and number; empty where drawn or common, and for rows
	y       []float64  // labels, by trial of the group and number, without decoys; empty for rows
	answers []float64  // by trial of the group and place; empty where they are counted
	wrong   []int      // number of wrong answers, by trial of the group, where they are counted
	sorted  []float64  // the answers of one trial, by number
	streams []rand.PCG // of the points that are still to be drawn, by trial of the group
}

// evaluate asks every trial that has not failed for its answers on the evaluation points and scores
// them.
func (x *session) evaluate(ctx context.Context) error {
	e := &x.slot.evaluation
	most := e.prepare(x)
	for j := 0; j < x.trials(); {
		e.group = e.group[:0]
		for ; j < x.trials() && len(e.group) < most; j++ {
			if !x.scores.failed(j) {
				e.group = append(e.group, j)
			}
		}
		if err := e.askGroup(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare prepares the evaluation of a session, and returns the number of trials that form a group.
func (e *evaluation) prepare(x *session) (most int) {
	d, look := x.job.drawer, x.job.Look == trial.LookShuffled
	e.session, e.scored, e.numbers = x, d.TestLen(), d.TestLen()+d.DecoyLen()
	e.rows = x.job.pop.rows != nil
	e.shared, e.drawn = e.rows && !look, !x.job.pop.Listed() && !look
	e.counted = e.shared && !x.job.Cell.Means
	e.common = !look && x.job.pop.Exact() && d.DecoyLen() == 0 && !x.job.pop.Disguised()
	e.alone = 0
	if look {
		e.alone = min(askedAlone, e.numbers)
	}
	e.steps, e.places = chunks+e.alone, e.numbers+e.alone
	if e.single = e.places == 1 && !e.shared && !e.drawn; e.single {
		e.steps = 1
	}
	if e.rule.begin(x); e.rule.looks != nil && e.drawn {
		e.steps += len(e.rule.looks) - 1
	}
	e.counts = resized(e.counts, x.trials())
	clear(e.counts)

	if e.block = max(1, blockBytes/(8*x.job.pop.Dim())); e.shared {
		e.steps += e.places / e.block
	}
	most = max(1, min(e.groupSize(), x.trials()))
	e.resize(most)
	return most
}

// groupSize returns the number of trials that are worth asking together; 0: a single one is too
// large.
func (e *evaluation) groupSize() int {
	// A step then fills about one message: a chunk holds a third of the points, as a rule.
	const points = chunks * host.MaxAnswers * 5 / 6
	const readers = 16 // of a table too large for a cache
	const numbers = 64 << 20 / 8
	fit := numbers / ((e.job.pop.Dim() + 3) * e.places)
	switch {
	case e.alone > 0: // few messages for the points that are asked about one by one
		return fit
	case e.rule.looks != nil && e.drawn: // most trials are not asked about all points
		return 4 * points / e.places
	case e.counted:
		return max(points/e.places, readers)
	case e.shared:
		return max(points/e.places, min(readers, numbers/e.places))
	case e.drawn, e.common:
		return points / e.places
	}
	return min(fit, points/e.places)
}

// resize makes room for a group of that many trials.
func (e *evaluation) resize(trials int) {
	e.spans = resized(e.spans, trials*e.steps)
	if e.counted {
		e.wrong = resized(e.wrong, trials)
		return
	}
	e.answers = resized(e.answers, trials*e.places)
	if e.shared {
		return
	}
	e.sorted = resized(e.sorted, e.numbers)
	if !e.rows {
		e.y = resized(e.y, trials*e.scored)
	}
	if e.drawn {
		e.streams = resized(e.streams, trials)
		return
	}
	e.order = resized(e.order, trials*e.places)
	if e.rows {
		return
	}
	if e.common {
		return
	}
	e.points = resized(e.points, trials*e.numbers*e.job.pop.Dim())
}

// resized returns s with n elements of any value.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// askGroup asks and scores the group.
func (e *evaluation) askGroup(ctx context.Context) error {
	if len(e.group) == 0 {
		return nil
	}
	for i := range e.group {
		e.arrange(i)
	}
	clear(e.wrong)
	for k := range e.steps {
		if err := e.step(ctx, k); err != nil {
			return err
		}
		if e.lookAt(k) {
			break
		}
	}
	for i := range e.group {
		e.score(i)
	}
	return nil
}

// part returns what belongs to trial i of the group, in a list that holds n values of each.
func part[T any](all []T, i, n int) []T { return all[i*n : (i+1)*n] }

// arrange makes the spans of trial i of the group, its order, points and labels, as far as they are
// not drawn later.
func (e *evaluation) arrange(i int) {
	if e.single {
		e.lay(i, nil)
		e.spans[i] = span{0, 1}
		return
	}
	j := e.group[i]
	spans, r := part(e.spans, i, e.steps), e.arranger(j)
	if !e.shared && !e.drawn {
		e.lay(i, r)
	}
	for k := range e.alone {
		spans[k] = span{int32(k), int32(k + 1)}
	}
	cut, first := (*[chunks]span)(spans[e.alone:]), e.numbers
	if e.rule.looks != nil && e.drawn {
		first = e.rule.looks[0]
		e.rule.spans(spans[chunks:])
	}
	cutChunks(cut, first, r)
	for k := range cut {
		cut[k].from, cut[k].to = cut[k].from+int32(e.alone), cut[k].to+int32(e.alone)
	}
	if e.shared {
		a, b := below(r, chunks), below(r, chunks-1)
		cut[a], cut[0] = cut[0], cut[a]
		cut[b+1], cut[1] = cut[1], cut[b+1]
		divide(spans, e.block)
	}
}

// arranger returns the stream that arranges what a trial is asked about.
func (e *evaluation) arranger(j int) *rand.PCG {
	r, n := &e.slot.arranger, uint64(e.job.N)
	switch {
	case e.job.Look == trial.LookShuffled:
		r.Seed(trial.Seed(e.job.Cell.NoiseKey, trial.Order, n, e.repetition(j)))
	case e.shared:
		r.Seed(trial.Seed(e.job.Cell.DataKey, trial.Order, n, trial.Everyone))
	default:
		r.Seed(e.dataSeed(trial.Order, j))
	}
	return r
}

// lay lists the points and decoys of trial i of the group with their labels, and puts them into a
// random order, in which those to be asked about one by one come first, and again later.
func (e *evaluation) lay(i int, r *rand.PCG) {
	if !e.rows {
		e.begin(e.group[i], trial.Target, trial.TestPoints)
		points, y, dim := e.pointsOf(i), part(e.y, i, e.scored), e.job.pop.Dim()
		if e.common {
			e.job.drawer.Test(nil, y, nil)
		} else {
			e.job.drawer.Test(points[:e.scored*dim], y, nil)
		}
		e.job.drawer.Decoys(r, points[e.scored*dim:])
	}

	order := part(e.order, i, e.places)
	for number := range order[e.alone:] {
		order[e.alone+number] = int32(number)
	}
	if e.alone > 0 {
		shuffle(order[e.alone:], r)
		copy(order, order[e.alone:][:e.alone])
	}
	shuffle(order[e.alone:], r)
}

// pointsOf returns the points of trial i of the group, by number.
func (e *evaluation) pointsOf(i int) []float64 {
	if e.common {
		return e.job.pop.Points()
	}
	return part(e.points, i, e.numbers*e.job.pop.Dim())
}

// step asks each trial of the group that has not failed about its span k.
func (e *evaluation) step(ctx context.Context, k int) error {
	for i, j := range e.group {
		e.counts[j] = 0
		if !e.scores.failed(j) && !e.rule.ended(j) {
			e.counts[j] = uint32(e.spans[i*e.steps+k].len())
		}
	}
	answers, faults, err := e.ask(ctx, k)
	if err != nil {
		return err
	}
	for i, j := range e.group {
		n := int(e.counts[j])
		if from := e.spans[i*e.steps+k].from; e.counted {
			e.wrong[i] += countWrong(answers[:n], e.job.pop.negative[from:])
		} else {
			copy(part(e.answers, i, e.places)[from:], answers[:n])
		}
		answers, e.counts[j] = answers[n:], 0
	}
	e.scores.fault(faults)
	return nil
}

// ask returns the answers of all trials of the group on their spans k.
func (e *evaluation) ask(ctx context.Context, k int) ([]float64, []host.Fault, error) {
	e.slot.inPlugin.start()
	defer e.slot.inPlugin.stop()
	if e.shared {
		return e.host.StepShared(ctx, e.counts, uint64(e.spans[k].from))
	}
	i, left, dim := -1, 0, e.job.pop.Dim()
	return e.host.Step(ctx, e.counts, func(to []float64) {
		e.slot.inPlugin.stop()
		defer e.slot.inPlugin.start()
		for len(to) > 0 {
			for left == 0 {
				i++
				left = int(e.counts[e.group[i]])
			}
			n := min(left, len(to)/dim)
			place := int(e.spans[i*e.steps+k].to) - left
			switch {
			case e.drawn:
				e.draw(i, place, to[:n*dim])
			case e.rows:
				for k, number := range part(e.order, i, e.places)[place : place+n] {
					copy(to[k*dim:(k+1)*dim], e.job.pop.Row(int(number)))
				}
			default:
				gather(to[:n*dim], e.pointsOf(i), part(e.order, i, e.places)[place:place+n])
			}
			to, left = to[n*dim:], left-n
		}
	})
}

// draw draws the next points of trial i of the group, from a place on, and their labels. Others may
// have been drawn since the last ones.
func (e *evaluation) draw(i, place int, to []float64) {
	stream := &e.slot.streams[trial.TestPoints]
	if place == 0 {
		e.begin(e.group[i], trial.Target, trial.TestPoints)
	} else {
		e.begin(e.group[i], trial.Target)
		*stream = e.streams[i]
	}
	n := len(to) / e.job.pop.Dim()
	e.job.drawer.Test(to, part(e.y, i, e.scored)[place:place+n], nil)
	e.streams[i] = *stream
}

// gather fills to with the points of the given numbers.
func gather(to, points []float64, numbers []int32) {
	switch dim := len(to) / max(len(numbers), 1); dim {
	case 1:
		for place, number := range numbers {
			to[place] = points[number]
		}
	case 2:
		for place, number := range numbers {
			point := (*[2]float64)(points[2*int(number):])
			to[2*place], to[2*place+1] = point[0], point[1]
		}
	default:
		for place, number := range numbers {
			copy(to[place*dim:(place+1)*dim], points[int(number)*dim:])
		}
	}
}

// score scores trial i of the group.
func (e *evaluation) score(i int) {
	j, y := e.group[i], e.job.pop.Labels()
	if e.counted {
		e.scores.error[j] = shareWrong(e.wrong[i], len(y))
		return
	}
	answers := part(e.answers, i, e.places)
	if e.shared {
		e.scores.error[j] = rowsError(answers, e.job.pop.Places(), y)
		return
	}
	if !e.rows {
		y = part(e.y, i, e.scored)
	}
	if !e.drawn {
		order := part(e.order, i, e.places)
		for place, number := range order {
			e.sorted[number] = answers[place]
		}
		e.compare(j, answers[:e.alone], order)
		answers = e.sorted
	}
	if e.rule.looks != nil {
		for k := range e.rule.looks { // none where all have been taken
			e.rule.look(k, j, answers, y, e.scores)
		}
		return
	}
	e.scores.error[j] = populationError(answers[:e.scored], y, e.job.pop.Weights())
}
