package problem

import (
	"fmt"
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
	case a.Rate != 0:
		return refuse("adversary.rate", "%v does not apply to queries, only to the rounds of task online; leave it out", a.Rate)
	case a.From != 0:
		return refuse("adversary.from", "%d does not apply to queries, only to the rounds of task online; leave it out", a.From)
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
		return l.target.Label(x)
	case *sphere:
		return l.label(x)
	}
	return targetOf(&q.p.spec, q.p.matrix).Label(x)
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
	for j := range b.Low {
		if b.Low[j] > 0 {
			sides = append(sides, side{j, b.Low[j]})
		}
		if b.High[j] < top {
			sides = append(sides, side{j, b.High[j]})
		}
	}
	return func(r *rand.Rand, x []float64) {
		for j := range x {
			x[j] = b.Low[j] + float64(r.Uint64N(uint64(b.High[j]-b.Low[j])+1))
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
