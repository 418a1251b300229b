package prediction

import (
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// halfspaces is G_halfspace (Algorithm 4), repaired at the origin. An example (x, y) is the vector
// u = y (x, -1), or y x if halfspaces go through the origin. A hypothesis is a vector v != 0 of the
// same length, which is right on the example if <u, v> > 0. W is the space orthogonal to the lifts
// (x, -1), or x, of the hard queries: it loses one dimension with each hard query that is not in
// their span already. Every block's hypothesis is a point of W with the largest cdepth in its
// block; see finder. W is public, the choice within it is not.
//
// A choice costs one linear program per block and hard query if a point of W is right on the whole
// block, which without noise is nearly always the case. Other queries cost none.
type halfspaces struct {
	affine    bool
	blocks    [][]float64 // unit vectors of each block, row-major
	v         []float64   // hypotheses, column-major: the first coordinates of all come first
	w         complement
	find      *finder
	u         []float64      // scratch for a lift
	along     []float64      // scratch for the products of a lift with all hypotheses
	answerSum []float64      // sum of the ordinary queries' lifts times their released labels
	memo      map[string]int // votes of the current hypotheses, by the bits of a point
	key       []byte         // scratch for a key of memo

	uncertain int // chosen hypotheses whose value is only a lower bound
}

// maxRemembered limits the points of halfspaces.memo. The probes of one state use about half as
// many.
const maxRemembered = 1 << 13

// redundant is the largest distance from the span of the hard lifts at which a unit vector counts
// as lying in the span.
const redundant = 1e-9

// newHalfspaceGenerator makes the generator of the halfspaces over blocks of points in R^dim. Its
// error names the first example that is not finite.
func newHalfspaceGenerator(blocks []block, dim int, affine bool) (generator, error) {
	d := dim
	if affine {
		d++
	}
	g := &halfspaces{
		affine:    affine,
		v:         make([]float64, len(blocks)*d),
		w:         complement{d: d},
		find:      newFinder(d),
		u:         make([]float64, d),
		along:     make([]float64, len(blocks)),
		answerSum: make([]float64, d),
		memo:      make(map[string]int),
	}
	for i, b := range blocks {
		rows, err := g.examples(b, dim)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		g.blocks = append(g.blocks, rows)
	}
	return g, g.choose()
}

// examples returns the vectors u of a block, scaled to unit length, which changes no sign. It omits
// zero vectors, on which no hypothesis is right.
func (g *halfspaces) examples(b block, dim int) ([]float64, error) {
	rows := make([]float64, 0, len(b.y)*len(g.u))
	for i, y := range b.y {
		if !g.lift(b.x[i*dim : (i+1)*dim]) {
			return nil, fmt.Errorf("example %d is %v: every coordinate must be finite", i, b.x[i*dim:(i+1)*dim])
		}
		if squaredNorm(g.u) == 0 {
			continue
		}
		for _, u := range g.u {
			rows = append(rows, math.Copysign(1, y)*u)
		}
	}
	return rows, nil
}

// lift sets g.u to the lift of x at unit length, or to 0 if x is 0 and halfspaces go through the
// origin. It reports whether x is finite. Nothing else depends on affine.
func (g *halfspaces) lift(x []float64) bool {
	copy(g.u, x)
	if g.affine {
		g.u[len(x)] = -1
	}
	var largest float64
	for _, u := range g.u {
		largest = max(largest, math.Abs(u))
	}
	if largest == 0 {
		return true
	}
	for j := range g.u { // prevents overflow and underflow of squares
		g.u[j] /= largest
	}
	normalize(g.u)
	return largest <= math.MaxFloat64
}

func (g *halfspaces) choose() error {
	clear(g.memo)
	for i, rows := range g.blocks {
		found, err := g.find.best(rows, &g.w)
		if err != nil {
			return fmt.Errorf("choose hypothesis of block %d after %d hard queries: %w", i, g.w.codim(), err)
		}
		for j, v := range found.v {
			g.v[j*len(g.blocks)+i] = v
		}
		if !found.exact {
			g.uncertain++
		}
	}
	return nil
}

// inexact returns how many of the chosen hypotheses may not have the largest cdepth.
func (g *halfspaces) inexact() int { return g.uncertain }

// votes implements generator. It takes k D multiplications, and c D for c hard queries. A query
// whose lift is in the span of the hard ones is on every hypothesis's boundary, which is labeled
// +1; computed products would have random signs there. Probes of all states of a trial use the same
// points, so the memo keeps their votes until the hypotheses change.
func (g *halfspaces) votes(x []float64) int {
	g.key = g.key[:0]
	for _, v := range x {
		g.key = binary.NativeEndian.AppendUint64(g.key, math.Float64bits(v))
	}
	if n, ok := g.memo[string(g.key)]; ok {
		return n
	}
	n := 0
	if finite := g.lift(x); finite && g.w.distance(g.u) <= redundant {
		n = len(g.blocks)
	} else if finite {
		n = g.count()
	}
	if len(g.memo) == maxRemembered {
		clear(g.memo)
	}
	g.memo[string(g.key)] = n
	return n
}

// count returns how many hypotheses have a product of at least 0 with g.u, which is finite. It
// counts sign bits because branches would be unpredictable; a sum that begins at +0 is never -0.
func (g *halfspaces) count() int {
	d, k := len(g.u), len(g.blocks)
	blas64.Gemv(blas.Trans, 1, blas64.General{Rows: d, Cols: k, Data: g.v, Stride: k},
		blas64.Vector{N: d, Data: g.u, Inc: 1}, 0, blas64.Vector{N: k, Data: g.along, Inc: 1})
	negative := uint64(0)
	for _, product := range g.along {
		negative += math.Float64bits(product) >> 63
	}
	return len(g.along) - int(negative)
}

// hard implements generator: W shrinks to the points that have x on the boundary. The coin does not
// matter. A query in the span changes nothing. Neither does a query that would reduce W to 0, which
// can only follow more hard queries than an accurate trial has.
func (g *halfspaces) hard(x []float64, _ float64) error {
	if !g.lift(x) {
		return fmt.Errorf("hard query %v: every coordinate must be finite", x)
	}
	before := g.w.codim()
	if before == g.w.d-1 {
		return nil
	}
	if g.w.cut(g.u); g.w.codim() == before {
		return nil
	}
	return g.choose()
}

// released implements generator. Answers are public, but only this method passes them to the
// generator.
func (g *halfspaces) released(x []float64, label float64) {
	g.lift(x)
	for j, u := range g.u {
		g.answerSum[j] += float64(label * u)
	}
}

// public implements generator. It answers by a point of W that depends only on W and on released
// labels: the projection to W of the sum of label times lift. If W is a line, as after d hard
// queries, that is its direction with the sign that agrees with the labels, each weighted by its
// distance from the boundary.
func (g *halfspaces) public(x []float64) float64 {
	w := append([]float64(nil), g.answerSum...)
	if g.w.project(w) <= redundant*(1+math.Sqrt(squaredNorm(g.answerSum))) {
		w = g.w.any()
	}
	g.lift(x)
	return labelOf(g.w.distance(g.u) <= redundant || numeric.Dot(w, g.u) >= 0)
}

// A complement is the space W of all v in R^d orthogonal to the orthonormal vectors q.
type complement struct {
	d int
	q []float64 // row-major
	r []float64 // scratch
}

// codim returns the number of vectors q.
func (w *complement) codim() int { return len(w.q) / w.d }

// normal returns vector q number j.
func (w *complement) normal(j int) []float64 { return w.q[j*w.d : (j+1)*w.d] }

// project replaces v by its projection to W and returns its length. It takes two passes because the
// first one leaves rounding errors.
func (w *complement) project(v []float64) float64 {
	for range 2 {
		for j := range w.codim() {
			q := w.normal(j)
			along := numeric.Dot(q, v)
			for i := range v {
				v[i] -= float64(along * q[i])
			}
		}
	}
	return math.Sqrt(squaredNorm(v))
}

// distance returns the distance of u from the span of the q.
func (w *complement) distance(u []float64) float64 {
	w.r = append(w.r[:0], u...)
	return w.project(w.r)
}

// cut makes W orthogonal to the unit vector u too. It changes nothing if u is in the span of the q.
func (w *complement) cut(u []float64) {
	v := append([]float64(nil), u...)
	if w.reach(v) {
		w.q = append(w.q, v...)
	}
}

// reach replaces v, which is not much longer than 1, by the unit vector along its projection to W.
// It reports whether that projection is larger than the rounding error.
func (w *complement) reach(v []float64) bool {
	if w.project(v) <= redundant {
		return false
	}
	normalize(v)
	w.project(v) // removes the rounding error of a short projection
	normalize(v)
	return true
}

// any returns a unit vector of W along the projection of the coordinate vector that keeps most of
// its length (the first one in case of a tie).
func (w *complement) any() []float64 {
	var best []float64
	var longest float64
	for i := range w.d {
		e := make([]float64, w.d)
		e[i] = 1
		if length := w.project(e); length > longest+redundant {
			best, longest = e, length
		}
	}
	normalize(best)
	return best
}

func squaredNorm(v []float64) float64 { return numeric.Dot(v, v) }

func normalize(v []float64) {
	length := math.Sqrt(squaredNorm(v))
	for i := range v {
		v[i] /= length
	}
}
