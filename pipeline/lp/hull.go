// Package lp answers two questions about polytopes in floating point, with bounds that hold for the
// numbers as given, whatever was rounded on the way: what a linear function is at most on one
// (Simplex), and how far one of some points is from the convex hull of the others (HullMargin).
package lp

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The largest tables that HullMargin takes.
const (
	MaxVectors = 500     // rows
	MaxNumbers = 1 << 24 // numbers in all
)

const (
	maxValue = 1e150   // of a number: squares must not overflow
	unit     = 0x1p-53 // relative rounding error of one operation
)

// Margin brackets the hull margin r of some vectors, the least distance of one of them from the
// convex hull of the others:
//
//	r = min_f dist(v_f, conv{v_g : g != f}),   Lower <= r <= Upper.
//
// A follow-the-perturbed-leader whose noise is linear in v_f is stable in proportion to r. Both
// bounds hold for the numbers as given, whatever was rounded on the way: Lower comes from a
// hyperplane, Upper from a convex combination. Privacy may rest on Lower alone.
type Margin struct{ Lower, Upper float64 }

// Widen moves both bounds outwards by a number of rounding errors.
func (m Margin) Widen(errors float64) Margin {
	by := float64(errors * unit)
	return Margin{m.Lower * (1 - by), m.Upper * (1 + by)}
}

// HullMargin brackets the hull margin of the rows of m numbers: 2 to MaxVectors rows, at most
// MaxNumbers numbers, none above 1e150 in absolute value. The caller divides a table of m values of
// each function by sqrt(m) first. The bracket is [0, about 0] where one row lies in the hull of the
// others, or is there twice. Mostly it takes less than a second; 500 rows at equal distances from
// each other take a minute. Upper - Lower is at most about 1e-6 of Upper, or 1e-9 of the distance
// between the rows farthest from each other.
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

// hull is a table of vectors with a Gram matrix, from which the nearest points are found; the
// bounds come from the vectors.
type hull struct {
	n, m  int
	rows  []float64 // as given
	gram  []float64 // n x n inner products of the rows less a centre, the longest of length 1
	scale float64   // what the rows less the centre were divided by; 0 where all rows are equal
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

// about returns the rows with their Gram matrix about another centre, which does not change
// distances. The nearer a row is to the centre, the more exact are its inner products.
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

// less returns the table less the centre and divided by its greatest length, which it sets.
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
		x[i] /= h.scale // so that no square overflows
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

// margin brackets the least distance of any row from the hull of the others. A row that is nearer
// to the hull by orders of magnitude than others are to each other loses digits about the mean,
// and is looked at again about itself.
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

// distance brackets the distance of row f from the hull of the others, as far as it is not known to
// be above enough.
func (h *hull) distance(f int, enough float64) Margin {
	s := newNearest(h, f)
	s.run(enough)
	return h.certify(f, s.active, s.weight)
}

// certify brackets the distance of row f from the hull of the others by p, the convex combination
// of the rows less row f with these weights, of any positive sum: |p| is no less than the distance,
// min_g <p, v_g - v_f>/|p| no more. What rounding may have done is bounded as in Higham 2002,
// section 3.1: a sum of k products is off by at most k+1 units of the sum of their absolute values.
func (h *hull) certify(f int, rows []int, weight []float64) Margin {
	p, longest := h.combine(f, rows, weight)
	top := 0.0
	for _, v := range p {
		top = max(top, math.Abs(v))
	}
	round := 1 + h.slack()
	lost := float64(float64(2*len(rows)+8) * unit * longest * round) // in p and in the sum of the weights
	sum := 0.0
	for _, w := range weight {
		sum += w
	}
	// To underflow: combine divides by the sum of the weights after it has lost this much.
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

// below returns a lower bound of <p, v_g - v_f>: its sum less what rounding may have added.
func (h *hull) below(f, g int, p []float64) float64 {
	from, to := h.row(f), h.row(g)
	sum, size := 0.0, 0.0
	for k, u := range p {
		term := float64(u * (to[k] - from[k]))
		sum += term
		size += math.Abs(term)
	}
	return sum - float64(h.slack()*size) - float64(float64(h.m)*math.SmallestNonzeroFloat64) // the last for underflow
}

// slack bounds the relative error of a sum of m products, or of its square root.
func (h *hull) slack() float64 { return float64(float64(h.m+8) * unit) }

// row returns row i as it was given.
func (h *hull) row(i int) []float64 { return h.rows[i*h.m : (i+1)*h.m] }
