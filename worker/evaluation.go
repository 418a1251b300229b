package worker

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// An evaluation asks groups of trials for their answers on the evaluation points, and scores them.
//
// Each point of a trial has a number. The trial is asked about its points in another order, by places, and in chunks.
// So an algorithm sees neither all points of a trial in one call nor their numbers. Order and chunks are a function
// of the trial's keys. The error does not depend on them.
//
// An evaluation is scratch memory of a slot: after the first sessions it allocates nothing per trial.
type evaluation struct {
	*session
	points pointSource
	drawn  drawnPoints
	listed listedPoints
	rows   sharedRows
	rule   sequentialRule

	group   []int     // trials of the present group
	counts  []uint32  // points in a step, by trial of the session
	spans   []span    // places, by trial of the group and step
	answers []float64 // answers, by trial of the group and place
	block   []float64 // points for a declared hypothesis to label
}

// A pointSource provides the evaluation points of a session's trials. Trial i of the group is trial j of the session.
type pointSource interface {
	// begin prepares the points of a session. It returns the number of places per trial, the number of steps in
	// which they are asked, and the number of trials in a group.
	begin(e *evaluation) (places, steps, trials int)
	// arrange fills the spans of trial i, one per step.
	arrange(i, j int, spans []span)
	// fill writes the points of trial i into x, row-major, beginning at a place.
	fill(i, j, place int, x []float64)
	// score sets the error of a trial from its answers, by place.
	score(i, j int, answers []float64)
}

// evaluate scores every trial of a session that has not failed: declared hypotheses without the plugin, all other
// models by their answers.
func (e *evaluation) evaluate(ctx context.Context, x *session) error {
	e.session = x
	e.counts = resized(e.counts, e.trials())
	clear(e.counts)
	e.rule.reset(x)
	declared, asked := e.split()
	e.scoreDeclared(declared)
	if e.job.Recheck == trial.RecheckShuffled {
		if err := e.compareDeclared(ctx, declared); err != nil {
			return err
		}
	}
	switch {
	case len(asked) == 0:
		return nil
	case !e.hasPoints():
		e.refuseAnswers(asked)
		return nil
	}
	e.points = e.choosePoints()
	places, steps, most := e.points.begin(e)
	most = max(1, min(most, len(asked)))
	e.spans, e.answers = resized(e.spans, most*steps), resized(e.answers, most*places)
	for group := range slices.Chunk(asked, most) {
		e.group = group
		if err := e.askGroup(ctx, places, steps); err != nil {
			return err
		}
	}
	return nil
}

// split returns the trials that have not failed, those with a declared hypothesis apart from the others.
func (e *evaluation) split() (declared, asked []int) {
	for j := range e.trials() {
		switch {
		case e.scores.failed(j):
		case e.host.Declared(j) != nil:
			declared = append(declared, j)
		default:
			asked = append(asked, j)
		}
	}
	return declared, asked
}

func (e *evaluation) choosePoints() pointSource {
	switch recheck := e.job.Recheck == trial.RecheckShuffled; {
	case e.job.pop.rows != nil && !recheck:
		return &e.rows
	case !e.job.pop.Exact() && !recheck:
		return &e.drawn
	}
	return &e.listed
}

// resized returns s with length n. The values are arbitrary.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// part returns the values of trial i in a list of n values per trial.
func part[T any](all []T, i, n int) []T { return all[i*n : (i+1)*n] }

// askGroup asks the group about all places, step by step, and scores it.
func (e *evaluation) askGroup(ctx context.Context, places, steps int) error {
	for i, j := range e.group {
		e.points.arrange(i, j, part(e.spans, i, steps))
	}
	for k := range steps {
		if err := e.step(ctx, k, places, steps); err != nil {
			return err
		}
		if e.points == &e.drawn && e.drawn.look(k) {
			break
		}
	}
	for i, j := range e.group {
		if !e.scores.failed(j) {
			e.points.score(i, j, part(e.answers, i, places))
		}
	}
	return nil
}

// step asks each trial of the group that has not failed about its span k.
func (e *evaluation) step(ctx context.Context, k, places, steps int) error {
	for i, j := range e.group {
		e.counts[j] = 0
		if !e.scores.failed(j) && !e.rule.done(j) {
			e.counts[j] = uint32(e.spans[i*steps+k].len())
		}
	}
	answers, faults, err := e.ask(ctx, k, steps)
	if err != nil {
		return err
	}
	for i, j := range e.group {
		n := int(e.counts[j])
		copy(part(e.answers, i, places)[e.spans[i*steps+k].from:], answers[:n])
		answers, e.counts[j] = answers[n:], 0
	}
	e.scores.addFaults(faults)
	return nil
}

// ask returns the answers of all trials of the group on their spans k.
func (e *evaluation) ask(ctx context.Context, k, steps int) ([]float64, []host.Fault, error) {
	e.slot.pluginTimer.start()
	defer e.slot.pluginTimer.stop()
	if e.points == &e.rows {
		return e.host.StepShared(ctx, e.counts, uint64(e.spans[k].from))
	}
	i, left, dim := -1, 0, e.job.pop.Dim()
	return e.host.Step(ctx, e.counts, func(to []float64) {
		e.slot.pluginTimer.stop()
		defer e.slot.pluginTimer.start()
		for len(to) > 0 {
			for left == 0 {
				i++
				left = int(e.counts[e.group[i]])
			}
			n := min(left, len(to)/dim)
			e.points.fill(i, e.group[i], int(e.spans[i*steps+k].to)-left, to[:n*dim])
			to, left = to[n*dim:], left-n
		}
	})
}

// scoreAnswers sets the error of a trial from its answers and the labels y of all points, both by number.
func (e *evaluation) scoreAnswers(j int, answers, y []float64) {
	if e.rule.looks == nil {
		e.scores.error[j] = populationError(answers, y, e.job.pop.Weights())
		return
	}
	for k := range e.rule.looks {
		e.rule.look(k, j, answers, y, e.scores)
	}
}

// messagePoints is the number of points per group for which one step fills about one message: a step usually holds a
// third of the points.
const messagePoints = chunks * host.MaxAnswers * 5 / 6

// groupNumbers limits the float64s in the points and answers of a group.
const groupNumbers = 64 << 20 / 8

// orderStream returns the random stream for the order and chunks of a trial's points.
func (e *evaluation) orderStream(j int) *rand.Rand {
	r := new(rand.PCG)
	if e.job.Recheck == trial.RecheckShuffled { // rechecks use another order
		r.Seed(trial.Seed(e.job.Cell.NoiseKey, trial.Order, uint64(e.job.N), e.repetition(j)))
	} else {
		r.Seed(e.dataSeed(trial.Order, j))
	}
	return rand.New(r)
}
