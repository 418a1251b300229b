package worker

import (
	"context"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// hasPoints reports whether the trials have evaluation points. They have none if the algorithm promises declared
// hypotheses and the problem has a formula for the errors of its class.
func (x *session) hasPoints() bool { return x.job.drawer.TestLen() > 0 }

// refuseAnswers fails trials without a declared hypothesis, in a cell without evaluation points.
func (x *session) refuseAnswers(trials []int) {
	for _, j := range trials {
		x.scores.fail(j, "answer", "the algorithm promises declared hypotheses here, and this trial's model is none: "+
			"return one from Learn, or leave Declares out")
	}
}

// scoreDeclared sets the errors of trials with declared hypotheses. It uses the problem's formula for the hypothesis
// or, if there is none, the hypothesis's labels of the evaluation points.
func (x *session) scoreDeclared(trials []int) {
	e := &x.slot.evaluation
	var onRows []int
	for _, j := range trials {
		h := x.host.Declared(j)
		x.beginTrial(j, trial.Target)
		if err, ok := x.job.drawer.Error(h); ok {
			x.scores.error[j] = err
			e.rule.recordComputed(j, err)
			continue
		}
		switch {
		case !x.hasPoints():
			x.scores.fail(j, "answer", fmt.Sprintf("the algorithm promises hypotheses of the class %s, and this %T is none "+
				"whose error has a formula: declare one of the class, or leave Declares out", x.job.Cell.Problem.Class, h))
		case x.job.pop.rows != nil:
			onRows = append(onRows, j)
		default:
			x.scoreOnPoints(j, h)
		}
	}
	x.scoreOnRows(onRows)
}

// labelBlock is the number of points that a hypothesis labels per call.
const labelBlock = 512

// scoreOnPoints sets the error of a trial from the labels of h on the trial's evaluation points.
func (x *session) scoreOnPoints(j int, h concept.Hypothesis) {
	e, n, dim := &x.slot.evaluation, x.job.drawer.TestLen(), x.job.pop.Dim()
	e.answers, e.block = resized(e.answers, 2*n), resized(e.block, labelBlock*dim)
	labels, y := e.answers[:n], e.answers[n:]
	x.beginTrial(j, trial.Target, trial.TestPoints)
	for from := 0; from < n; from += labelBlock {
		to := min(from+labelBlock, n)
		block := e.block[:(to-from)*dim]
		x.job.drawer.Test(block, y[from:to], nil)
		h.Labels(block, labels[from:to])
	}
	e.scoreAnswers(j, labels, y)
}

// scoreOnRows sets the errors of trials from the labels of their hypotheses on all rows of the data. All hypotheses
// label a block of rows before the next block is read from memory.
func (x *session) scoreOnRows(trials []int) {
	if len(trials) == 0 {
		return
	}
	table, dim := x.job.pop.Population()
	y, labels := make([]float64, len(table)/dim), make([]float64, labelBlock)
	for row, place := range x.job.pop.Places() {
		y[place] = x.job.pop.Labels()[row]
	}
	wrong := make([]int, x.trials())
	for from := 0; from < len(y); from += labelBlock {
		truth := y[from:min(from+labelBlock, len(y))]
		block := table[from*dim : (from+len(truth))*dim]
		for _, j := range trials {
			x.host.Declared(j).Labels(block, labels[:len(truth)])
			for i, label := range truth {
				if labels[i] != label {
					wrong[j]++
				}
			}
		}
	}
	for _, j := range trials {
		x.scores.error[j] = float64(wrong[j]) / float64(len(y))
	}
}

// comparedPoints is the number of points on which a shuffled recheck compares a model with its declared hypothesis.
const comparedPoints = 64

// compareDeclared asks models about random points and fails each model that deviates from its declared hypothesis.
func (x *session) compareDeclared(ctx context.Context, trials []int) error {
	e, dim := &x.slot.evaluation, x.job.pop.Dim()
	for _, j := range trials {
		if x.scores.failed(j) {
			continue
		}
		points, labels := make([]float64, comparedPoints*dim), make([]float64, comparedPoints)
		x.beginTrial(j, trial.Target, trial.TestPoints)
		x.job.drawer.Draw(points, labels)
		x.host.Declared(j).Labels(points, labels)
		rest := points
		e.counts[j] = comparedPoints
		x.slot.pluginTimer.start()
		answers, faults, err := x.host.Step(ctx, e.counts, func(to []float64) { rest = rest[copy(to, rest):] })
		x.slot.pluginTimer.stop()
		if e.counts[j] = 0; err != nil {
			return err
		}
		x.scores.addFaults(faults)
		for i, a := range answers {
			if a != labels[i] {
				x.scores.fail(j, string(schemas.CauseDeclared), fmt.Sprintf("%v: point %v is answered %v, and the hypothesis "+
					"labels it %v", schemas.CauseDeclared, points[i*dim:(i+1)*dim], a, labels[i]))
				break
			}
		}
	}
	return nil
}
