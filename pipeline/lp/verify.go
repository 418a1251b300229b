package lp

import (
	"fmt"
	"math"
)

// verifier checks an answer against a program as given, independently of the rounding errors of
// the search.
type verifier struct {
	p       *Program
	x       []float64 // values of the unknowns
	y       []float64 // multipliers of the rows
	reduced []float64 // scratch: C - A'y

	width, reach []float64 // extent of the box in each unknown, and its largest absolute value there
}

// measure sets width and reach, which must have the right lengths.
func (v *verifier) measure() {
	for j, low := range v.p.Low {
		high := v.p.High[j]
		v.width[j], v.reach[j] = high-low, max(math.Abs(low), math.Abs(high))
	}
}

// verifyOptimum verifies that x is a maximizer, by the multipliers y.
func (v *verifier) verifyOptimum() (Optimum, error) {
	p := v.p
	most, size := v.most(p.C)
	o := Optimum{X: v.x, Multipliers: v.y, Bound: most}
	for j, c := range p.C {
		o.Value += float64(c * v.x[j])
	}
	for k, y := range v.y {
		if y > 0 {
			o.Bound += float64(y * p.RowHigh[k])
		} else if y < 0 {
			o.Bound += float64(y * p.RowLow[k])
		}
		activity, reach := v.activity(k)
		size += float64(math.Abs(y) * reach)
		if miss := max(p.RowLow[k]-activity, activity-p.RowHigh[k]); !(miss <= Tolerance*reach) || !finite(reach) {
			return Optimum{}, fmt.Errorf("verify optimum: row %d misses its bounds by %g: %w", k, miss, ErrNotSolved)
		}
	}
	if gap := math.Abs(o.Bound - o.Value); !(gap <= Tolerance*size) || !finite(size) {
		return Optimum{}, fmt.Errorf("verify optimum: value %g and bound %g: %w", o.Value, o.Bound, ErrNotSolved)
	}
	return o, nil
}

// most returns the maximum over the box of <c - A'y, x>, with the sum of the sizes of the terms
// <c, x>. A multiplier that would need a missing bound of its row is a rounding error, and is set
// to 0. c may be nil: 0.
func (v *verifier) most(c []float64) (most, size float64) {
	p := v.p
	clear(v.reduced)
	copy(v.reduced, c)
	for k, y := range v.y {
		if y > 0 && math.IsInf(p.RowHigh[k], 1) || y < 0 && math.IsInf(p.RowLow[k], -1) {
			v.y[k] = 0
		} else if y != 0 {
			for j, a := range p.row(k) {
				v.reduced[j] -= float64(y * a)
			}
		}
	}
	for j, r := range v.reduced {
		most += max(float64(r*p.Low[j]), float64(r*p.High[j]))
		if c != nil {
			size += float64(math.Abs(c[j]) * v.reach[j])
		}
	}
	return most, size
}

// activity returns <A_k, x>, and the maximum over the box of the sum of the sizes of its terms.
func (v *verifier) activity(k int) (activity, reach float64) {
	row := v.p.row(k)
	x, most := v.x[:len(row)], v.reach[:len(row)]
	for j, a := range row {
		activity += float64(a * x[j])
		reach += float64(math.Abs(a) * most[j])
	}
	return activity, reach
}

// verifyInfeasible verifies that the multipliers y rule out every point of the box.
func (v *verifier) verifyInfeasible() (Optimum, error) {
	p := v.p
	most, size := v.most(nil) // maximum of <-A'y, x>
	for k, y := range v.y {
		var bound float64
		if y > 0 {
			bound = y * p.RowHigh[k]
		} else if y < 0 {
			bound = y * p.RowLow[k]
		}
		_, reach := v.activity(k)
		most += bound
		size += math.Abs(bound) + float64(math.Abs(y)*reach)
	}
	const ulp = 0x1p-52
	if rounding := float64(len(p.C)+len(p.RowLow)+4) * ulp * size; !(most < -rounding) {
		return Optimum{}, fmt.Errorf("verify that %d rows are infeasible: they differ by %g, rounding is %g: %w",
			len(p.RowLow), -most, rounding, ErrNotSolved)
	}
	return Optimum{Multipliers: v.y}, fmt.Errorf("maximise over %d unknowns and %d rows: %w",
		len(p.C), len(p.RowLow), ErrInfeasible)
}
