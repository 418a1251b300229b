package worker

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// hasPoints reports whether the trials have evaluation points. A cell has none if the algorithm promises
// declared hypotheses, and the problem has a formula for the errors of its class.
func (x *session) hasPoints() bool { return x.job.drawer.TestLen() > 0 }

// refuseAnswers fails trials that answer points in a cell without any.
func (x *session) refuseAnswers(trials []int) {
	for _, j := range trials {
		x.scores.fail(j, "answer", "the algorithm promises declared hypotheses here, and this trial's model is none: "+
			"return one from Learn, or leave Declares out")
	}
}

// scoreDeclared sets the errors of trials whose models are declared hypotheses: by the formula of the problem
// if it has one for the hypothesis, and otherwise by its labels of the evaluation points.
func (x *session) scoreDeclared(trials []int) {
	e := &x.slot.evaluation
	var onRows []int
	for _, j := range trials {
		h := x.host.Declared(j)
		x.begin(j, trial.Target)
		if err, ok := x.job.drawer.Error(h); ok {
			x.scores.error[j] = err
			e.rule.computed(j, err)
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

// labelBlock is the number of points that are labeled together.
const labelBlock = 1024

// scoreOnPoints sets the error of a trial by the labels of a hypothesis on its evaluation points.
func (x *session) scoreOnPoints(j int, h concept.Hypothesis) {
	e, n, dim := &x.slot.evaluation, x.job.drawer.TestLen(), x.job.pop.Dim()
	e.answers, e.block = resized(e.answers, 2*n), resized(e.block, labelBlock*dim)
	labels, y := e.answers[:n], e.answers[n:]
	x.begin(j, trial.Target, trial.TestPoints)
	for from := 0; from < n; from += labelBlock {
		to := min(from+labelBlock, n)
		block := e.block[:(to-from)*dim]
		x.job.drawer.Test(block, y[from:to], nil)
		h.Labels(block, labels[from:to])
	}
	e.judge(j, labels, y)
}

// scoreOnRows sets the errors of trials by the labels of their hypotheses on all rows of the data. It multiplies a
// block of rows with the weights of all halfspaces at once.
func (x *session) scoreOnRows(trials []int) {
	if len(trials) == 0 {
		return
	}
	table, dim := x.job.pop.Population()
	n := len(table) / dim
	y := make([]float64, n) // by place
	for row, place := range x.job.pop.Places() {
		y[place] = x.job.pop.Labels()[row]
	}
	var linear, other []int
	for _, j := range trials {
		if _, ok := x.host.Declared(j).(concept.Linear); ok {
			linear = append(linear, j)
		} else {
			other = append(other, j)
		}
	}
	weights := blas64.General{Rows: dim, Cols: len(linear), Stride: max(1, len(linear))}
	weights.Data = make([]float64, dim*weights.Stride)
	products := make([]float64, labelBlock*weights.Stride)
	for t, j := range linear {
		for k, w := range x.host.Declared(j).(concept.Linear).W {
			weights.Data[k*weights.Stride+t] = w
		}
	}
	wrong, labels := make([]int, x.trials()), make([]float64, labelBlock)
	for from := 0; from < n; from += labelBlock {
		to := min(from+labelBlock, n)
		block, truth := table[from*dim:to*dim], y[from:to]
		if len(linear) > 0 {
			inner := blas64.General{Rows: to - from, Cols: len(linear), Stride: weights.Stride, Data: products}
			blas64.Gemm(blas.NoTrans, blas.NoTrans, 1,
				blas64.General{Rows: to - from, Cols: dim, Stride: dim, Data: block}, weights, 0, inner)
			for t, j := range linear {
				b := x.host.Declared(j).(concept.Linear).B
				for i, label := range truth {
					if products[i*weights.Stride+t] >= -b != (label > 0) {
						wrong[j]++
					}
				}
			}
		}
		for _, j := range other {
			x.host.Declared(j).Labels(block, labels[:to-from])
			for i, label := range truth {
				if labels[i] != label {
					wrong[j]++
				}
			}
		}
	}
	for _, j := range trials {
		x.scores.error[j] = float64(wrong[j]) / float64(n)
	}
}

// comparedPoints is the number of points on which a shuffled look compares the answers of a model with its
// declared hypothesis.
const comparedPoints = 64

// compareDeclared asks models about some points and fails each that answers otherwise than its declared hypothesis.
func (x *session) compareDeclared(ctx context.Context, trials []int) error {
	e, dim := &x.slot.evaluation, x.job.pop.Dim()
	for _, j := range trials {
		if x.scores.failed(j) {
			continue
		}
		points, labels := make([]float64, comparedPoints*dim), make([]float64, comparedPoints)
		x.begin(j, trial.Target, trial.TestPoints)
		x.job.drawer.Draw(points, labels)
		x.host.Declared(j).Labels(points, labels)
		rest := points
		e.counts[j] = comparedPoints
		x.slot.inPlugin.start()
		answers, faults, err := x.host.Step(ctx, e.counts, func(to []float64) { rest = rest[copy(to, rest):] })
		x.slot.inPlugin.stop()
		if e.counts[j] = 0; err != nil {
			return err
		}
		x.scores.fault(faults)
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
