package problem

import (
	"math"
	"slices"

	"github.com/shatterlab/shatter/schemas"
)

// adapt makes the adaptive adversary of a class.
func (d *Drawer) adapt(q asker, a schemas.Adversary) Adversary {
	marks := a.Sees == seesMarks
	if _, ok := d.law.(*sphere); ok {
		return newFitter(q)
	}
	if d.p.spec.Class == matrix {
		return newSplitter(q, marks)
	}
	return newBisector(q, targetOf(&d.p.spec, "").(box), marks)
}

// bisector looks for the edge that the answers show, between a point outside the target and its middle, along the first number: an edge at t
// means +1 from t on. Once it is found it asks the two points beside it in turns. If it sees marks, a hard query x with the label l
// shows what every hypothesis must now agree with, and it begins anew inside what remains.
type bisector struct {
	asker
	marks     bool
	base      []float64
	top       float64 // of the domain
	low, high float64 // the edge by the answers lies in low..high
	least     float64 // the edge by the hard queries lies in least..most
	most      float64
	asked     float64
	turn      bool
}

func newBisector(q asker, target box, marks bool) *bisector {
	a := &bisector{asker: q, marks: marks, top: float64(side(&q.p.spec) - 1)}
	for j, low := range target.Low {
		a.base = append(a.base, math.Floor((low+target.High[j])/2))
	}
	a.most = a.base[0]
	if target.High[0] == a.top {
		a.most = a.top + 1 // it may be -1 everywhere
	}
	a.low, a.high = a.least, a.most
	return a
}

func (a *bisector) Next(x []float64) float64 {
	copy(x, a.base)
	if a.low < a.high {
		a.asked = math.Floor((a.low + a.high) / 2)
	} else {
		a.turn = !a.turn
		if a.asked = a.low; a.turn {
			a.asked--
		}
		a.asked = min(max(a.asked, 0), a.top)
	}
	x[0] = a.asked
	return a.truth(x)
}

func (a *bisector) Observe(label float64, hard bool) {
	if hard && a.marks {
		if label > 0 {
			a.most = min(a.most, max(a.asked, a.least))
		} else {
			a.least = max(a.least, min(a.asked+1, a.most))
		}
		a.low, a.high = a.least, a.most
		return
	}
	switch {
	case a.low >= a.high:
	case label > 0:
		a.high = a.asked
	default:
		a.low = a.asked + 1
	}
}

// fitter asks random points on the hyperplane through 0 that fits the answers so far, which it finds anew after every five of them.
type fitter struct {
	asker
	plane sphere    // u is the fitted normal vector
	x, y  []float64 // the last queries and their answers
	last  []float64 // query
	heard int       // answers
}

// The answers that a fitter looks at, and how often: enough for a plane in any dimension that is played, and cheap over many queries.
const (
	fitEvery  = 5
	fitWindow = 256
	fitPasses = 20
)

func newFitter(q asker) *fitter {
	a := &fitter{asker: q, plane: sphere{u: make([]float64, q.p.dim)}}
	a.plane.begin(q.r)
	return a
}

func (a *fitter) Next(x []float64) float64 {
	a.plane.onPlane(a.r, x)
	a.last = append(a.last[:0], x...)
	return a.truth(x)
}

func (a *fitter) Observe(label float64, _ bool) {
	a.x, a.y = append(a.x, a.last...), append(a.y, label)
	if a.heard++; a.heard%fitEvery == 0 {
		a.fit()
	}
	if len(a.y) == 2*fitWindow { // older ones are not looked at again
		a.x, a.y = slices.Delete(a.x, 0, fitWindow*len(a.last)), slices.Delete(a.y, 0, fitWindow)
	}
}

// fit runs a perceptron over the last answers, from the plane as it is.
func (a *fitter) fit() {
	d, from := len(a.plane.u), max(0, len(a.y)-fitWindow)
	w := slices.Clone(a.plane.u)
	for range fitPasses {
		clean := true
		for i := from; i < len(a.y); i++ {
			along := 0.0
			for j, v := range a.x[i*d : (i+1)*d] {
				along += float64(v * w[j])
			}
			if along*a.y[i] > 0 {
				continue
			}
			clean = false
			for j, v := range a.x[i*d : (i+1)*d] {
				w[j] += float64(a.y[i] * v)
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
			a.plane.u[j] = w[j] / norm
		}
	}
}

// splitter keeps the rows of the class matrix that agree with the answers, and asks the column that splits them most evenly, the first of
// equal ones; where none does, a random column. An answer that no row agrees with is passed over. If it sees marks, the answer to a
// hard query is what every hypothesis must now agree with, and it begins anew with the rows that do.
type splitter struct {
	asker
	marks  bool
	width  int
	rows   []string // all that agree with the hard queries
	alive  []string // of these, those that agree with the answers since
	column int
	stale  bool // alive has changed since column was chosen
}

func newSplitter(q asker, marks bool) *splitter {
	a := &splitter{asker: q, marks: marks, width: int(q.p.domain), stale: true}
	for at := 0; at < len(q.p.matrix); at += a.width {
		a.rows = append(a.rows, q.p.matrix[at:at+a.width])
	}
	a.alive = slices.Clone(a.rows)
	return a
}

func (a *splitter) Next(x []float64) float64 {
	if a.stale {
		a.column, a.stale = a.best(), false
	}
	x[0] = float64(a.column)
	if a.column < 0 {
		x[0] = float64(a.r.IntN(a.width))
	}
	return a.truth(x)
}

// best is the column that splits alive most evenly; -1 where none does.
func (a *splitter) best() (column int) {
	column, most := -1, 0
	for v := range a.width {
		ones := 0
		for _, row := range a.alive {
			ones += int(row[v] - '0')
		}
		if smaller := min(ones, len(a.alive)-ones); smaller > most {
			column, most = v, smaller
		}
	}
	return column
}

func (a *splitter) Observe(label float64, hard bool) {
	if a.column < 0 {
		return
	}
	agree := func(rows []string) []string {
		return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return (row[a.column] == '1') != (label > 0) })
	}
	from := a.alive
	if hard && a.marks {
		from = a.rows
	}
	left := agree(from)
	if len(left) == 0 {
		return
	}
	a.alive, a.stale = left, true
	if hard && a.marks {
		a.rows = slices.Clone(left)
	}
}
