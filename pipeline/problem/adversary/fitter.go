package adversary

import (
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
)

// fitter asks random points on the hyperplane through 0 that fits the previous answers. It refits
// the hyperplane after every five answers. If it sees marks, it assumes that every hypothesis
// contains the hard queries. It then discards the answers before the last of them. Both the
// fitted normal and the queries are orthogonal to all hard queries, as long as the orthogonal
// space is at least a plane.
type fitter struct {
	game
	marks   bool
	hard    [][]float64 // an orthonormal basis of the hard queries
	plane   distribution.Plane
	x, y    []float64 // the last queries and their answers
	last    []float64 // last query
	answers int
}

// The number of answers that a fitter uses, and the interval between fits: enough for a plane in
// all dimensions in use, and cheap over many queries.
const (
	fitEvery  = 5
	fitWindow = 256
	fitPasses = 20
)

func newFitter(g game, marks bool) *fitter {
	q := &fitter{game: g, marks: marks, plane: distribution.Plane{Normal: make([]float64, g.class.Dim)}}
	q.plane.Begin(q.r)
	return q
}

// Next implements Queries.
func (q *fitter) Next(x []float64) float64 {
	q.plane.Draw(q.r, x)
	for len(q.hard) > 0 && !q.project(x) { // rarely more than once
		q.plane.Draw(q.r, x)
	}
	q.last = append(q.last[:0], x...)
	return q.truth(x)
}

// Observe implements Queries.
func (q *fitter) Observe(label float64, hard bool) {
	if hard && q.marks && q.restrict() {
		return
	}
	q.x, q.y = append(q.x, q.last...), append(q.y, label)
	if q.answers++; q.answers%fitEvery == 0 {
		q.fit()
	}
	if len(q.y) == 2*fitWindow { // older answers are not used
		q.x, q.y = slices.Delete(q.x, 0, fitWindow*len(q.last)), slices.Delete(q.y, 0, fitWindow)
	}
}

// restrict adds the last query to the hard ones and restarts, unless less than a plane would
// remain.
func (q *fitter) restrict() bool {
	u := slices.Clone(q.last)
	if len(u)-len(q.hard) <= 2 || !q.project(u) {
		return false
	}
	q.hard = append(q.hard, u)
	q.x, q.y, q.answers = q.x[:0], q.y[:0], 0
	for !q.project(q.plane.Normal) {
		q.plane.Begin(q.r)
	}
	return true
}

// project removes the components along the hard queries from x and scales it to norm 1. It
// returns false if too little of it remains.
func (q *fitter) project(x []float64) bool {
	const least = 1e-6
	for range 2 { // the second iteration removes rounding errors
		for _, u := range q.hard {
			along := numeric.Dot(x, u)
			for j := range x {
				x[j] -= float64(along * u[j])
			}
		}
		norm := math.Sqrt(numeric.Dot(x, x))
		if norm < least {
			return false
		}
		for j := range x {
			x[j] /= norm
		}
	}
	return true
}

// fit runs a perceptron over the last answers, starting from the current plane.
func (q *fitter) fit() {
	d, from := len(q.plane.Normal), max(0, len(q.y)-fitWindow)
	w := slices.Clone(q.plane.Normal)
	for range fitPasses {
		clean := true
		for i := from; i < len(q.y); i++ {
			if numeric.Dot(q.x[i*d:(i+1)*d], w)*q.y[i] > 0 {
				continue
			}
			clean = false
			for j, v := range q.x[i*d : (i+1)*d] {
				w[j] += float64(q.y[i] * v)
			}
		}
		if clean {
			break
		}
	}
	if norm := math.Sqrt(numeric.Dot(w, w)); norm > 1e-9 {
		for j := range w {
			q.plane.Normal[j] = w[j] / norm
		}
	}
}
