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
func (e *evaluation) hasPoints() bool { return e.job.drawer.TestLen() > 0 }

// refuseAnswers fails trials without a declared hypothesis, in a cell without evaluation points.
func (e *evaluation) refuseAnswers(trials []int) {
	for _, j := range trials {
		e.scores.fail(j, "answer", "the algorithm promises declared hypotheses here, and this trial's model is none: "+
			"return one from Learn, or leave Declares out")
	}
}

// scoreDeclared sets the errors of trials with declared hypotheses. It uses the problem's formula for the hypothesis
// or, if there is none, the hypothesis's labels of the evaluation points.
func (e *evaluation) scoreDeclared(trials []int) {
	var onRows []int
	for _, j := range trials {
		h := e.host.Declared(j)
		e.beginTrial(j, trial.Target)
		if err, ok := e.job.drawer.Error(h); ok {
			e.scores.error[j] = err
			e.rule.recordComputed(j, err)
			continue
		}
		switch {
		case !e.hasPoints():
			e.scores.fail(j, "answer", fmt.Sprintf("the algorithm promises hypotheses of the class %s, and this %T is none "+
				"whose error has a formula: declare one of the class, or leave Declares out", e.job.Cell.Problem.Class, h))
		case e.job.pop.rows != nil:
			onRows = append(onRows, j)
		default:
			e.scoreOnPoints(j, h)
		}
	}
	e.scoreOnRows(onRows)
}

// labelBlock is the number of points that a hypothesis labels per call.
const labelBlock = 512

// scoreOnPoints sets the error of a trial from the labels of h on the trial's evaluation points.
func (e *evaluation) scoreOnPoints(j int, h concept.Hypothesis) {
	n, dim := e.job.drawer.TestLen(), e.job.pop.Dim()
	e.answers, e.block = resized(e.answers, 2*n), resized(e.block, labelBlock*dim)
	labels, y := e.answers[:n], e.answers[n:]
	e.beginTrial(j, trial.Target, trial.TestPoints)
	for from := 0; from < n; from += labelBlock {
		to := min(from+labelBlock, n)
		block := e.block[:(to-from)*dim]
		e.job.drawer.Test(block, y[from:to], nil)
		h.Labels(block, labels[from:to])
	}
	e.scoreAnswers(j, labels, y)
}

// scoreOnRows sets the errors of trials from the labels of their hypotheses on all rows of the data. All hypotheses
// label a block of rows before the next block is read from memory.
func (e *evaluation) scoreOnRows(trials []int) {
	if len(trials) == 0 {
		return
	}
	table, dim := e.job.pop.Population()
	y, labels := make([]float64, len(table)/dim), make([]float64, labelBlock)
	for row, place := range e.job.pop.Places() {
		y[place] = e.job.pop.Labels()[row]
	}
	wrong := make([]int, e.trials())
	for from := 0; from < len(y); from += labelBlock {
		truth := y[from:min(from+labelBlock, len(y))]
		block := table[from*dim : (from+len(truth))*dim]
		for _, j := range trials {
			e.host.Declared(j).Labels(block, labels[:len(truth)])
			for i, label := range truth {
				if labels[i] != label {
					wrong[j]++
				}
			}
		}
	}
	for _, j := range trials {
		e.scores.error[j] = float64(wrong[j]) / float64(len(y))
	}
}

// comparedPoints is the number of points on which a shuffled recheck compares a model with its declared hypothesis.
const comparedPoints = 64

// compareDeclared asks models about random points and fails each model that deviates from its declared hypothesis.
func (e *evaluation) compareDeclared(ctx context.Context, trials []int) error {
	dim := e.job.pop.Dim()
	for _, j := range trials {
		if e.scores.failed(j) {
			continue
		}
		points, labels := make([]float64, comparedPoints*dim), make([]float64, comparedPoints)
		e.beginTrial(j, trial.Target, trial.TestPoints)
		e.job.drawer.Draw(points, labels)
		e.host.Declared(j).Labels(points, labels)
		rest := points
		e.counts[j] = comparedPoints
		e.slot.pluginTimer.start()
		answers, faults, err := e.host.Step(ctx, e.counts, func(to []float64) { rest = rest[copy(to, rest):] })
		e.slot.pluginTimer.stop()
		if e.counts[j] = 0; err != nil {
			return err
		}
		e.scores.addFaults(faults)
		for i, a := range answers {
			if a != labels[i] {
				e.scores.fail(j, string(schemas.CauseDeclared), fmt.Sprintf("%v: point %v is answered %v, and the hypothesis "+
					"labels it %v", schemas.CauseDeclared, points[i*dim:(i+1)*dim], a, labels[i]))
				break
			}
		}
	}
	return nil
}
