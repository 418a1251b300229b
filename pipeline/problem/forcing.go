package problem

import (
	"encoding/binary"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// force makes the opponents that keep a version space.
func (d *Drawer) force(q player, a schemas.Adversary) (Opponent, error) {
	left, err := d.p.remaining(a)
	if err != nil {
		return nil, err
	}
	o := forcer{player: q, left: left, past: a.Sees == seesPast, asked: make([]float64, d.p.dim)}
	switch a.Kind {
	case bisecting:
		switch left := left.(type) {
		case *span:
			return &bisection{forcer: o, thresholds: left, top: d.p.domain - 1}, nil
		case *ray:
			return &bisection{forcer: o, thresholds: &left.span, bottom: 1, top: concept.MaxNatural}, nil
		}
	case smoothed:
		return &smoother{forcer: o, rate: a.Rate, side: side(&d.p.spec)}, nil
	}
	return &o, nil
}

// remaining is all hypotheses, for an adversary. The error is an *Error.
func (p *Problem) remaining(a schemas.Adversary) (remaining, error) {
	switch {
	case p.spec.Class == concept.Naturals:
		return &ray{span{1, concept.MaxNatural + 1}, a.From}, nil
	case p.spec.Class == concept.Dyadics:
		return &gap{0, 1}, nil
	case p.noConstant():
		return &span{high: p.domain - 1}, nil
	case p.spec.Class == thresholds:
		return &span{high: p.domain}, nil
	}
	all, err := p.listed()
	if err != nil {
		return nil, err
	}
	return &versions{all: all, space: all.table.Versions()}, nil
}

// remaining is the hypotheses that agree with all truths so far, one at least.
type remaining interface {
	// split writes the point that forces most mistakes; false where one hypothesis is left.
	split(x []float64) bool
	// labels tells which labels of a point they have.
	labels(x []float64) (minus, plus bool)
	// restrict leaves those that label a point so.
	restrict(x []float64, y float64)
}

// forcer asks the point that forces most mistakes, and goes against the answer as long as both labels are left; once one hypothesis is left,
// it asks points of the law.
type forcer struct {
	player
	left  remaining
	past  bool // goes against no answer: the truth is a fair coin
	asked []float64
}

func (o *forcer) Next(x []float64) {
	if !o.left.split(x) {
		o.draw(x)
	}
	copy(o.asked, x)
}

func (o *forcer) Truth(answer float64) (truth float64) {
	minus, plus := o.left.labels(o.asked)
	switch {
	case !plus:
		truth = -1
	case !minus:
		truth = 1
	case o.past:
		truth = o.against(0)
	default:
		truth = o.against(answer)
	}
	o.left.restrict(o.asked, truth)
	return truth
}

// bisection is a forcer on thresholds that asks the points beside the edge in the end.
type bisection struct {
	forcer
	thresholds  *span  // what is left
	bottom, top uint64 // of the domain
	turn        bool
}

func (o *bisection) Next(x []float64) {
	if !o.left.split(x) {
		v := o.thresholds.low
		if o.turn = !o.turn; o.turn && v > 0 {
			v--
		}
		x[0] = float64(min(max(v, o.bottom), o.top))
	}
	copy(o.asked, x)
}

// smoother is a forcer some of whose points are uniform ones.
type smoother struct {
	forcer
	rate float64
	side uint64
}

func (o *smoother) Next(x []float64) {
	if o.r.Float64() >= o.rate {
		o.forcer.Next(x)
		return
	}
	for j := range x {
		x[j] = float64(o.r.Uint64N(o.side))
	}
	copy(o.asked, x)
}

// span is the thresholds low..high.
type span struct{ low, high uint64 }

// split halves the span, which is as good as any point: n thresholds force floor(log2 n) mistakes.
func (s *span) split(x []float64) bool {
	if s.low == s.high {
		return false
	}
	x[0] = float64(s.low + (s.high-s.low+1)/2 - 1)
	return true
}

func (s *span) labels(x []float64) (minus, plus bool) {
	v := uint64(x[0])
	return s.high > v, s.low <= v
}

func (s *span) restrict(x []float64, y float64) {
	v := uint64(x[0])
	if y > 0 {
		s.high = min(s.high, v)
	} else {
		s.low = max(s.low, v+1)
	}
}

// ray is the thresholds low, low+1, ... on the natural numbers until a point is labelled +1, then the span that this leaves. The last of the
// span's thresholds stands for all those above every point that can be asked.
type ray struct {
	span
	reach uint64 // how many thresholds a point labelled +1 leaves
}

func (r *ray) split(x []float64) bool {
	if r.high <= concept.MaxNatural || r.low == r.high {
		return r.span.split(x)
	}
	x[0] = float64(min(r.low+r.reach-1, concept.MaxNatural))
	return true
}

// gap is the dyadic thresholds t with low < t <= high.
type gap struct{ low, high float64 }

// split is exact as often as CheckRounds allows.
func (g *gap) split(x []float64) bool {
	x[0] = (g.low + g.high) / 2
	return true
}

func (g *gap) labels(x []float64) (minus, plus bool) { return g.high > x[0], g.low < x[0] }

func (g *gap) restrict(x []float64, y float64) {
	if y > 0 {
		g.high = min(g.high, x[0])
	} else {
		g.low = max(g.low, x[0])
	}
}

// versions is what remains of a class that is listed.
type versions struct {
	all   *listing
	space concept.VersionSpace
	path  []byte // the truths that narrowed it down
}

func (v *versions) split(x []float64) bool {
	if v.space.Size() == 1 {
		return false
	}
	copy(x, v.all.table.Point(v.all.best(v.path)))
	return true
}

func (v *versions) labels(x []float64) (minus, plus bool) {
	i := v.all.number(x)
	return v.space.Restrict(i, -1).Size() > 0, v.space.Restrict(i, 1).Size() > 0
}

func (v *versions) restrict(x []float64, y float64) {
	i := v.all.number(x)
	next := v.space.Restrict(i, y)
	if next.Size() < v.space.Size() {
		v.path = appendStep(v.path, i, y)
	}
	v.space = next
}

// A path is a sequence of points and their truths, 4 bytes for each.
const stepBytes = 4

func appendStep(path []byte, point int, y float64) []byte {
	step := uint32(point) << 1 // below 2^20
	if y > 0 {
		step++
	}
	return binary.LittleEndian.AppendUint32(path, step)
}

// maxPaths bounds the bytes of the paths that a listing knows.
const maxPaths = 1 << 24

// listing is a class that is listed, and the best points of the version spaces that any game on it has come to. It serves any number of
// goroutines.
type listing struct {
	table *concept.LabelTable
	side  int

	mu    sync.Mutex
	known map[string]int // by path
	room  int            // bytes left for paths
}

// list makes the listing of the class. The error is an *Error.
func (p *Problem) list() (*listing, error) {
	c, err := p.finite()
	if err != nil {
		return nil, err
	}
	t, err := concept.NewLabelTable(c, specOf(&p.spec, p.matrix))
	if err != nil {
		return nil, refuseOpponent("kind", "%v", err)
	}
	if d := t.Versions().Ldim(); !d.Exact() {
		return nil, refuseOpponent("kind", "the Littlestone dimension of the %d hypotheses is %v, the search ends there; take a smaller class, or choose %s",
			t.Functions(), d, leaderKiller)
	}
	return &listing{table: t, side: int(side(&p.spec)), known: map[string]int{}, room: maxPaths}, nil
}

// finite is the class of the problem.
func (p *Problem) finite() (concept.Finite, error) {
	c, err := concept.New(specOf(&p.spec, p.matrix))
	if err != nil {
		return nil, refuseOpponent("kind", "%v", err)
	}
	f, ok := c.(concept.Finite)
	if !ok {
		return nil, refuseOpponent("kind", "the class %s has infinitely many hypotheses", c.Name())
	}
	return f, nil
}

// number is that of a point in the table.
func (l *listing) number(x []float64) (n int) {
	for j := len(x) - 1; j >= 0; j-- {
		n = n*l.side + int(x[j])
	}
	return n
}

// best is the point to ask after a path that leaves two hypotheses or more.
func (l *listing) best(path []byte) int {
	l.mu.Lock()
	v, known := l.known[string(path)]
	l.mu.Unlock()
	if known {
		return v
	}
	v = l.search(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if need := len(path) + 64; need <= l.room { // the rest is what an entry takes beside its key
		l.known[string(path)] = v
		l.room -= need
	}
	return v
}

// search finds that point, the first that splits what is left into two parts of its Littlestone dimension less one or more. The memo is a
// new one, so that the point depends on the path alone, whatever other games have asked.
func (l *listing) search(path []byte) int {
	left := l.table.Versions()
	for ; len(path) > 0; path = path[stepBytes:] {
		step := binary.LittleEndian.Uint32(path)
		left = left.Restrict(int(step>>1), 2*float64(step&1)-1)
	}
	d, first := left.Ldim().Low, -1
	for v := range l.table.Len() {
		minus, plus := left.Restrict(v, -1), left.Restrict(v, 1)
		small := min(minus.Size(), plus.Size())
		if first < 0 && small > 0 {
			first = v
		}
		if small >= 1<<(d-1) && minus.Ldim().Low >= d-1 && plus.Ldim().Low >= d-1 {
			return v
		}
	}
	return first // where a search for a dimension ended early
}
