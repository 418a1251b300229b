package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// An evaluation measures the errors of models of a session's trials on points.
//
// The points of a trial have numbers. A model is asked about them in steps and, except about independent points, in
// random order, so that an algorithm sees neither all points in one call nor their numbers. Order and steps are a
// function of the trial's keys. The error does not depend on them.
//
// A trial ends when a look shows that its error is clear: see [problem.Clear]. Each look depends only on the answers
// to the points before it. A shuffled recheck asks about all points and applies the same looks afterwards. It
// therefore detects an algorithm that changes its answers after the first look, which reveals that its error is near
// the goal.
type evaluation struct {
	*session
	count   int       // number of points per trial; 0: errors are computed by a formula
	drawn   bool      // points are independent and drawn when they are asked; else they are a support or rows of data
	x, y    []float64 // points and labels that all trials share, by number; nil: each trial has its own
	weights []float64 // weights of the points; nil: all are equal
	table   bool      // x is the table of rows that the plugin has
	looks   []int     // numbers of points after which a trial may end; the last is count
	steps   []int     // numbers of points after each step
	alone   int       // number of points that are asked one by one first
}

// An exam holds the points of one trial and the answers of its model, by number.
type exam struct {
	trial             int
	x, y              []float64 // points that have been drawn, row-major, and their labels
	answers           []float64
	order             []int32  // numbers of the points in the order in which they are asked; nil: ascending
	stream            rand.PCG // stream of the points that have not been drawn
	looks             int      // number of looks so far
	error, firstError float64  // errors at the last look and at the first one
	pointsRead        int      // number of points at the last look if the trial is done; else 0
}

func (x *session) shuffled() bool { return x.job.Recheck == trial.RecheckShuffled }

// newEvaluation returns the evaluation of final models.
func (x *session) newEvaluation() *evaluation {
	pop := x.job.pop
	e := &evaluation{
		session: x, count: x.job.drawer.TestLen(), drawn: !pop.Exact(), weights: pop.Weights(),
		looks: x.job.Cell.Evaluation.Looks,
	}
	switch {
	case pop.rows != nil:
		e.x, _ = pop.Population()
		e.y, e.table = pop.labels, !x.shuffled()
	case pop.Exact() && pop.Labels() == nil:
		e.x = pop.Points()
	}
	if e.looks == nil {
		e.looks = []int{e.count}
	}
	if x.shuffled() {
		e.alone, e.steps = min(askedAlone, e.count), []int{e.count}
	} else {
		e.steps = append(thirds(e.looks[0], rand.New(e.orderStream(trial.AllRepetitions))), e.looks...)
	}
	return e
}

// Evaluate implements [task.Player].
func (x *session) Evaluate(ctx context.Context) (task.Played, error) {
	e := x.newEvaluation()
	first, read := make([]float64, x.trials()), make([]float64, x.trials())
	record := func(t *exam) {
		x.scores.error[t.trial], first[t.trial], read[t.trial] = t.error, t.firstError, float64(t.pointsRead)
	}
	var declared, asked []int
	for j := range x.trials() {
		switch h := x.host.Declared(j); {
		case x.scores.failed(j):
		case h != nil:
			declared = append(declared, j)
			e.scoreDeclared(j, h, record)
		case e.count == 0:
			x.scores.fail(j, "answer", "the algorithm promises declared hypotheses here, and this trial's model is none: "+
				"return one from Learn, or leave Declares out")
		default:
			asked = append(asked, j)
		}
	}
	if x.shuffled() {
		if err := x.compareDeclared(ctx, declared); err != nil {
			return task.Played{}, err
		}
	}
	if err := e.measure(ctx, asked, record); err != nil || x.job.Cell.Evaluation.Looks == nil {
		return task.Played{}, err
	}
	return task.Played{Metrics: map[string][]float64{task.FirstError: first, task.PointsRead: read}}, nil
}

// groupNumbers limits the float64s in the points and answers of the trials that are asked together.
const groupNumbers = 64 << 20 / 8

// measure asks the models of trials about their points. It passes each exam to record unless its trial fails.
func (e *evaluation) measure(ctx context.Context, trials []int, record func(*exam)) error {
	size := max(1, groupNumbers/(max(1, e.count)*(e.job.pop.Dim()+3)))
	for group := range slices.Chunk(trials, size) {
		exams := make([]*exam, len(group))
		for i, j := range group {
			exams[i] = e.newExam(j)
			e.setOrder(exams[i])
		}
		if err := e.askGroup(ctx, exams); err != nil {
			return err
		}
		for _, t := range exams {
			if !e.scores.failed(t.trial) {
				record(t)
			}
		}
	}
	return nil
}

func (e *evaluation) newExam(j int) *exam {
	t := &exam{trial: j, x: e.x, y: e.y, answers: make([]float64, e.count)}
	t.stream.Seed(e.dataSeed(trial.TestPoints, j))
	if e.drawn || e.y != nil {
		return t
	}
	e.beginTrial(j, trial.Target, trial.TestPoints)
	var x []float64
	if e.x == nil {
		x = make([]float64, e.count*e.job.pop.Dim())
		t.x = x
	}
	t.y = make([]float64, e.count)
	e.job.drawer.Test(x, t.y, nil)
	return t
}

// setOrder sets a random order unless the order of the points cannot reveal anything. Rechecks use another order.
func (e *evaluation) setOrder(t *exam) {
	if (e.drawn || e.table) && !e.shuffled() {
		return
	}
	e.draw([]*exam{t}, e.count)
	t.order = make([]int32, e.count)
	for i := range t.order {
		t.order[i] = int32(i)
	}
	shuffle(t.order, rand.New(e.orderStream(e.repetition(t.trial))))
}

func (e *evaluation) orderStream(repetition uint32) *rand.PCG {
	key := e.job.Cell.DataKey
	if e.shuffled() {
		key = e.job.Cell.NoiseKey
	}
	r := new(rand.PCG)
	r.Seed(trial.Seed(key, trial.Order, uint64(e.job.N), repetition))
	return r
}

func shuffle(order []int32, r *rand.Rand) {
	r.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
}

// draw draws the points of trials up to a number, or more.
func (e *evaluation) draw(exams []*exam, to int) {
	if !e.drawn {
		return
	}
	exams = slices.DeleteFunc(slices.Clone(exams), func(t *exam) bool { return len(t.y) >= to })
	to = min(e.job.drawer.Block(to), e.count)
	if e.job.pop.Generated() {
		for _, t := range exams {
			e.resume(t)
			e.job.drawer.AnnouncePoints(len(t.y), to-len(t.y))
		}
	}
	for _, t := range exams {
		from, dim, stream := len(t.y), e.job.pop.Dim(), e.resume(t)
		t.x, t.y = append(t.x, make([]float64, (to-from)*dim)...), append(t.y, make([]float64, to-from)...)
		e.job.drawer.Draw(from, t.x[from*dim:], t.y[from:])
		if !e.job.pop.Generated() { // a plugin numbers all points of one stream
			t.stream = *stream
		}
	}
}

// resume begins a trial at the place of its stream of points, which it returns.
func (e *evaluation) resume(t *exam) *rand.PCG {
	e.beginTrial(t.trial, trial.Target)
	stream := &e.slot.streams[trial.TestPoints]
	*stream = t.stream
	return stream
}

// thirds returns two random places near the thirds of n points. No part has more than two thirds, rounded up.
func thirds(n int, r *rand.Rand) []int { return []int{n/6 + r.IntN(n/3+1), n/2 + r.IntN(n/3+1)} }

// askGroup asks trials about all their points, step by step, until the error of each is clear.
func (e *evaluation) askGroup(ctx context.Context, exams []*exam) error {
	points := make([][]float64, e.trials())
	for _, t := range exams {
		if e.alone > 0 {
			last := slices.Clone(t.order[e.count-e.alone:])
			slices.Reverse(last)
			points[t.trial] = e.gather(t, last)
		}
	}
	alone, err := e.askAlone(ctx, points, e.alone)
	if err != nil {
		return err
	}
	from := 0
	for _, to := range e.steps {
		if err := e.step(ctx, exams, from, to); err != nil {
			return err
		}
		from = to
	}
	for _, t := range exams {
		for k, a := range alone[t.trial] {
			number := t.order[e.count-1-k]
			e.scores.compareAlone(t.trial, int(number), e.count, a, t.answers[number])
		}
	}
	return nil
}

func (e *evaluation) gather(t *exam, numbers []int32) (x []float64) {
	dim := e.job.pop.Dim()
	x = make([]float64, 0, len(numbers)*dim)
	for _, number := range numbers {
		x = append(x, t.x[int(number)*dim:int(number+1)*dim]...)
	}
	return x
}

// step asks the trials that are not done about their points from..to-1 in order, and looks at their errors.
func (e *evaluation) step(ctx context.Context, exams []*exam, from, to int) (err error) {
	points, dim := make([][]float64, e.trials()), e.job.pop.Dim()
	asked := slices.DeleteFunc(slices.Clone(exams), func(t *exam) bool {
		return t.pointsRead > 0 || from == to || e.scores.failed(t.trial)
	})
	e.draw(asked, to)
	for _, t := range asked {
		if t.order != nil {
			points[t.trial] = e.gather(t, t.order[from:to])
		} else {
			points[t.trial] = t.x[from*dim : to*dim]
		}
	}
	var answers [][]float64
	if e.table {
		answers, err = e.askRows(ctx, points, from)
	} else {
		answers, err = e.ask(ctx, points)
	}
	if err != nil {
		return err
	}
	for _, t := range exams {
		for i, a := range answers[t.trial] {
			number := from + i
			if t.order != nil {
				number = int(t.order[number])
			}
			t.answers[number] = a
		}
		if t.order == nil || to == e.count {
			e.look(t, to)
		}
	}
	return nil
}

// look takes the next looks at a trial whose first points have been answered.
func (e *evaluation) look(t *exam, answered int) {
	for t.pointsRead == 0 && e.looks[t.looks] <= answered {
		n := e.looks[t.looks]
		t.error = populationError(t.answers[:n], t.y[:n], e.weights)
		if t.looks == 0 {
			t.firstError = t.error
		}
		if n == e.count || problem.Clear(t.error, n, e.job.Cell.Reference+e.job.Cell.Alpha) {
			t.pointsRead = n
		}
		t.looks++
	}
}

// scoreDeclared measures the error of a trial with a declared hypothesis, without the plugin: by the problem's formula
// or, if there is none, from the hypothesis's labels of the evaluation points.
func (e *evaluation) scoreDeclared(j int, h concept.Hypothesis, record func(*exam)) {
	e.beginTrial(j, trial.Target)
	if err, ok := e.job.drawer.Error(h); ok {
		record(&exam{trial: j, error: err, firstError: err})
		return
	}
	if e.count == 0 {
		e.scores.fail(j, "answer", fmt.Sprintf("the algorithm promises hypotheses of the class %s, and this %T is none "+
			"whose error has a formula: declare one of the class, or leave Declares out", e.job.Cell.Problem.Class, h))
		return
	}
	t, dim, from := e.newExam(j), e.job.pop.Dim(), 0
	for _, to := range e.looks {
		if t.pointsRead == 0 {
			e.draw([]*exam{t}, to)
			h.Labels(t.x[from*dim:to*dim], t.answers[from:to])
			e.look(t, to)
			from = to
		}
	}
	record(t)
}

// comparedPoints is the number of points on which a shuffled recheck compares a model with its declared hypothesis.
const comparedPoints = 64

// compareDeclared asks models about random points and fails each model that deviates from its declared hypothesis.
func (x *session) compareDeclared(ctx context.Context, trials []int) error {
	points, labels, dim := make([][]float64, x.trials()), make([]float64, comparedPoints), x.job.pop.Dim()
	for _, j := range trials {
		points[j] = make([]float64, comparedPoints*dim)
		x.beginTrial(j, trial.Target, trial.TestPoints)
		x.job.drawer.Draw(0, points[j], labels)
	}
	answers, err := x.ask(ctx, points)
	if err != nil {
		return err
	}
	for _, j := range trials {
		x.host.Declared(j).Labels(points[j], labels)
		for i, a := range answers[j] {
			if a != labels[i] {
				x.scores.fail(j, string(schemas.CauseDeclared), fmt.Sprintf("%v: point %v is answered %v, and the hypothesis "+
					"labels it %v", schemas.CauseDeclared, points[j][i*dim:(i+1)*dim], a, labels[i]))
				break
			}
		}
	}
	return nil
}
