package adversary

import (
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/problem/law"
)

// fitter asks random points on the hyperplane through 0 that fits the answers so far. It fits the
// hyperplane anew after every five answers.
type fitter struct {
	game
	plane   law.Plane
	x, y    []float64 // the last queries and their answers
	last    []float64 // query
	answers int
}

// The answers that a fitter looks at, and how often: enough for a plane in any dimension that is
// played, and cheap over many queries.
const (
	fitEvery  = 5
	fitWindow = 256
	fitPasses = 20
)

func newFitter(g game) *fitter {
	q := &fitter{game: g, plane: law.Plane{Normal: make([]float64, g.class.Dim)}}
	q.plane.Begin(q.r)
	return q
}

// Next implements Queries.
func (q *fitter) Next(x []float64) float64 {
	q.plane.Draw(q.r, x)
	q.last = append(q.last[:0], x...)
	return q.truth(x)
}

// Observe implements Queries.
func (q *fitter) Observe(label float64, _ bool) {
	q.x, q.y = append(q.x, q.last...), append(q.y, label)
	if q.answers++; q.answers%fitEvery == 0 {
		q.fit()
	}
	if len(q.y) == 2*fitWindow { // older ones are not looked at again
		q.x, q.y = slices.Delete(q.x, 0, fitWindow*len(q.last)), slices.Delete(q.y, 0, fitWindow)
	}
}

// fit runs a perceptron over the last answers, from the plane as it is.
func (q *fitter) fit() {
	d, from := len(q.plane.Normal), max(0, len(q.y)-fitWindow)
	w := slices.Clone(q.plane.Normal)
	for range fitPasses {
		clean := true
		for i := from; i < len(q.y); i++ {
			along := 0.0
			for j, v := range q.x[i*d : (i+1)*d] {
				along += float64(v * w[j])
			}
			if along*q.y[i] > 0 {
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
	squared := 0.0
	for _, v := range w {
		squared += float64(v * v)
	}
	if norm := math.Sqrt(squared); norm > 1e-9 {
		for j := range w {
			q.plane.Normal[j] = w[j] / norm
		}
	}
}
