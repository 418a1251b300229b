package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/schemas"
)

// The kinds of adversaries that ask queries. See the package comment.
const (
	boundary   = "boundary"
	repeat     = "repeat"
	stochastic = "stochastic"
	adaptive   = "adaptive"

	seesLabels = "labels"
	seesMarks  = "marks"
)

// Adversary asks the queries of one game. It knows the problem with its target, and what was answered; never the sample, nor the
// algorithm's parameters or randomness.
type Adversary interface {
	// Next writes the next query into x, Dim numbers inside the domain, and gives its clean label.
	Next(x []float64) (truth float64)
	// Observe tells the answer to the last query and whether it was marked as hard.
	Observe(label float64, hard bool)
}

// ResolveAdversary validates an adversary for a resolved problem and fills in what it sees. The error is an *Error whose key starts with
// "adversary".
func ResolveAdversary(p *schemas.Problem, a *schemas.Adversary) error {
	refuse := func(key, format string, args ...any) error {
		return &Error{Key: key, Reason: fmt.Sprintf(format, args...)}
	}
	kinds := kindsOf(p)
	edges := shapeOf(p.Class) != vector && a.Kind == boundary
	switch {
	case a.Kind == "":
		return refuse("adversary.kind", "missing; choose %s", orList(kinds))
	case !slices.Contains([]string{boundary, repeat, stochastic, adaptive}, a.Kind):
		return refuse("adversary.kind", "%q does not ask queries; choose %s", a.Kind, orList(kinds))
	case !slices.Contains(kinds, a.Kind) && p.Data != nil:
		return refuse("adversary.kind", "%q needs a known target, and data has none; choose %s", a.Kind, orList(kinds))
	case !slices.Contains(kinds, a.Kind):
		return refuse("adversary.kind", "%q does not fit the class %s; choose %s", a.Kind, p.Class, orList(kinds))
	case a.Sees != "" && a.Kind != adaptive:
		return refuse("adversary.sees", "%q does not apply to the kind %s, which looks at no answer; leave it out", a.Sees, a.Kind)
	case a.Offline && a.Kind == adaptive:
		return refuse("adversary.offline", "an adaptive adversary has no list of queries beforehand; leave it out, or choose another kind")
	case a.Width != 0 && !edges:
		return refuse("adversary.width", "%d applies to the kind boundary on whole numbers only; leave it out", a.Width)
	case a.Width < 0 || edges && float64(a.Width) >= float64(side(p)):
		return refuse("adversary.width", "%d is outside [0, %d)", a.Width, side(p))
	}
	if a.Kind == adaptive && a.Sees == "" {
		a.Sees = seesLabels
	}
	return nil
}

// kindsOf lists the adversaries that fit a problem.
func kindsOf(p *schemas.Problem) []string {
	switch {
	case p.Data != nil:
		return []string{stochastic}
	case p.Class == parities:
		return []string{stochastic, repeat}
	case p.Class == matrix:
		return []string{stochastic, repeat, adaptive}
	}
	return []string{stochastic, repeat, boundary, adaptive}
}

// Adversary begins a game against the target of the drawer's present trial; the drawer then serves this game alone until it has ended. n is the
// size of the sample, r the adversary's own randomness.
func (d *Drawer) Adversary(a schemas.Adversary, n int64, r rand.Source) Adversary {
	q := asker{p: d.p, law: d.law, r: rand.New(r)}
	switch a.Kind {
	case repeat:
		return &again{asker: q, point: q.edge(d.edges(a, n))}
	case boundary:
		return &edgy{asker: q, next: d.edges(a, n)}
	case adaptive:
		return d.adapt(q, a)
	}
	return &fair{q}
}

// asker is what all adversaries have.
type asker struct {
	p   *Problem
	law law
	r   *rand.Rand
}

// Observe implements Adversary for those that look at no answer.
func (q *asker) Observe(float64, bool) {}

// truth is the clean label of a point.
func (q *asker) truth(x []float64) float64 {
	switch l := q.law.(type) {
	case *evenly:
		return l.target.label(x)
	case *sphere:
		return l.label(x)
	}
	return targetOf(&q.p.spec, q.p.matrix).label(x)
}

// edge draws one point.
func (q *asker) edge(draw func(r *rand.Rand, x []float64)) []float64 {
	x := make([]float64, q.p.dim)
	draw(q.r, x)
	return x
}

// fair asks points of the law, independently.
type fair struct{ asker }

func (a *fair) Next(x []float64) float64 {
	var y [1]float64
	a.law.draw(a.r, x, y[:])
	return y[0]
}

// again asks the same point all the time.
type again struct {
	asker
	point []float64
}

func (a *again) Next(x []float64) float64 {
	copy(x, a.point)
	return a.truth(x)
}

// edgy asks points near the target's edge.
type edgy struct {
	asker
	next func(r *rand.Rand, x []float64)
}

func (a *edgy) Next(x []float64) float64 {
	a.next(a.r, x)
	return a.truth(x)
}

// edges draws points near the edge of the trial's target: on a hyperplane exactly, on whole numbers up to the adversary's width away. Where the
// target has no edge it draws from the law.
func (d *Drawer) edges(a schemas.Adversary, n int64) func(r *rand.Rand, x []float64) {
	if l, ok := d.law.(*sphere); ok {
		return l.onPlane
	}
	target, ok := targetOf(&d.p.spec, d.p.matrix).(box)
	if !ok {
		return func(r *rand.Rand, x []float64) { d.law.draw(r, x, make([]float64, 1)) }
	}
	width := uint64(a.Width)
	if a.Width == 0 && a.Kind == boundary {
		width = max(1, side(&d.p.spec)/uint64(max(1, n)))
	}
	return target.edges(float64(side(&d.p.spec)-1), width)
}

// edges draws points of the box, one number of which is moved next to an edge of the box that is not one of the domain 0..top: at most
// width to either side of the lowest or above the highest number inside.
func (b box) edges(top float64, width uint64) func(r *rand.Rand, x []float64) {
	type side struct {
		number int
		at     float64
	}
	var sides []side
	for j := range b.low {
		if b.low[j] > 0 {
			sides = append(sides, side{j, b.low[j]})
		}
		if b.high[j] < top {
			sides = append(sides, side{j, b.high[j]})
		}
	}
	return func(r *rand.Rand, x []float64) {
		for j := range x {
			x[j] = b.low[j] + float64(r.Uint64N(uint64(b.high[j]-b.low[j])+1))
		}
		if len(sides) == 0 {
			return
		}
		s := sides[r.IntN(len(sides))]
		x[s.number] = min(max(s.at+float64(r.Uint64N(2*width+1))-float64(width), 0), top)
	}
}

// label is the clean label of any point.
func (l *sphere) label(x []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += float64(v * l.u[j])
	}
	if sum >= 0 {
		return 1
	}
	return -1
}

// onPlane draws a uniform unit vector of the hyperplane that is the target's edge.
func (l *sphere) onPlane(r *rand.Rand, x []float64) {
	if len(x) == 1 {
		x[0] = 0
		return
	}
	l.combine(x, 0, 1, l.orthogonal(r, x))
}

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
	for j, low := range target.low {
		a.base = append(a.base, math.Floor((low+target.high[j])/2))
	}
	a.most = a.base[0]
	if target.high[0] == a.top {
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
	plane sphere // u is the fitted normal vector
	x     []float64
	y     []float64
	last  []float64
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
	if len(a.y)%fitEvery == 0 {
		a.fit()
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
