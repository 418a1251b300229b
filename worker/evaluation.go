package worker

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// evaluation asks groups of trials for their answers on the evaluation points, and scores them.
//
// Each point of a trial has a number. A trial is asked about its points in another order, by places,
// and in chunks, so that an algorithm sees neither all points of a trial in one call, nor their
// numbers. Order and chunks are a function of the trial's keys. The error does not depend on them.
//
// An evaluation is the scratch memory of a slot and allocates nothing per trial in the long run.
type evaluation struct {
	*session
	points points
	drawn  drawn
	listed listed
	rows   rows
	rule   sequential

	group   []int     // the trials that are being asked
	counts  []uint32  // points in a step, by trial of the session
	spans   []span    // places, by trial of the group and step
	answers []float64 // by trial of the group and place
	block   []float64 // points that are labeled by a declared hypothesis
}

// points are the evaluation points of the trials of a session. Trial i of the group is trial j of the session.
type points interface {
	// begin prepares the points of a session and returns the number of places of a trial, the number of
	// steps in which it is asked about them, and the number of trials that are worth asking together.
	begin(e *evaluation) (places, steps, trials int)
	// arrange fills the spans of trial i of the group, one for each step.
	arrange(i, j int, spans []span)
	// fill writes the points of trial i at the places from a given one on into x, row-major.
	fill(i, j, place int, x []float64)
	// score sets the error of a trial that has answered at all places.
	score(i, j int, answers []float64)
}

// evaluate scores every trial that has not failed: those whose models are declared hypotheses without
// the plugin, and all others by their answers.
func (x *session) evaluate(ctx context.Context) error {
	e := &x.slot.evaluation
	e.session = x
	e.counts = resized(e.counts, x.trials())
	clear(e.counts)
	e.rule.begin(x)
	declared, asked := x.split()
	x.scoreDeclared(declared)
	if x.job.Recheck == trial.RecheckShuffled {
		if err := x.compareDeclared(ctx, declared); err != nil {
			return err
		}
	}
	switch {
	case len(asked) == 0:
		return nil
	case !x.hasPoints():
		x.refuseAnswers(asked)
		return nil
	}
	e.points = e.choose()
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

// split returns the trials that have not failed, with and without a declared hypothesis.
func (x *session) split() (declared, asked []int) {
	for j := range x.trials() {
		switch {
		case x.scores.failed(j):
		case x.host.Declared(j) != nil:
			declared = append(declared, j)
		default:
			asked = append(asked, j)
		}
	}
	return declared, asked
}

// choose returns the kind of points of the session.
func (e *evaluation) choose() points {
	switch recheck := e.job.Recheck == trial.RecheckShuffled; {
	case e.job.pop.rows != nil && !recheck:
		return &e.rows
	case !e.job.pop.Exact() && !recheck:
		return &e.drawn
	}
	return &e.listed
}

// resized returns s with n elements of any value.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// part returns what belongs to trial i of the group, in a list that holds n values of each.
func part[T any](all []T, i, n int) []T { return all[i*n : (i+1)*n] }

// askGroup asks and scores the group.
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
		if !e.scores.failed(j) && !e.rule.ended(j) {
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
	e.scores.fault(faults)
	return nil
}

// ask returns the answers of all trials of the group on their spans k.
func (e *evaluation) ask(ctx context.Context, k, steps int) ([]float64, []host.Fault, error) {
	e.slot.inPlugin.start()
	defer e.slot.inPlugin.stop()
	if e.points == &e.rows {
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
			e.points.fill(i, e.group[i], int(e.spans[i*steps+k].to)-left, to[:n*dim])
			to, left = to[n*dim:], left-n
		}
	})
}

// judge sets the error of a trial by its answers to all points, by number. Labels are y.
func (e *evaluation) judge(j int, answers, y []float64) {
	if e.rule.looks == nil {
		e.scores.error[j] = populationError(answers, y, e.job.pop.Weights())
		return
	}
	for k := range e.rule.looks {
		e.rule.look(k, j, answers, y, e.scores)
	}
}

// messagePoints is the number of points of a group for which a step, which holds a third of them as a
// rule, fills about one message.
const messagePoints = chunks * host.MaxAnswers * 5 / 6

// groupNumbers is the number of float64s that the points and answers of a group may take.
const groupNumbers = 64 << 20 / 8

// arranger returns a stream that arranges what a trial is asked about.
func (e *evaluation) arranger(j int) *rand.Rand {
	r := new(rand.PCG)
	if e.job.Recheck == trial.RecheckShuffled { // an order of its own
		r.Seed(trial.Seed(e.job.Cell.NoiseKey, trial.Order, uint64(e.job.N), e.repetition(j)))
	} else {
		r.Seed(e.dataSeed(trial.Order, j))
	}
	return rand.New(r)
}
