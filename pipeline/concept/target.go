package concept

import (
	"math"
	"math/rand/v2"
)

// Target labels the points of a problem. Begin starts a trial: it draws the target anew, unless the
// target is always the same. Label returns the label, -1 or +1, of one point of the domain.
type Target interface {
	Begin(r *rand.Rand)
	Label(x []float64) float64
}

// Box is a fixed Target: it labels the points with Low <= x <= High in every coordinate +1.
type Box struct{ Low, High []float64 }

// wholeBox returns the box of all points of dim numbers 0..side-1.
func wholeBox(dim int, side uint64) Box {
	b := Box{Low: make([]float64, dim), High: make([]float64, dim)}
	for j := range b.High {
		b.High[j] = float64(side - 1)
	}
	return b
}

// middleBox returns the box of the middle half of each coordinate.
func middleBox(dim int, side uint64) Box {
	b := wholeBox(dim, side)
	for j := range b.Low {
		b.Low[j], b.High[j] = float64(side/4), float64(3*side/4-1)
	}
	return b
}

// upperBox returns the box of the points whose first coordinate is at least side/2.
func upperBox(dim int, side uint64) Box {
	b := wholeBox(dim, side)
	b.Low[0] = float64(side / 2)
	return b
}

// Begin implements Target.
func (b Box) Begin(*rand.Rand) {}

// Label implements Target.
func (b Box) Label(x []float64) float64 {
	for j, v := range x {
		if v < b.Low[j] || v > b.High[j] {
			return -1
		}
	}
	return 1
}

// parityTarget is a parity of a set of coordinates that is uniform among all sets, anew in each
// trial.
type parityTarget struct{ bits []float64 }

// Begin implements Target.
func (t *parityTarget) Begin(r *rand.Rand) {
	for j := range t.bits {
		t.bits[j] = float64(r.Uint64() >> 63)
	}
}

// Label implements Target.
func (t *parityTarget) Label(x []float64) float64 {
	ones := 0.0
	for j, v := range x {
		ones += float64(v * t.bits[j])
	}
	return 2*math.Mod(ones, 2) - 1
}

// rowTarget is a row of a class matrix that is uniform among all rows, anew in each trial.
type rowTarget struct {
	spec Spec
	row  Row
}

// Begin implements Target.
func (t *rowTarget) Begin(r *rand.Rand) { t.row = drawRow(t.spec, r) }

// Label implements Target.
func (t *rowTarget) Label(x []float64) float64 { return t.row.label(x[0]) }
