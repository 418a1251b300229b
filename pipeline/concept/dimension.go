package concept

import (
	"fmt"
	"math"
)

// Unbounded is the value of both bounds of an infinite dimension.
const Unbounded = math.MaxInt

// Dimension is an interval for a combinatorial dimension: it lies between Low and High, and is
// exact if these are equal.
type Dimension struct{ Low, High int }

// exactly returns a dimension that is known.
func exactly(d int) Dimension { return Dimension{d, d} }

// Exact reports whether the dimension is known.
func (d Dimension) Exact() bool { return d.Low == d.High }

// Infinite reports whether the dimension is known to be infinite.
func (d Dimension) Infinite() bool { return d.Low == Unbounded }

// String describes the bounds in words.
func (d Dimension) String() string {
	switch {
	case d.Infinite():
		return "infinite"
	case d.Exact():
		return fmt.Sprint(d.Low)
	}
	return fmt.Sprintf("between %d and %d", d.Low, d.High)
}

// and combines two bounds on the same dimension.
func (d Dimension) and(e Dimension) Dimension {
	return Dimension{max(d.Low, e.Low), min(d.High, e.High)}
}
