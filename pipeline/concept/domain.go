package concept

import (
	"fmt"
	"math"
)

// Domain is the set of points of a class that is finite or on an infinite order. It is immutable.
type Domain struct {
	definition *Definition
	side       uint64 // values of a coordinate; see Side
	width      int    // numbers per point
}

// DomainOf returns the domain of c, the class that New created for s.
func DomainOf(c Class, s Spec) Domain { return Domain{definitionOf(c), Side(s), c.Dim()} }

// Check returns an error that describes the points of the domain if x is not one of them.
func (d Domain) Check(x []float64) error {
	if len(x) != d.width {
		return fmt.Errorf("point %v has %d numbers: class %q takes %d", x, len(x), d.definition.Name, d.width)
	}
	if d.definition.Shape == InfiniteOrder {
		_, err := Rank(d.definition.Name, x[0])
		return err
	}
	for _, v := range x {
		if !(v >= 0 && v < float64(d.side) && v == math.Trunc(v)) {
			return fmt.Errorf("point %v is outside the domain of class %q: its numbers are whole, from 0 to %d",
				x, d.definition.Name, d.side-1)
		}
	}
	return nil
}

// Rank returns the rank of the point x of a class of one number. x must pass Check. The rank is
// that of the definition on an infinite order, and otherwise the point itself.
func (d Domain) Rank(x float64) uint64 {
	if d.definition.Shape == InfiniteOrder {
		rank, _ := d.definition.Rank(x)
		return rank
	}
	return uint64(x)
}

// Number returns the number of the point x in the LabelTable of a finite class. x must pass
// Check.
func (d Domain) Number(x []float64) int {
	n := 0
	for j := len(x) - 1; j >= 0; j-- {
		n = n*int(d.side) + int(x[j])
	}
	return n
}
