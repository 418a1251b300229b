// Package lp solves two problems on polytopes in floating point: the maximum of a linear function
// on a polytope (Simplex), and the distance of a point from the convex hull of other points
// (HullMargin). Its bounds are rigorous for the numbers as given, including the effects of
// rounding.
package lp

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The limits of HullMargin.
const (
	MaxVectors = 500     // number of rows
	MaxNumbers = 1 << 24 // number of values
)

const (
	maxValue = 1e150   // limit of absolute values: squares must not overflow
	unit     = 0x1p-53 // relative rounding error of one operation
)

// Margin bounds the hull margin r of a set of vectors, the least distance of one of them from the
// convex hull of the others:
//
//	r = min_f dist(v_f, conv{v_g : g != f}),   Lower <= r <= Upper.
//
// The stability of a follow-the-perturbed-leader whose noise is linear in v_f is proportional to
// r. Both bounds are rigorous for the numbers as given, including the effects of rounding: Lower
// comes from a hyperplane, Upper from a convex combination. A privacy proof may use Lower only.
type Margin struct{ Lower, Upper float64 }

// Widen moves both bounds outwards by that many rounding errors.
func (m Margin) Widen(errors float64) Margin {
	by := float64(errors * unit)
	return Margin{m.Lower * (1 - by), m.Upper * (1 + by)}
}

// HullMargin bounds the hull margin of the rows of m numbers: 2 to MaxVectors rows, at most
// MaxNumbers numbers, each at most 1e150 in absolute value. The caller first divides a table of m
// values of each function by sqrt(m). The result is [0, about 0] if a row lies in the hull of the
// others, or occurs twice. Usually it takes less than a second; 500 rows at equal distances from
// each other take a minute. Upper - Lower is at most about 1e-6 of Upper, or 1e-9 of the largest
// distance between rows.
func HullMargin(rows []float64, m int) (Margin, error) {
	if m < 1 || len(rows)%m != 0 {
		return Margin{}, fmt.Errorf("%d numbers are no rows of %d: use a table with equal rows", len(rows), m)
	}
	if n := len(rows) / m; n < 2 || n > MaxVectors || len(rows) > MaxNumbers {
		return Margin{}, fmt.Errorf("hull margin of %d rows of %d: use 2 to %d rows and at most %d numbers",
			n, m, MaxVectors, MaxNumbers)
	}
	for i, v := range rows {
		if !(math.Abs(v) <= maxValue) {
			return Margin{}, fmt.Errorf("value %v in row %d: use finite numbers up to %g in absolute value", v, i/m, maxValue)
		}
	}
	return newHull(rows, m).margin(), nil
}

// hull holds a table of vectors with its Gram matrix. The Gram matrix is used to find nearest
// points; the bounds are computed from the vectors.
type hull struct {
	n, m  int
	rows  []float64 // rows as given
	gram  []float64 // n x n inner products of the rows minus a center, scaled to largest length 1
	scale float64   // divisor of the rows minus the center; 0 if all rows are equal
}

// newHull returns the rows with the Gram matrix about their mean.
func newHull(rows []float64, m int) *hull {
	h := &hull{n: len(rows) / m, m: m, rows: rows}
	mean := make([]float64, m)
	for i, v := range rows {
		mean[i%m] += v / float64(h.n)
	}
	return h.about(mean)
}

// about returns the rows with their Gram matrix about another center, which does not change
// distances. The nearer a row is to the center, the more exact are its inner products.
func (h *hull) about(centre []float64) *hull {
	to := &hull{n: h.n, m: h.m, rows: h.rows, gram: make([]float64, h.n*h.n)}
	x := to.less(centre)
	for i := range h.n {
		for j := range i + 1 {
			v := numeric.Dot(x[i*h.m:(i+1)*h.m], x[j*h.m:(j+1)*h.m])
			to.gram[i*h.n+j], to.gram[j*h.n+i] = v, v
		}
	}
	return to
}

// less returns the table minus the center and divided by its greatest length, which it sets.
func (h *hull) less(centre []float64) []float64 {
	x := make([]float64, len(h.rows))
	for i, v := range h.rows {
		x[i] = v - centre[i%h.m]
		h.scale = max(h.scale, math.Abs(x[i]))
	}
	if h.scale == 0 {
		return x
	}
	for i := range x {
		x[i] /= h.scale // scaled so that squares do not overflow
	}
	squared := 0.0
	for i := 0; i < len(x); i += h.m {
		squared = max(squared, numeric.Dot(x[i:i+h.m], x[i:i+h.m]))
	}
	length := math.Sqrt(squared)
	for i := range x {
		x[i] /= length
	}
	h.scale *= length
	return x
}

// margin bounds the least distance of any row from the hull of the others. If a row is nearer to
// the hull than the distances between other rows by orders of magnitude, its distance loses
// digits about the mean. Such a row is computed again with itself as the center.
func (h *hull) margin() Margin {
	r := Margin{math.Inf(1), math.Inf(1)}
	for f := range h.n {
		b := h.distance(f, r.Upper)
		if b.Lower < r.Lower && b.Upper-b.Lower > 1e-6*b.Upper && b.Upper > 1e-9*h.scale {
			again := h.about(h.row(f)).distance(f, r.Upper)
			b = Margin{max(b.Lower, again.Lower), min(b.Upper, again.Upper)}
		}
		r = Margin{min(r.Lower, b.Lower), min(r.Upper, b.Upper)}
	}
	return r
}

// distance bounds the distance of row f from the hull of the others. It may stop once the
// distance is certainly above enough.
func (h *hull) distance(f int, enough float64) Margin {
	s := newNearest(h, f)
	s.run(enough)
	return h.certify(f, s.active, s.weight)
}

// certify bounds the distance of row f from the hull of the others by p, the convex combination
// of the rows minus row f with these weights, of any positive sum: |p| is an upper bound of the
// distance, min_g <p, v_g - v_f>/|p| a lower bound. Rounding errors are bounded as in Higham
// 2002, section 3.1: a sum of k products is off by at most k+1 units of the sum of their absolute
// values.
func (h *hull) certify(f int, rows []int, weight []float64) Margin {
	p, longest := h.combine(f, rows, weight)
	top := 0.0
	for _, v := range p {
		top = max(top, math.Abs(v))
	}
	round := 1 + h.slack()
	lost := float64(float64(2*len(rows)+8) * unit * longest * round) // error of p and of the sum of the weights
	sum := 0.0
	for _, w := range weight {
		sum += w
	}
	// Underflow: combine divides by the sum of the weights after an error of this size.
	lost += float64(float64((len(rows)+1)*h.m)*math.SmallestNonzeroFloat64) / min(1, sum)
	if top == 0 {
		return Margin{0, lost}
	}
	for k := range p {
		p[k] /= top
	}
	norm := math.Sqrt(numeric.Dot(p, p)) * round
	least := math.Inf(1)
	for g := range h.n {
		if g != f {
			least = min(least, h.below(f, g, p))
		}
	}
	return Margin{max(0, least/norm), float64(top*norm) + lost}.Widen(8)
}

// combine returns the weighted mean of the differences of the rows from row f, and the length of
// the longest difference.
func (h *hull) combine(f int, rows []int, weight []float64) (p []float64, longest float64) {
	p = make([]float64, h.m)
	sum, from := 0.0, h.row(f)
	for i, g := range rows {
		sum += weight[i]
		length := 0.0
		for k, v := range h.row(g) {
			d := v - from[k]
			p[k] += float64(weight[i] * d)
			length = math.Hypot(length, d)
		}
		longest = max(longest, length)
	}
	for k := range p {
		p[k] /= sum
	}
	return p, longest
}

// below returns a lower bound of <p, v_g - v_f>: the computed sum minus the bound of its rounding
// error.
func (h *hull) below(f, g int, p []float64) float64 {
	from, to := h.row(f), h.row(g)
	sum, size := 0.0, 0.0
	for k, u := range p {
		term := float64(u * (to[k] - from[k]))
		sum += term
		size += math.Abs(term)
	}
	return sum - float64(h.slack()*size) - float64(float64(h.m)*math.SmallestNonzeroFloat64) // last term: underflow
}

// slack bounds the relative error of a sum of m products, and of its square root.
func (h *hull) slack() float64 { return float64(float64(h.m+8) * unit) }

func (h *hull) row(i int) []float64 { return h.rows[i*h.m : (i+1)*h.m] }
