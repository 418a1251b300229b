package lp

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrInfeasible says that no point satisfies a linear program. It is proved: the multipliers that
	// come with it are the proof.
	ErrInfeasible = errors.New("linear program infeasible")

	// ErrNotSolved says that rounding or the limit of pivots left a linear program without a verified
	// answer.
	ErrNotSolved = errors.New("linear program not solved")
)

// Tolerance is the rounding allowed in a verified optimum, relative to the sizes of the terms.
const Tolerance = 1e-9

// Program is a linear program: maximise <C, x> over the points of the box Low <= x <= High with
// RowLow <= A x <= RowHigh.
type Program struct {
	C, Low, High    []float64 // n unknowns; the bounds are finite, which rules out an unbounded maximum
	A               []float64 // m x n, row-major; m may be 0
	RowLow, RowHigh []float64 // m; -Inf or +Inf where a row has no such bound
}

// Optimum is a verified answer. With ErrInfeasible only Multipliers are set. The slices are the
// solver's own.
type Optimum struct {
	// X lies in the box. Row k of A misses its bounds by at most Tolerance sum_j |A_kj| max(|Low_j|,
	// |High_j|).
	X     []float64
	Value float64 // <C, X>

	// Bound is, up to rounding in its own sum, at least <C, x> for every feasible x, by weak duality:
	// for all multipliers y,
	//
	//	<C, x> = <C - A'y, x> + <y, A x> <= max over the box + max over the bounds of the rows.
	//
	// It agrees with Value to Tolerance times the sum of the sizes of the terms C_j x_j and y_k (A
	// x)_k.
	Bound float64

	// Multipliers has one number per row: for an optimum the y of Bound, for an infeasible program a y
	// with <y, A x> everywhere in the box larger than <y, r> for every r within the bounds of the
	// rows.
	Multipliers []float64
}

// check refuses a program whose parts do not fit together or are not finite.
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
