package prediction

import (
	"errors"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/lp"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The depth of v in a sample of unit vectors u is the number of u with <u, v> > 0: an open
// condition, so that 0 has depth 0 and not, as with >=, the largest of all. cdepth(v) is the
// largest y such that v is in the convex hull of the points of depth at least y (Kaplan, Mansour,
// Stemmer and Tsfadia 2020, there closed).
//
// The largest cdepth in W = {v: <q_j, v> = 0, j = 1..c} has a dual: v is outside a hull of cones
// exactly if a halfspace separates them, hence
//
//	max over W of cdepth = min over g != 0 in span(q) of M(g),   M(g) = max{depth(z): <g, z> <= 0}.
//
// So any points z whose combination lies in W prove the least of their depths from below, and any
// M(g) bounds the value from above.

const (
	openMargin = 1e-12 // larger products of unit vectors are positive: rounding errors are far smaller
	thinMargin = 1e-6  // smaller margins of witnesses suggest that hull would never end; see hullOfCells
	joinMargin = 1e-7  // larger than the tolerance of a linear program with maxUnknowns can move a point
	noMargin   = 1e-9  // a cone is empty if no unit vector has a larger product with all its rows
)

// depth returns the depth of v in the sample rows, and the least positive product of a row with the
// unit vector along v.
func depth(rows, v []float64) (count int, margin float64) {
	d, length := len(v), math.Sqrt(squaredNorm(v))
	margin = math.Inf(1)
	for ; len(rows) > 0; rows = rows[d:] {
		if p := numeric.Dot(rows[:d], v); p > openMargin*length {
			count++
			margin = min(margin, p/length)
		}
	}
	return count, margin
}

// A finder searches for points of large depth and cdepth in R^d. It owns scratch memory.
type finder struct {
	d          int
	simplex    lp.Simplex
	rows, kept []float64
	cells      cells
}

func newFinder(d int) *finder { return &finder{d: d} }

// deepPoint is a unit vector of W with a lower bound on its cdepth.
type deepPoint struct {
	v     []float64
	value int
	exact bool // whether no point of W has a larger cdepth than value
}

// A witness is a unit vector on the required side.
type witness struct {
	v      []float64
	depth  int     // depth of v
	most   int     // maximum depth on the required side
	margin float64 // points closer to v have at least its depth; 0 if the cell found was too thin to hold a point
}

// best returns a point of W of the largest cdepth in the sample rows. If a point of W is right on
// every row, best returns the one furthest from the boundaries, which takes one linear program.
// Otherwise see hull. If a linear program is not solved, as for rows that are nearly but not quite
// in one hyperplane, best returns the projection of the rows' mean, with its depth as lower bound.
func (f *finder) best(rows []float64, w *complement) (deepPoint, error) {
	best, err := f.search(rows, w)
	if errors.Is(err, lp.ErrNotSolved) {
		return f.project(rows, w, []witness{{v: f.mean(rows)}}, len(rows)/f.d), nil
	}
	return best, err
}

func (f *finder) mean(rows []float64) []float64 {
	v := make([]float64, f.d)
	for i, u := range rows {
		v[i%f.d] += u / float64(len(rows)/f.d)
	}
	return v
}

// search implements best, but returns lp.ErrNotSolved if a linear program is not solved.
func (f *finder) search(rows []float64, w *complement) (deepPoint, error) {
	m := len(rows) / f.d
	if m == 0 {
		return deepPoint{w.any(), 0, true}, nil
	}
	c, err := f.centre(rows, f.d, w.q)
	if err != nil {
		return deepPoint{}, err
	}
	if v := slices.Clone(c.v); w.reach(v) {
		if all, _ := depth(rows, v); all == m {
			return deepPoint{v, m, true}, nil
		}
	}
	most := m
	if c.empty {
		most = m - 1
	}
	first, err := f.witness(rows, nil)
	if err != nil {
		return deepPoint{}, err
	}
	if w.codim() == 0 {
		return deepPoint{first.v, first.depth, first.depth == min(most, first.most)}, nil
	}
	return f.hull(rows, w, first, most)
}

// hull collects witnesses until a combination of them is in W. As long as a g in the span of the q
// has <g, z> > 0 for all of them, the next witness is the deepest with <g, z> < 0. That is column
// generation, instead of one witness for each of the 2^c patterns of signs. If the witnesses have
// the largest possible depth, as for d <= 3, so has the combination.
func (f *finder) hull(rows []float64, w *complement, first witness, most int) (deepPoint, error) {
	all := []witness{first}
	most = min(most, first.most)
	for limit := 10 + 6*w.codim(); len(all) < limit; {
		s, err := f.separate(all, w)
		if err != nil {
			return deepPoint{}, err
		}
		if s.empty {
			if best, ok, err := f.combine(rows, w, all, most); ok || err != nil {
				return best, err
			}
			break
		}
		g := make([]float64, f.d)
		for j, along := range s.v {
			for i, q := range w.normal(j) {
				g[i] -= float64(along * q)
			}
		}
		next, ok, err := f.beyond(rows, g)
		if err != nil {
			return deepPoint{}, err
		}
		if !ok {
			break
		}
		most = min(most, next.most)
		if next.margin < thinMargin {
			break
		}
		all = append(all, next)
	}
	return f.hullOfCells(rows, w, all, most)
}

// beyond returns the deepest witness on the side of g, which it scales to a unit vector. ok is
// false if g is 0.
func (f *finder) beyond(rows, g []float64) (next witness, ok bool, err error) {
	if !(squaredNorm(g) > 0) {
		return witness{}, false, nil
	}
	normalize(g)
	next, err = f.witness(rows, g)
	return next, true, err
}

// maxUnknowns limits the linear program of join, which has d unknowns for each cell.
const maxUnknowns = 100

// hullOfCells replaces hull if hull would never end: there g tends to a direction with <g, z> >= 0
// on all of a cell, whose ever thinner slices beyond g are still the deepest, as when a row is in
// the span of the q. In hullOfCells a witness represents its whole cell. There are finitely many
// cells, and each new witness is outside the cells before it.
func (f *finder) hullOfCells(rows []float64, w *complement, all []witness, most int) (deepPoint, error) {
	var different []witness
	known := func(z witness) bool {
		return slices.ContainsFunc(different, func(o witness) bool { return sameCell(rows, z.v, o.v) })
	}
	for _, z := range all {
		if !known(z) {
			different = append(different, z)
		}
	}
	for len(different)*f.d <= maxUnknowns {
		v, g, err := f.join(rows, w, different)
		if err != nil {
			return deepPoint{}, err
		}
		if v != nil {
			return f.inside(rows, w, different, v, most), nil
		}
		next, ok, err := f.beyond(rows, g)
		if err != nil {
			return deepPoint{}, err
		}
		if !ok {
			break
		}
		most = min(most, next.most)
		if next.margin == 0 || known(next) {
			break
		}
		different = append(different, next)
	}
	return f.project(rows, w, all, most), nil
}

// sameCell reports whether the same rows are positive at the unit vectors a and b.
func sameCell(rows, a, b []float64) bool {
	for d := len(a); len(rows) > 0; rows = rows[d:] {
		if (numeric.Dot(rows[:d], a) > openMargin) != (numeric.Dot(rows[:d], b) > openMargin) {
			return false
		}
	}
	return true
}

// join searches for a sum v in W of points of all the witnesses' cells, by the linear program:
// maximize s with <row, z> >= s for each witness's z and the rows positive there, sum of <q, z> = 0
// for all q, |z|_inf <= 1 and 0 <= s <= 1. If there is none, v is nil, and the multipliers of the q
// give a direction g with <g, z> <= 0 on all the cells; g is 0 if s is too small to decide.
func (f *finder) join(rows []float64, w *complement, cells []witness) (v, g []float64, err error) {
	d, s := f.d, len(cells)*f.d // s is the unknown number s
	p := lp.NewProgram(s+1, -1, 1)
	p.C[s], p.Low[s] = 1, 0
	for k, z := range cells {
		for i := 0; i < len(rows); i += d {
			if u := rows[i : i+d]; numeric.Dot(u, z.v) > openMargin {
				a := p.AddRow(0, math.Inf(1))
				copy(a[k*d:], u)
				a[s] = -1
			}
		}
	}
	for j := range w.codim() {
		a := p.AddRow(0, 0)
		for k := range cells {
			copy(a[k*d:], w.normal(j))
		}
	}
	o, err := f.simplex.Maximize(p)
	if err != nil {
		return nil, nil, err
	}
	if o.Value > joinMargin {
		v = make([]float64, d)
		for k := range cells {
			for i := range v {
				v[i] += o.X[k*d+i]
			}
		}
		return v, nil, nil
	}
	g = make([]float64, d)
	if o.Bound > noMargin {
		return nil, g, nil
	}
	for j, y := range o.Multipliers[len(o.Multipliers)-w.codim():] {
		for i, q := range w.normal(j) {
			g[i] -= float64(y * q)
		}
	}
	return nil, g, nil
}

// inside returns v, a point in the hull of the witnesses' cells and, except for rounding, in W. If
// v is 0, all of W is in the hull, because the cells are open; then inside returns the deepest
// projection.
func (f *finder) inside(rows []float64, w *complement, cells []witness, v []float64, most int) deepPoint {
	value := len(rows) / f.d
	for _, z := range cells {
		value = min(value, z.depth)
	}
	if !w.reach(v) {
		v = f.project(rows, w, cells, most).v
	}
	own, _ := depth(rows, v)
	value = max(value, own)
	return deepPoint{v, value, value == most}
}

// separate returns the direction, in the coordinates <q_j, z>, that separates all witnesses most
// clearly from 0. It is empty if 0 is in the hull of their projections, and then the weights
// combine them to 0.
func (f *finder) separate(all []witness, w *complement) (centre, error) {
	c := w.codim()
	f.kept = f.kept[:0]
	for _, z := range all {
		at := len(f.kept)
		for j := range c {
			f.kept = append(f.kept, numeric.Dot(w.normal(j), z.v))
		}
		if p := f.kept[at:]; squaredNorm(p) > openMargin*openMargin {
			normalize(p)
		} else {
			clear(p)
		}
	}
	return f.centre(f.kept, c, nil)
}

// combine returns a combination in W of the witnesses that is as deep as possible. ok is false if
// rounding errors are too large to decide.
func (f *finder) combine(rows []float64, w *complement, all []witness, most int) (best deepPoint, ok bool, err error) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b witness) int { return b.depth - a.depth })
	for n := 1; n <= len(all); n++ {
		if n < len(all) && all[n].depth == all[n-1].depth {
			continue
		}
		s, err := f.separate(all[:n], w)
		if err != nil {
			return deepPoint{}, false, err
		}
		if !s.empty {
			continue
		}
		v, margin := mixture(w, all[:n], s.weights)
		before := slices.Clone(v)
		w.project(v)
		for i := range before {
			before[i] -= v[i]
		}
		if math.Sqrt(squaredNorm(before)) < margin {
			return f.inside(rows, w, all[:n], v, most), true, nil
		}
	}
	return deepPoint{}, false, nil
}

// mixture returns the convex combination of the witnesses with weights for their projections to the
// span of the q, scaled to unit length. All witnesses used may move by up to margin without losing
// depth, and so may the sum.
func mixture(w *complement, all []witness, weights []float64) (v []float64, margin float64) {
	v, margin = make([]float64, w.d), math.Inf(1)
	total := 0.0
	for k, z := range all {
		weight := weights[k]
		if weight <= 0 {
			continue
		}
		if length := w.along(z.v); length > openMargin {
			weight /= length
		}
		total += weight
		margin = min(margin, z.margin)
		for i, x := range z.v {
			v[i] += float64(weight * x)
		}
	}
	for i := range v {
		v[i] /= total
	}
	return v, margin
}

// project returns the deepest of the witnesses' projections to W, with its depth as lower bound on
// its cdepth.
func (f *finder) project(rows []float64, w *complement, all []witness, most int) deepPoint {
	best := w.any()
	value, _ := depth(rows, best)
	for _, z := range all {
		v := slices.Clone(z.v)
		if !w.reach(v) {
			continue
		}
		if own, _ := depth(rows, v); own > value {
			best, value = v, own
		}
	}
	return deepPoint{best, value, value == most}
}

// along returns the length of v's projection to the span of the q.
func (w *complement) along(v []float64) float64 {
	var square float64
	for j := range w.codim() {
		p := numeric.Dot(w.normal(j), v)
		square += float64(p * p)
	}
	return math.Sqrt(square)
}

// witness returns the deepest point z that the search finds with <side, z> > 0, or anywhere if side
// is nil. If no point is right on every row, z is in the deepest cell of the arrangement for d <=
// 3. For larger d, where finding that cell is NP-hard, z is in the cell of the point of least hinge
// loss, which is deep. In both cases z is the cell's point furthest from the boundaries.
func (f *finder) witness(rows, side []float64) (witness, error) {
	m := len(rows) / f.d
	f.rows = append(append(f.rows[:0], rows...), side...)
	c, err := f.centre(f.rows, f.d, nil)
	if err != nil {
		return witness{}, err
	}
	if z := f.judged(rows, side, c.v); z.depth == m {
		return z, nil
	}
	most := m
	if c.empty {
		most = m - 1
	}
	if f.d <= maxCellDim {
		most = f.keepCell(m)
	} else if err := f.keepHinge(m); err != nil {
		return witness{}, err
	}
	if c, err = f.centre(f.kept, f.d, nil); err != nil {
		return witness{}, err
	}
	z := f.judged(rows, side, c.v)
	z.most = most
	if z.depth+len(side)/f.d < len(f.kept)/f.d {
		z.margin = 0
	}
	return z, nil
}

// judged returns v as a witness, or side itself if v is not on its side.
func (f *finder) judged(rows, side, v []float64) witness {
	length := math.Sqrt(squaredNorm(v))
	if side != nil && !(numeric.Dot(side, v) > openMargin*length) {
		v = side
	}
	v = slices.Clone(v)
	if squaredNorm(v) == 0 {
		v[0] = 1
	}
	normalize(v)
	count, margin := depth(rows, v)
	if side != nil {
		margin = min(margin, numeric.Dot(side, v))
	}
	return witness{v, count, len(rows) / f.d, margin}
}

// keepCell sets f.kept to the rows of f.rows that are positive in the deepest cell, and returns its
// depth. Row m, if there is one, is among them, because it weighs more than all others.
func (f *finder) keepCell(m int) int {
	weight, inside := f.cells.deepest(f.rows, f.d, m)
	f.kept = f.kept[:0]
	for i, in := range inside {
		if in {
			f.kept = append(f.kept, f.rows[i*f.d:(i+1)*f.d]...)
		}
	}
	if len(inside) > m {
		weight -= m + 1
	}
	return weight
}

// keepHinge sets f.kept to row m, if there is one, and the rows of f.rows that are positive at the
// v that minimizes sum_i max(0, 1 - <u_i, v>), in which row m has the weight m + 1. The v comes
// from the dual, max sum_i a_i with sum_i a_i u_i = 0 and a within the weights, which has a table
// of only d rows.
func (f *finder) keepHinge(m int) error {
	d, n := f.d, len(f.rows)/f.d
	p := lp.NewProgram(n, 0, 1)
	p.C = slices.Repeat([]float64{1}, n)
	if n > m {
		p.High[m] = float64(m + 1)
	}
	for j := range d {
		a := p.AddRow(0, 0)
		for i := range n {
			a[i] = f.rows[i*d+j]
		}
	}
	o, err := f.simplex.Maximize(p)
	if err != nil && !errors.Is(err, lp.ErrNotSolved) {
		return err
	}
	f.kept = f.kept[:0]
	for i := range n {
		row := f.rows[i*d : (i+1)*d]
		if i == m || err == nil && numeric.Dot(row, o.Multipliers) > openMargin*math.Sqrt(squaredNorm(o.Multipliers)) {
			f.kept = append(f.kept, row...)
		}
	}
	return nil
}

// A centre is the solution of a cone program. The simplex solver owns its slices.
type centre struct {
	v     []float64
	empty bool // proved: no v with |v|_inf <= 1 has a product above noMargin with all rows
	// weights are the rows' weights, at least 0. If empty, they sum to about 1 or more, and the
	// weighted rows sum to 0 up to noMargin.
	weights []float64
}

// centre solves the cone program: maximize s with <row, v> >= s for all rows, unit vectors of R^d,
// <q, v> = 0 for all q, |v|_inf <= 1 and s >= 0.
func (f *finder) centre(rows []float64, d int, q []float64) (centre, error) {
	p := lp.NewProgram(d+1, -1, 1)
	p.C[d], p.Low[d], p.High[d] = 1, 0, math.Sqrt(float64(d))
	for row := range slices.Chunk(rows, d) {
		a := p.AddRow(0, math.Inf(1))
		copy(a, row)
		a[d] = -1
	}
	for normal := range slices.Chunk(q, d) {
		copy(p.AddRow(0, 0), normal)
	}
	o, err := f.simplex.Maximize(p)
	if err != nil {
		return centre{}, err
	}
	weights := o.Multipliers[:len(rows)/d]
	for i := range weights {
		weights[i] = -weights[i]
	}
	return centre{o.X[:d], o.Bound <= noMargin, weights}, nil
}
