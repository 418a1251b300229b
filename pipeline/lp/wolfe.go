package lp

import (
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// nearest searches the point nearest to row f in the convex hull of the other rows by Wolfe's
// algorithm (Wolfe 1976, "Finding the nearest point in a polytope"). It keeps affinely
// independent rows, the active ones, and moves to the nearest point of their affine hull, in
// which all weights are positive. Then the row lowest in the direction p from f to that point
// becomes active. The search uses inner products only.
type nearest struct {
	*hull
	f      int
	active []int
	weight []float64 // at least 0; their sum is 1 up to rounding
	height []float64 // scratch: <p, v_g - v_f>

	// factor belongs to the matrix c + <v_g - v_f, v_h - v_f>, g and h active, which is regular
	// for affinely independent rows and c > 0. c is the square of the least |v_g - v_f|, so that
	// no product is small compared with it.
	factor triangle
	c      float64
}

// tolerance is the relative gap between |p|^2 and the lowest <p, v_g - v_f> at which a search
// ends; a smaller square counts as 0.
const tolerance = 1e-13

// newNearest returns a search for row f that has not started.
func newNearest(h *hull, f int) *nearest {
	return &nearest{hull: h, f: f, height: make([]float64, h.n)}
}

// product returns <v_g - v_f, v_h - v_f>.
func (s *nearest) product(g, h int) float64 {
	return s.gram[g*s.n+h] - s.gram[g*s.n+s.f] - s.gram[h*s.n+s.f] + s.gram[s.f*s.n+s.f]
}

// run searches until the point is nearest, or rounding prevents progress, or the distance is
// certainly above enough. Every iteration except the last makes |p| smaller, and there are
// finitely many sets of active rows.
func (s *nearest) run(enough float64) {
	s.start()
	if s.scale == 0 {
		return
	}
	enough /= s.scale
	for last := math.Inf(1); ; {
		g, squared := s.lowest()
		least := s.height[g]
		switch {
		case squared-least <= tolerance*squared || squared <= tolerance*tolerance:
			return
		case least > 0 && least > enough*math.Sqrt(squared)*(1+tolerance):
			return
		case squared >= last || slices.Contains(s.active, g):
			return
		}
		last = squared
		if !s.enter(g) {
			return
		}
		s.project()
	}
}

// start makes the row nearest to f active.
func (s *nearest) start() {
	first, least := -1, math.Inf(1)
	for g := range s.n {
		if d := s.product(g, g); g != s.f && d < least {
			first, least = g, d
		}
	}
	s.c = least
	if !(least > tolerance*tolerance) {
		s.c = 1
	}
	s.enter(first)
	s.weight[0] = 1
}

// lowest returns the row with the least <p, v_g - v_f>, and |p|^2.
func (s *nearest) lowest() (row int, squared float64) {
	clear(s.height)
	shift := s.gram[s.f*s.n+s.f]
	for i, a := range s.active {
		w := s.weight[i]
		for g, v := range s.gram[a*s.n : (a+1)*s.n] {
			s.height[g] += float64(w * v)
		}
		shift -= float64(w * s.gram[a*s.n+s.f])
	}
	row = -1
	for g := range s.height {
		s.height[g] += shift - s.gram[g*s.n+s.f]
		if g != s.f && (row < 0 || s.height[g] < s.height[row]) {
			row = g
		}
	}
	for i, a := range s.active {
		squared += float64(s.weight[i] * s.height[a])
	}
	return row, squared
}

// enter makes a row active with weight 0. It returns false if the row is affinely dependent on
// the active ones, up to rounding.
func (s *nearest) enter(g int) bool {
	row := make([]float64, len(s.active)+1)
	for i, a := range s.active {
		row[i] = s.c + s.product(a, g)
	}
	row[len(s.active)] = s.c + s.product(g, g)
	if !s.factor.add(row) {
		return false
	}
	s.active, s.weight = append(s.active, g), append(s.weight, 0)
	return true
}

// project moves to the nearest point of the affine hull of the active rows. If a weight would
// become negative on the way, its row is removed.
func (s *nearest) project() {
	for {
		target := s.factor.solveOnes(len(s.active))
		sum := 0.0
		for _, v := range target {
			sum += v
		}
		step, out := 1.0, -1
		for i := range target {
			target[i] /= sum
			if target[i] > 0 {
				continue
			}
			part := 0.0
			if s.weight[i] > 0 {
				part = s.weight[i] / (s.weight[i] - target[i])
			}
			if out < 0 || part < step {
				step, out = part, i
			}
		}
		for i, v := range target {
			s.weight[i] = max(0, s.weight[i]+float64(step*(v-s.weight[i])))
		}
		if out < 0 {
			return
		}
		s.leave(out)
	}
}

// leave removes active row i. The other weights are not normalized; certify divides by their sum.
func (s *nearest) leave(i int) {
	s.active, s.weight = slices.Delete(s.active, i, i+1), slices.Delete(s.weight, i, i+1)
	s.factor.remove(i)
}

// triangle is the Cholesky factor L of a symmetric matrix L L', with i+1 numbers in row i. Rows
// and columns can be added and removed.
type triangle [][]float64

// add appends a row and column, given up to the diagonal. It returns false, and changes nothing,
// if the matrix would be singular up to rounding.
func (l *triangle) add(a []float64) bool {
	k := len(*l)
	for i, row := range *l {
		a[i] = (a[i] - numeric.Dot(row[:i], a)) / row[i]
	}
	pivot := a[k] - numeric.Dot(a[:k], a)
	if k > 0 && !(pivot > tolerance*a[k]) {
		return false
	}
	a[k] = math.Sqrt(pivot)
	*l = append(*l, a)
	return true
}

// remove removes row and column i. The rows below then have one number too many; rotations of
// neighboring columns change it to 0.
func (l *triangle) remove(i int) {
	*l = slices.Delete(*l, i, i+1)
	rows := *l
	for k := i; k < len(rows); k++ {
		r := math.Hypot(rows[k][k], rows[k][k+1])
		cos, sin := rows[k][k]/r, rows[k][k+1]/r
		for _, row := range rows[k:] {
			x, y := row[k], row[k+1]
			row[k], row[k+1] = float64(cos*x)+float64(sin*y), float64(cos*y)-float64(sin*x)
		}
		rows[k] = rows[k][:k+1]
	}
}

// solveOnes returns the x with L L' x = (1, ..., 1), of length k.
func (l triangle) solveOnes(k int) []float64 {
	x := make([]float64, k)
	for i, row := range l {
		x[i] = (1 - numeric.Dot(row[:i], x)) / row[i]
	}
	for i := k - 1; i >= 0; i-- {
		x[i] /= l[i][i]
		for j, v := range l[i][:i] {
			x[j] -= float64(v * x[i])
		}
	}
	return x
}
