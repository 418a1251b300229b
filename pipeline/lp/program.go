package lp

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	// ErrInfeasible means that no point satisfies a linear program. The multipliers of the
	// Optimum prove it.
	ErrInfeasible = errors.New("linear program infeasible")

	// ErrNotSolved means that a linear program has no verified answer because of rounding or the
	// limit of pivots.
	ErrNotSolved = errors.New("linear program not solved")
)

// Tolerance is the permitted rounding error of a verified optimum, relative to the sizes of the
// terms.
const Tolerance = 1e-9

// Program is a linear program: maximize <C, x> over the points of the box Low <= x <= High with
// RowLow <= A x <= RowHigh.
type Program struct {
	C, Low, High    []float64 // n unknowns; the bounds are finite, so that the maximum is finite
	A               []float64 // m x n, row-major; m may be 0
	RowLow, RowHigh []float64 // m; -Inf or +Inf if a row has no such bound
}

// NewProgram returns a program of n unknowns between low and high, without costs and rows.
func NewProgram(n int, low, high float64) *Program {
	p := &Program{C: make([]float64, n)}
	p.Low, p.High = slices.Repeat([]float64{low}, n), slices.Repeat([]float64{high}, n)
	return p
}

// AddRow adds a row of zeros with bounds, and returns it for the caller to fill in.
func (p *Program) AddRow(low, high float64) []float64 {
	n := len(p.C)
	p.A = append(p.A, make([]float64, n)...)
	p.RowLow, p.RowHigh = append(p.RowLow, low), append(p.RowHigh, high)
	return p.A[len(p.A)-n:]
}

// Optimum is a verified answer. With ErrInfeasible only Multipliers are set. The solver owns the
// slices.
type Optimum struct {
	// X lies in the box. Row k of A violates its bounds by at most Tolerance sum_j |A_kj|
	// max(|Low_j|, |High_j|).
	X     []float64
	Value float64 // <C, X>

	// Bound is, up to rounding in its own sum, at least <C, x> for every feasible x, by weak duality:
	// for all multipliers y,
	//
	//	<C, x> = <C - A'y, x> + <y, A x> <= max over the box + max over the bounds of the rows.
	//
	// It equals Value up to Tolerance times the sum of the sizes of the terms C_j x_j and y_k (A
	// x)_k.
	Bound float64

	// Multipliers has one number per row. For an optimum it is the y of Bound. For an infeasible
	// program it is a y for which <y, A x> everywhere in the box is larger than <y, r> for every
	// r within the bounds of the rows.
	Multipliers []float64
}

// check rejects a program with inconsistent dimensions or values that are not finite.
func (p *Program) check() error {
	n, m := len(p.C), len(p.RowLow)
	switch {
	case len(p.Low) != n || len(p.High) != n:
		return fmt.Errorf("read linear program: %d costs, %d lower and %d upper bounds: give one of each per unknown",
			n, len(p.Low), len(p.High))
	case len(p.RowHigh) != m || len(p.A) != m*n:
		return fmt.Errorf("read linear program: %d unknowns, %d numbers in A, %d lower and %d upper bounds of rows: "+
			"give %d numbers in A",
			n, len(p.A), m, len(p.RowHigh), m*n)
	}
	for j, c := range p.C {
		if !finite(c) || !finite(p.Low[j]) || !finite(p.High[j]) || p.Low[j] > p.High[j] {
			return fmt.Errorf("read linear program: unknown %d costs %v and has bounds %v and %v: use finite, ordered numbers",
				j, c, p.Low[j], p.High[j])
		}
	}
	for k, low := range p.RowLow {
		if high := p.RowHigh[k]; !(low <= high) || math.IsInf(low, 1) || math.IsInf(high, -1) {
			return fmt.Errorf("read linear program: row %d has bounds %v and %v: use ordered numbers", k, low, high)
		}
		for _, a := range p.row(k) {
			if !finite(a) {
				return fmt.Errorf("read linear program: row %d of A has %v: use finite numbers", k, a)
			}
		}
	}
	return nil
}

// finite reports whether v is a number and not infinite.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// row returns row k of A.
func (p *Program) row(k int) []float64 {
	n := len(p.C)
	return p.A[k*n : (k+1)*n]
}
